//! Messages that a user hides from oneself.
//!
//! One script notes them beside the hot stream, where every reader looks, and logs it. What is not hot is hidden by
//! SQL, so the call is answered once SQL has it; SQL is waited for in any case, if it is there, as it is for revisions.

use super::cold::Cold;
use super::keys::Place;
use super::retention::times;
use super::tell::{Tale, tell};
use super::view::countable_up_to;
use super::{Tiered, limits, persist, read, rows, script, stamp, unknown_word};
use crate::arguments;
use crate::cold::{before, is_shown};
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use crate::sql::Row;
use im_domain::hide::Unhidable;
use im_domain::limits::{HIDDEN_MAX, RETRY_AFTER_MS};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};
use std::collections::HashMap;

pub(super) async fn hide<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    conversation: &ConversationId,
    ids: &[MsgId],
) -> Result<Vec<Result<()>>> {
    let place = Place::of(&actor.tenant, conversation);
    let keys = place.written();
    // What is hot when SQL is asked may be in SQL alone when the script is.
    for is_known_whole in [false, true] {
        let facts = match Facts::find(store, actor, &place, ids).await {
            Err(Error::SqlUnavailable { .. }) => None,
            facts => Some(facts?),
        };
        let arguments = describe(store, actor, &place, ids, facts.as_ref(), is_known_whole);
        let (word, mut reply) = read::ask_hot(store, &place, &script::HIDE, &keys, &arguments).await?;
        match word.as_str() {
            "ok" => return finish(store, &place, ids.len(), &mut reply).await,
            "far" if facts.is_none() => return Err(Error::SqlUnavailable { retry_after_ms: RETRY_AFTER_MS }),
            "far" => {}
            word => return Err(unknown_word("hide", word)),
        }
    }
    Err(Error::internal("messages that were to be hidden were looked up again and again"))
}

fn describe<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    ids: &[MsgId],
    facts: Option<&Facts>,
    is_known_whole: bool,
) -> Vec<Argument> {
    let hidden = facts.map_or(0, |facts| facts.hidden);
    let mut arguments = arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        place.name.as_str(),
        actor.user.as_str(),
        times(store, &actor.tenant),
        store.here(place.partition),
        limits::INDEX_LIFE_S,
        HIDDEN_MAX.saturating_sub(hidden),
        is_known_whole && facts.is_some()
    ];
    for id in ids {
        arguments.push(stamp::text(*id).into());
        match facts.and_then(|facts| facts.messages.get(id)) {
            Some(one) => {
                arguments.extend(arguments![one.kind, one.counts, one.sender.as_str(), one.is_hidden]);
            }
            None => arguments.extend(arguments!["", "", "", ""]),
        }
    }
    arguments
}

async fn finish<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    count: usize,
    reply: &mut Reply,
) -> Result<Vec<Result<()>>> {
    let outcomes = (0..count).map(|_| outcome(reply.number()?)).collect::<Result<Vec<_>>>()?;
    let is_hot = reply.number()? == 0;
    tell(store, place, &Tale::take(reply)?).await?;
    match persist::reach_now(store, place.partition).await {
        Err(Error::SqlUnavailable { .. } | Error::Overloaded { .. }) if is_hot => Ok(outcomes),
        reached => reached.map(|()| outcomes),
    }
}

fn outcome(code: u64) -> Result<Result<()>> {
    Ok(match code {
        0 => Ok(()),
        1 => Err(Unhidable::Missing.into()),
        2 => Err(Unhidable::Control.into()),
        3 => Err(Unhidable::TooMany.into()),
        code => return Err(Error::internal(format!("the script hide gave the code {code}"))),
    })
}

/// What SQL knows of messages that are to be hidden.
struct Facts {
    /// Messages of the conversation that are hidden from the user.
    hidden: u64,
    messages: HashMap<MsgId, Fact>,
}

struct Fact {
    kind: u64,
    /// It makes a conversation unread for others.
    counts: bool,
    sender: String,
    is_hidden: bool,
}

impl Facts {
    async fn find<R: Redis, P: Postgres>(
        store: &Tiered<R, P>,
        actor: &Actor,
        place: &Place,
        ids: &[MsgId],
    ) -> Result<Self> {
        // A message counts if it raises the number of those that do.
        let statement = format!(
            "SELECT (SELECT count(*) FROM hidden h WHERE h.cid = c.cid AND h.user_id = $3::text), c.cid, c.cold_msg_id,
                m.msg_id, m.kind, (m.countable > {})::int, m.sender, {}::int
            FROM conversation c LEFT JOIN message m ON m.cid = c.cid AND m.msg_id = ANY ($4::bigint[])
                AND coalesce(m.copy_of, 0) = 0
            WHERE c.tenant = $1::text AND c.name = $2::text",
            countable_up_to("m.cid", "(m.msg_id - 1)"),
            rows::is_hidden("m", "$3::text")
        );
        let parameters = vec![
            place.tenant().into(),
            place.conversation().into(),
            actor.user.as_str().into(),
            rows::list(ids),
        ];
        let mut facts = Self { hidden: 0, messages: HashMap::new() };
        let db = store.sql(place.partition).await?;
        let (mut cid, mut end) = (MsgId::NONE, MsgId::NONE);
        for mut row in db.query(&statement, parameters).await? {
            facts.hidden = row.count()?;
            (cid, end) = (row.msg_id()?, row.msg_id()?);
            let Some(msg_id) = row.opt_msg_id()? else { continue };
            facts.messages.insert(msg_id, Fact::read(&mut row)?);
        }
        let in_cold: Vec<MsgId> = ids.iter().copied().filter(|id| *id <= end).collect();
        if !in_cold.is_empty() {
            facts.look_into_cold(&Cold { db, cid }, &in_cold, actor.user.as_str()).await?;
        }
        Ok(facts)
    }
}

impl Facts {
    /// Messages of the cold part: the one before each may be in a segment.
    async fn look_into_cold<P: Postgres>(
        &mut self,
        cold: &Cold<'_, P>,
        ids: &[MsgId],
        user: &str,
    ) -> Result<()> {
        let hidden = cold.hidden(user).await?;
        for (id, record) in cold.find(ids).await?.into_iter().filter(|(_, record)| is_shown(record)) {
            let earlier = cold.countable_up_to(before(id)).await?.unwrap_or_default();
            let fact = Fact {
                kind: record.kind.unsigned_abs().into(),
                counts: record.countable > earlier,
                sender: record.sender,
                is_hidden: hidden.contains(&id),
            };
            self.messages.insert(id, fact);
        }
        Ok(())
    }
}

impl Fact {
    fn read(row: &mut Row) -> Result<Self> {
        Ok(Self { kind: row.count()?, counts: row.flag()?, sender: row.text()?, is_hidden: row.flag()? })
    }
}
