//! Reading a conversation: hot messages, those below in SQL, and the seam between them.

use super::keys::Place;
use super::record::{Record, summary_of_start};
use super::retention::times;
use super::revised::Become;
use super::rows::Sight;
use super::warm::{Warmth, warm};
use super::{Tiered, limits, rows, script, stamp, unknown_word};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use im_domain::message::{Message, Quote, QuoteStatus, Status, summary_of_bytes};
use im_domain::page::{Direction, Range};
use im_domain::storage::Actor;
use im_domain::{Error, MsgId, Result, UserId};
use std::collections::HashMap;

/// What a reader has to know of a hot conversation.
pub(super) struct Head {
    pub epoch: String,
    pub cid: MsgId,
    pub seq: u64,
    pub last: MsgId,
    /// Messages from this id on are all hot.
    pub hot: MsgId,
    /// Up to this id the reader sees nothing.
    pub floor: MsgId,
    /// Where a search behind other messages was cut off.
    pub scanned: Option<MsgId>,
}

/// Asks a script about a conversation and makes it hot first where it is not.
pub(super) async fn ask_hot<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    script: &script::Script,
    keys: &[String],
    arguments: &[Argument],
) -> Result<(String, Reply)> {
    for _ in 0..limits::ATTEMPTS_MAX {
        let (word, reply) = store.ask(place.partition, script, keys, arguments.to_vec()).await?;
        match word.as_str() {
            "cold" => match warm(store, place).await? {
                Warmth::Hot => {}
                Warmth::Missing { .. } | Warmth::Elsewhere(_) => return Err(Error::ConversationNotFound),
            },
            "stranger" => return Err(Error::NotMember),
            _ => return Ok((word, reply)),
        }
    }
    Err(Error::internal("a conversation was made hot again and again"))
}

impl Head {
    pub fn sight<'a>(&self, actor: &'a Actor) -> Sight<'a> {
        Sight { cid: self.cid, floor: self.floor, user: &actor.user }
    }

    /// Takes the first values that `page.lua`, `get.lua` and `sync.lua` give.
    pub fn take(reply: &mut Reply) -> Result<Self> {
        let epoch = reply.text()?;
        let cid = id(reply)?;
        let floor = id(reply)?;
        let seq = reply.number()?;
        let (last, hot) = (id(reply)?, id(reply)?);
        let scanned = stamp::parse(&reply.text()?);
        Ok(Self { epoch, cid, seq, last, hot, floor, scanned })
    }
}

/// A stamp of a reply.
pub(super) fn id(reply: &mut Reply) -> Result<MsgId> {
    let text = reply.text()?;
    stamp::parse(&text).ok_or_else(|| Error::internal(format!("expected a stamp in a reply, found {text}")))
}

/// A stamp of a reply that may be empty.
pub(super) fn id_or_none(reply: &mut Reply) -> Result<Option<MsgId>> {
    Ok(stamp::parse(&reply.text()?))
}

/// The life of a server, as scripts say it.
pub(super) fn life(reply: &mut Reply) -> Result<u32> {
    u32::try_from(reply.number()?).map_err(|_| Error::internal("the life of a server is malformed"))
}

/// A hot message as its reader sees it, and whether its quote has to be looked up in SQL.
fn hot_message(reply: &mut Reply, head: &Head) -> Result<(Message, bool)> {
    let msg_id = id(reply)?;
    let (seq, record) = value(&reply.bytes()?)?;
    let revised = Become::parse(reply.bytes()?)?;
    let start = reply.bytes()?;
    let quoted_revised = Become::parse(reply.bytes()?)?;
    let quote = record.reply_to.map(|quoted| hot_quote(quoted, &start, quoted_revised, head));
    let is_cold = quote.as_ref().is_some_and(|quote| quote.sender.is_none() && quote.msg_id < head.hot);
    let message = Message {
        msg_id,
        seq,
        sender: record.sender,
        kind: record.kind,
        content: record.content,
        client_msg_id: record.client_msg_id,
        create_time: msg_id.time_ms(),
        status: Status::Normal,
        edit_time: None,
        reply_to: quote,
        ext: record.ext,
        control: record.control,
    };
    match revised {
        None => Ok((message, is_cold)),
        Some(revised) => Ok((revised.apply(message)?, is_cold)),
    }
}

fn hot_quote(msg_id: MsgId, start: &[u8], revised: Option<Become>, head: &Head) -> Quote {
    let found = body(start).and_then(|(_, record)| summary_of_start(record)).filter(|_| msg_id > head.floor);
    let Some((sender, said)) = found else {
        return Quote { msg_id, sender: None, preview: None, status: QuoteStatus::Expired };
    };
    let (preview, status) = match revised {
        None => (Some(said), QuoteStatus::Normal),
        Some(Become::Edited { content, .. }) => (Some(summary_of_bytes(&content)), QuoteStatus::Normal),
        Some(Become::Gone(status)) => (None, status.into()),
    };
    Quote { msg_id, sender: Some(sender), preview, status }
}

/// `seq` and record of a stream entry's value: `kind\nseq\ncountable\nrecord`.
fn value(value: &[u8]) -> Result<(u64, Record)> {
    body(value)
        .and_then(|(seq, record)| Some((seq, Record::decode(record)?)))
        .ok_or_else(|| Error::internal("a message in the hot store is malformed"))
}

/// Kind, `seq`, sender and summary of a stream entry's value of which at least the start is there.
pub(super) fn start_of(value: &[u8]) -> Result<(u64, u64, UserId, String)> {
    let start = || {
        let kind = std::str::from_utf8(value.split(|byte| *byte == b'\n').next()?).ok()?.parse().ok()?;
        let (seq, record) = body(value)?;
        let (sender, summary) = summary_of_start(record)?;
        Some((kind, seq, sender, summary))
    };
    start().ok_or_else(|| Error::internal("a message in the hot store is malformed"))
}

fn body(value: &[u8]) -> Option<(u64, &[u8])> {
    let mut parts = value.splitn(4, |byte| *byte == b'\n').skip(1);
    let seq = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    Some((seq, parts.nth(1)?))
}

/// The messages that are left in a reply, in its order.
pub(super) async fn hot_messages<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    head: &Head,
    actor: &Actor,
    reply: &mut Reply,
) -> Result<Vec<Message>> {
    let mut messages = Vec::with_capacity(reply.left() / 5);
    let mut cold = Vec::new();
    while reply.left() > 0 {
        let (message, is_cold) = hot_message(reply, head)?;
        cold.extend(message.reply_to.as_ref().filter(|_| is_cold).map(|quote| quote.msg_id));
        messages.push(message);
    }
    if !cold.is_empty() {
        let found = rows::quotes(store.sql(place.partition).await?, head.sight(actor), &cold).await?;
        fill_quotes(&mut messages, &found);
    }
    Ok(messages)
}

fn fill_quotes(messages: &mut [Message], found: &HashMap<MsgId, Quote>) {
    for quote in messages.iter_mut().filter_map(|message| message.reply_to.as_mut()) {
        if let Some(cold) = found.get(&quote.msg_id) {
            *quote = cold.clone();
        }
    }
}

/// Reads a range, up to one message more than its limit.
pub(super) async fn range<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    range: &Range,
) -> Result<(Head, Vec<Message>)> {
    let (head, hot) = hot_part(store, actor, place, range, 0).await?;
    let hot = hot_rest(store, actor, place, range, head.scanned, hot).await?;
    let messages = with_cold(store, actor, place, &head, range, hot).await?;
    Ok((head, messages))
}

/// Goes on with the hot messages of a range where a search was cut off.
pub(super) async fn hot_rest<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    range: &Range,
    mut scanned: Option<MsgId>,
    mut hot: Vec<Message>,
) -> Result<Vec<Message>> {
    let mut part = range.clone();
    while let Some(id) = scanned {
        match part.direction {
            Direction::Up => part.below = id,
            Direction::Down => part.above = id,
        }
        let (head, messages) = hot_part(store, actor, place, &part, hot.len()).await?;
        hot.extend(messages);
        scanned = head.scanned;
    }
    Ok(hot)
}

async fn hot_part<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    range: &Range,
    found: usize,
) -> Result<(Head, Vec<Message>)> {
    let below = if range.below == MsgId::MAX { "+".to_owned() } else { stamp::text(range.below) };
    let kinds: String = range.kinds.iter().map(|kind| format!("{},", kind.number())).collect();
    let kinds = if kinds.is_empty() { kinds } else { format!(",{kinds}") };
    let wanted = (u64::from(range.limit) + 1).saturating_sub(found as u64);
    let arguments = arguments![
        actor.user.as_str(),
        range.direction.as_str(),
        stamp::text(range.above),
        below,
        wanted,
        kinds,
        times(store, &actor.tenant)
    ];
    let keys = [place.clock(), place.head(), place.members(), place.messages()];
    let (_, mut reply) = ask_hot(store, place, &script::PAGE, &keys, &arguments).await?;
    let head = Head::take(&mut reply)?;
    let messages = hot_messages(store, place, &head, actor, &mut reply).await?;
    Ok((head, messages))
}

/// Adds to the hot messages of a range those that lie below, where there may be some.
pub(super) async fn with_cold<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    head: &Head,
    range: &Range,
    mut hot: Vec<Message>,
) -> Result<Vec<Message>> {
    let wanted = range.limit as usize + 1;
    let mut below = range.clone();
    below.above = range.above.max(head.floor);
    below.below = range.below.min(head.hot);
    let may_have_some = below.above.number() + 1 < below.below.number();
    if !may_have_some || (range.direction == Direction::Up && hot.len() >= wanted) {
        return Ok(hot);
    }
    let mut cold = rows::range(store.sql(place.partition).await?, head.sight(actor), &below).await?;
    match range.direction {
        Direction::Up => hot.append(&mut cold),
        Direction::Down => {
            cold.append(&mut hot);
            hot = cold;
        }
    }
    hot.truncate(wanted);
    Ok(hot)
}

/// The oldest message that the reader sees; none when there is none.
pub(super) async fn oldest<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
) -> Result<MsgId> {
    let first = Range {
        above: MsgId::NONE,
        below: MsgId::MAX,
        direction: Direction::Down,
        kinds: Vec::new(),
        limit: 0,
    };
    let (_, messages) = range(store, actor, place, &first).await?;
    Ok(messages.first().map_or(MsgId::NONE, |message| message.msg_id))
}

/// Messages by id, hot or not.
pub(super) async fn by_id<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    ids: &[MsgId],
) -> Result<HashMap<MsgId, Message>> {
    let mut arguments = arguments![actor.user.as_str(), times(store, &actor.tenant)];
    arguments.extend(ids.iter().map(|id| Argument::from(stamp::text(*id))));
    let keys = [place.clock(), place.head(), place.members(), place.messages()];
    let (word, mut reply) = ask_hot(store, place, &script::GET, &keys, &arguments).await?;
    if word != "ok" {
        return Err(unknown_word("get", &word));
    }
    let head = Head::take(&mut reply)?;
    let mut found = hot_messages(store, place, &head, actor, &mut reply).await?;
    found.retain(|message| message.msg_id > head.floor);
    let is_cold = |id: &MsgId| *id < head.hot && *id > head.floor;
    let hot: Vec<MsgId> = found.iter().map(|message| message.msg_id).collect();
    let cold: Vec<MsgId> = ids.iter().copied().filter(|id| is_cold(id) && !hot.contains(id)).collect();
    if !cold.is_empty() {
        found.extend(rows::by_id(store.sql(place.partition).await?, head.sight(actor), &cold).await?);
    }
    Ok(found.into_iter().map(|message| (message.msg_id, message)).collect())
}
