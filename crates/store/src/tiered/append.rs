//! Append: one script call per partition gives ids and `seq` and stores.
//!
//! What a script cannot decide alone (a conversation that is not hot, a quoted message or an earlier copy
//! that only SQL may know) it leaves undecided; SQL is asked, and the undecided drafts go once more.

mod item;

use super::cold::Cold;
use super::keys::Place;
use super::tell::{self, Tale};
use super::warm::{Warmth, warm};
use super::{Tiered, create, limits, persist, rows, script};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use crate::sql::Value;
use futures::future::Either;
use im_domain::message::{Ack, Draft, Receipt, Target};
use im_domain::plan::Plan;
use im_domain::storage::Actor;
use im_domain::{Error, MsgId, Result};
use item::{EarlierCopy, Item, Outcome};
use std::collections::BTreeMap;

pub(super) async fn append<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    drafts: Vec<Draft>,
    ack: Ack,
) -> Result<Vec<Result<Receipt>>> {
    let mut batch =
        Batch { store, actor, ack, answers: Vec::with_capacity(drafts.len()), waiting: Vec::new() };
    for (index, draft) in drafts.into_iter().enumerate() {
        batch.take(index, draft);
    }
    for _ in 0..limits::ATTEMPTS_MAX {
        if batch.waiting.is_empty() {
            break;
        }
        batch.attempt().await?;
    }
    if !batch.waiting.is_empty() {
        return Err(Error::internal("drafts stayed undecided"));
    }
    let mut receipts: Vec<Result<Receipt>> = batch.answers.into_iter().flatten().collect();
    if ack == Ack::Persisted {
        persist::all(store, &actor.tenant, &mut receipts).await?;
    }
    Ok(receipts)
}

struct Batch<'a, R, P> {
    store: &'a Tiered<R, P>,
    actor: &'a Actor,
    ack: Ack,
    answers: Vec<Option<Result<Receipt>>>,
    /// Drafts that are yet to be decided, in their order.
    waiting: Vec<Item>,
}

impl<R: Redis, P: Postgres> Batch<'_, R, P> {
    fn take(&mut self, index: usize, draft: Draft) {
        match self.item(index, draft) {
            Ok(item) => {
                self.waiting.push(item);
                self.answers.push(None);
            }
            Err(error) => self.answers.push(Some(Err(error))),
        }
    }

    fn item(&self, index: usize, draft: Draft) -> Result<Item> {
        draft.check()?;
        let conversation = match &draft.target {
            Target::Conversation(id) => id.clone(),
            Target::Peer(peer) => {
                let own = im_domain::pair::pair_conversation(&self.actor.tenant, &draft.sender, peer)?;
                let place = Place::of(&self.actor.tenant, &own);
                self.store.aliases.borrow().get(&place.name).cloned().unwrap_or(own)
            }
        };
        let place = Place::of(&self.actor.tenant, &conversation);
        let life_ms = self.store.settings.marker_life_s * 1_000;
        Ok(Item::new(index, draft, conversation, place, self.store.now_ms().saturating_sub(life_ms)))
    }

    /// Hands all waiting drafts to the script, partition by partition and all partitions at once, and
    /// prepares another attempt for those it could not decide.
    async fn attempt(&mut self) -> Result<()> {
        let mut parts: BTreeMap<u8, Vec<Item>> = BTreeMap::new();
        for item in std::mem::take(&mut self.waiting) {
            parts.entry(item.place.partition).or_default().push(item);
        }
        let calls = parts.into_values().map(|items| call(self.store, self.actor, items));
        let mut undecided = Vec::new();
        for outcomes in futures::future::join_all(calls).await {
            let (epoch, outcomes) = outcomes?;
            for (item, outcome) in outcomes {
                if let Some(item) = self.decide(item, outcome, &epoch) {
                    undecided.push((item, outcome));
                }
            }
        }
        self.look_up(undecided).await?;
        self.waiting.sort_by_key(|item| item.index);
        Ok(())
    }

    fn answer(&mut self, index: usize, answer: Result<Receipt>) {
        if let Some(slot) = self.answers.get_mut(index) {
            *slot = Some(answer);
        }
    }

    /// Answers a draft, or gives it back undecided.
    fn decide(&mut self, item: Item, outcome: Outcome, epoch: &str) -> Option<Item> {
        let answer = match outcome {
            Outcome::Stored(msg_id, seq) => Ok(self.receipt(&item, msg_id, seq, epoch, false)),
            Outcome::Duplicate(msg_id, seq) => Ok(self.receipt(&item, msg_id, seq, epoch, true)),
            Outcome::Conflict => Err(taken()),
            Outcome::NotMember => Err(Error::NotMember),
            Outcome::MayNotWrite => Err(Error::forbidden("only services write to system conversations")),
            Outcome::NothingToQuote => Err(quoted_is_missing()),
            Outcome::Cold | Outcome::QuotedIsCold | Outcome::MayBeInSql | Outcome::Waits => {
                return Some(item);
            }
        };
        self.answer(item.index, answer);
        None
    }

    fn receipt(&self, item: &Item, msg_id: MsgId, seq: u64, epoch: &str, duplicate: bool) -> Receipt {
        Receipt {
            msg_id,
            seq,
            conversation: item.conversation.clone(),
            create_time: msg_id.time_ms(),
            epoch: epoch.to_owned(),
            duplicate,
            ack: self.ack,
        }
    }

    async fn look_up(&mut self, undecided: Vec<(Item, Outcome)>) -> Result<()> {
        let mut cold: BTreeMap<Place, Vec<Item>> = BTreeMap::new();
        let mut quoting: BTreeMap<u8, Vec<Item>> = BTreeMap::new();
        let mut old: BTreeMap<u8, Vec<Item>> = BTreeMap::new();
        for (item, outcome) in undecided {
            match outcome {
                Outcome::Cold => cold.entry(item.place.clone()).or_default().push(item),
                Outcome::QuotedIsCold => quoting.entry(item.place.partition).or_default().push(item),
                Outcome::MayBeInSql => old.entry(item.place.partition).or_default().push(item),
                _ => self.waiting.push(item),
            }
        }
        for (place, items) in cold {
            self.make_hot(&place, items).await?;
        }
        for (partition, items) in quoting {
            self.find_quoted(partition, items).await?;
        }
        for (partition, items) in old {
            self.look_for_earlier(partition, items).await?;
        }
        Ok(())
    }

    /// Makes the conversation of these drafts hot, or makes the chat of a pair.
    async fn make_hot(&mut self, place: &Place, items: Vec<Item>) -> Result<()> {
        match warm(self.store, place).await? {
            Warmth::Hot => self.waiting.extend(items),
            Warmth::Elsewhere(target) => {
                for mut item in items {
                    if item.peer.is_none() {
                        self.answer(item.index, Err(Error::ConversationNotFound));
                        continue;
                    }
                    item.place = Place::of(&self.actor.tenant, &target);
                    item.conversation = target.clone();
                    self.waiting.push(item);
                }
            }
            Warmth::Missing { epoch } => self.make_chat(items, &epoch).await?,
        }
        Ok(())
    }

    /// Nothing is there yet: the first draft to a peer makes the chat, and those before it are refused.
    async fn make_chat(&mut self, items: Vec<Item>, epoch: &str) -> Result<()> {
        let mut is_made = false;
        for item in items {
            match &item.peer {
                _ if is_made => {}
                None => {
                    self.answer(item.index, Err(Error::ConversationNotFound));
                    continue;
                }
                // A chat that is yet to be made has nothing to reply to, and a refused draft makes none.
                Some(_) if item.draft.reply_to.is_some() => {
                    self.answer(item.index, Err(quoted_is_missing()));
                    continue;
                }
                Some(peer) => {
                    let mut plan = Plan::chat(&self.actor.tenant, &item.draft.sender, peer)?;
                    // The id may be one of the pair's own choice that was named but never made.
                    plan.id = item.conversation.clone();
                    create::insert(self.store, &self.actor.tenant, &plan, epoch).await?;
                    is_made = true;
                }
            }
            self.waiting.push(item);
        }
        Ok(())
    }

    /// Asks SQL for quoted messages that are not hot. That their readers may see them has been checked.
    async fn find_quoted(&mut self, partition: u8, items: Vec<Item>) -> Result<()> {
        let statement = format!(
            "SELECT i.ord, c.cid, EXISTS (SELECT 1 FROM message WHERE cid = c.cid AND msg_id = i.quoted AND {})::int
            FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS i(name, quoted, ord)
            JOIN conversation c ON c.tenant = $1::text AND c.name = i.name",
            rows::SHOWN
        );
        let quoted = items.iter().map(|item| item.draft.reply_to.map(MsgId::to_sql)).collect();
        let parameters = vec![self.actor.tenant.as_str().into(), names(&items), Value::Integers(quoted)];
        let db = self.store.sql(partition).await?;
        let mut found: BTreeMap<u64, (MsgId, bool)> = BTreeMap::new();
        for mut row in db.query(&statement, parameters).await? {
            found.insert(row.count()?, (row.msg_id()?, row.flag()?));
        }
        for (number, mut item) in (1..).zip(items) {
            let quoted = item.draft.reply_to.unwrap_or_default();
            let is_there = match found.get(&number) {
                Some((cid, false)) => Cold { db, cid: *cid }.has(quoted).await?,
                Some(_) => true,
                None => false,
            };
            match is_there {
                true => {
                    item.quoted_is_known = true;
                    self.waiting.push(item);
                }
                false => self.answer(item.index, Err(quoted_is_missing())),
            }
        }
        Ok(())
    }

    /// Drafts that are older than their markers wait for SQL. Those that are only in doubt after a loss do
    /// not wait long: with SQL away too they are stored, and the drain finds what was stored before.
    async fn look_for_earlier(&mut self, partition: u8, items: Vec<Item>) -> Result<()> {
        let (doubtful, old): (Vec<_>, Vec<_>) =
            items.into_iter().partition(|item| matches!(item.copy, EarlierCopy::MarkerDecides));
        if !old.is_empty() {
            let found = self.find_earlier(partition, &old).await?;
            self.answer_earlier(old, found);
        }
        if !doubtful.is_empty() {
            let found = self.glance(partition, &doubtful).await?;
            self.answer_earlier(doubtful, found);
        }
        Ok(())
    }

    /// As [`Self::find_earlier`], but SQL finds nothing when it is away or takes long.
    async fn glance(&self, partition: u8, items: &[Item]) -> Result<BTreeMap<u64, Earlier>> {
        let pause = (self.store.settings.pause)(limits::DOUBT_LOOK_MS_MAX);
        let look = std::pin::pin!(self.find_earlier(partition, items));
        match futures::future::select(look, pause).await {
            Either::Left((Err(Error::SqlUnavailable { .. }), _)) | Either::Right(_) => Ok(BTreeMap::new()),
            Either::Left((found, _)) => found,
        }
    }

    /// Asks SQL for messages under the drafts' clientMsgIds; gives them by the drafts' numbers, from 1.
    async fn find_earlier(&self, partition: u8, items: &[Item]) -> Result<BTreeMap<u64, Earlier>> {
        const STATEMENT: &str = "
            SELECT i.ord, s.epoch, c.cid, c.cold_msg_id, m.msg_id, m.seq, m.fingerprint
            FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS i(name, sender, client_msg_id, ord)
            JOIN conversation c ON c.tenant = $1::text AND c.name = i.name
            JOIN partition_state s ON s.partition = (c.cid >> 14) & 255
            LEFT JOIN LATERAL (SELECT msg_id, seq, fingerprint FROM message WHERE cid = c.cid
                AND sender = i.sender AND client_msg_id = i.client_msg_id AND copy_of IS NULL LIMIT 1) m ON true";
        let texts = |text: &dyn Fn(&Item) -> &str| {
            Value::Texts(items.iter().map(|item| Some(text(item).to_owned())).collect())
        };
        let parameters = vec![
            self.actor.tenant.as_str().into(),
            names(items),
            texts(&|item| item.draft.sender.as_str()),
            texts(&|item| item.draft.client_msg_id.as_str()),
        ];
        let mut found = BTreeMap::new();
        let db = self.store.sql(partition).await?;
        for mut row in db.query(STATEMENT, parameters).await? {
            let (number, epoch) = (row.count()?, row.text()?);
            let (cold, end) = (Cold { db, cid: row.msg_id()? }, row.msg_id()?);
            let item = items.get((number as usize).saturating_sub(1));
            let earlier = match row.opt_msg_id()? {
                Some(msg_id) => Some((msg_id, row.count()?, row.opt_blob()?, epoch)),
                None => earlier_in_segments(&cold, end, item, epoch).await?,
            };
            found.extend(earlier.map(|earlier| (number, earlier)));
        }
        Ok(found)
    }

    fn answer_earlier(&mut self, items: Vec<Item>, mut found: BTreeMap<u64, Earlier>) {
        for (number, mut item) in (1..).zip(items) {
            let Some((msg_id, seq, fingerprint, epoch)) = found.remove(&number) else {
                item.copy = EarlierCopy::NotInSql;
                self.waiting.push(item);
                continue;
            };
            let answer = match fingerprint.as_deref() == Some(item.fingerprint.as_slice()) {
                true => Ok(self.receipt(&item, msg_id, seq, &epoch, true)),
                false => Err(taken()),
            };
            self.answer(item.index, answer);
        }
    }
}

/// Looks for it in segments, where the draft tells its age and that reaches into them.
async fn earlier_in_segments<P: Postgres>(
    cold: &Cold<'_, P>,
    end: MsgId,
    item: Option<&Item>,
    epoch: String,
) -> Result<Option<Earlier>> {
    let draft = item.and_then(|item| Some((&item.draft, item.made_at_ms?)));
    let Some((draft, made_at_ms)) = draft.filter(|(_, made_at_ms)| MsgId::floor_of(*made_at_ms) <= end)
    else {
        return Ok(None);
    };
    let found = cold.earlier(draft.sender.as_str(), draft.client_msg_id.as_str(), made_at_ms).await?;
    Ok(found.map(|record| (record.msg_id, record.seq, Some(record.fingerprint.to_vec()), epoch)))
}

/// A message that SQL has: id, `seq`, fingerprint, and the epoch of its partition.
type Earlier = (MsgId, u64, Option<Vec<u8>>, String);

/// The conversations of drafts, as an array.
fn names(items: &[Item]) -> Value {
    Value::Texts(items.iter().map(|item| Some(item.conversation.as_str().to_owned())).collect())
}

fn taken() -> Error {
    Error::conflict("clientMsgId", "was used before for another message")
}

fn quoted_is_missing() -> Error {
    Error::MessageNotFound { field: "replyTo.msgId".into() }
}

/// One call of `append.lua`; gives the epoch and each draft's outcome.
async fn call<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    items: Vec<Item>,
) -> Result<(String, Vec<(Item, Outcome)>)> {
    let Some(partition) = items.first().map(|item| item.place.partition) else {
        return Ok((String::new(), Vec::new()));
    };
    let mut places: Vec<&Place> = items.iter().map(|item| &item.place).collect();
    places.sort_unstable();
    places.dedup();
    let mut keys = vec![super::keys::clock(partition), super::keys::log(partition)];
    for place in &places {
        keys.extend(place.state());
    }
    keys.extend(items.iter().map(Item::marker));
    let mut arguments: Vec<Argument> = arguments![
        u64::from(partition),
        store.settings.backlog_max,
        store.settings.marker_life_s,
        limits::EPOCH_SEQ_GAP,
        actor.privileged,
        super::retention::times(store, &actor.tenant),
        places.len() as u64,
        items.len() as u64,
        store.settings.index_members_max,
        store.here(partition),
        limits::INDEX_LIFE_S
    ];
    arguments.extend(places.iter().map(|place| Argument::from(place.name.as_str())));
    for item in &items {
        let at = places.iter().position(|place| **place == item.place).unwrap_or_default();
        item.describe(at as u64 + 1, &mut arguments);
    }
    let (word, mut reply) = store.ask(partition, &script::APPEND, &keys, arguments).await?;
    if word != "ok" {
        return Err(super::unknown_word("append", &word));
    }
    let epoch = reply.text()?;
    let outcomes = items.iter().map(|_| Outcome::take(&mut reply)).collect::<Result<Vec<_>>>()?;
    while reply.left() > 0 {
        let number = reply.number()? as usize;
        let tale = Tale::take(&mut reply)?;
        if let Some(place) = number.checked_sub(1).and_then(|at| places.get(at)) {
            tell::tell(store, place, &tale).await?;
        }
    }
    Ok((epoch, items.into_iter().zip(outcomes).collect()))
}

impl Outcome {
    fn take(reply: &mut Reply) -> Result<Self> {
        let code = reply.number()?;
        let id = super::stamp::join(reply.number()?, reply.number()?);
        let seq = reply.number()?;
        Ok(match code {
            0 => Self::Stored(id, seq),
            1 => Self::Duplicate(id, seq),
            2 => Self::Conflict,
            3 => Self::Cold,
            4 => Self::NotMember,
            5 => Self::MayNotWrite,
            6 => Self::QuotedIsCold,
            7 => Self::NothingToQuote,
            8 => Self::MayBeInSql,
            9 => Self::Waits,
            other => return Err(super::unknown_word("append", &other.to_string())),
        })
    }
}
