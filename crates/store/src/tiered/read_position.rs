//! What a user has read.
//!
//! Of the messages up to a place two numbers are kept: how many count, which the message at the place says, and
//! how many of them are the user's own, which has to be counted.

use super::cold::Cold;
use super::keys::Place;
use super::tell::{Tale, tell};
use super::{Tiered, limits, read, script, stamp, unknown_word, view};
use crate::cold::after;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use crate::{arguments, params};
use im_domain::device::ReadState;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};

pub(super) async fn read<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    conversation: &ConversationId,
    up_to: MsgId,
) -> Result<ReadState> {
    let place = Place::of(&actor.tenant, conversation);
    let (mut below, mut attempts) = (Below::default(), 0);
    let mut counted: Option<(u64, String)> = None;
    while attempts < limits::ATTEMPTS_MAX {
        let mut arguments = arguments![
            u64::from(place.partition),
            store.settings.backlog_max,
            place.name.as_str(),
            actor.user.as_str(),
            stamp::text(up_to),
            store.here(place.partition),
            limits::INDEX_LIFE_S
        ];
        arguments.extend(below.describe());
        let (own, cut) = counted.take().unwrap_or_default();
        arguments.extend(arguments![own, cut]);
        let keys = place.written();
        let (word, mut reply) = read::ask_hot(store, &place, &script::READ, &keys, &arguments).await?;
        match word.as_str() {
            "ok" => {
                tell(store, &place, &Tale::take(&mut reply)?).await?;
                let conversation = view::one(store, actor, conversation).await?;
                return Ok(ReadState { read_msg_id: conversation.read_msg_id, unread: conversation.unread });
            }
            "ahead" => return Err(Error::MessageNotFound { field: "msgId".into() }),
            "far" => below = look_up(store, &place, actor, up_to, &Far::take(&mut reply)?).await?,
            // Each call looks at some more: no attempt, for they end with the backlog.
            "long" => {
                counted = Some((reply.number()?, reply.text()?));
                continue;
            }
            word => return Err(unknown_word("read", word)),
        }
        attempts += 1;
    }
    Err(Error::internal("a read position was looked up again and again"))
}

/// What the hot store knows of a member whose read position moves to a message that is not hot.
struct Far {
    cid: MsgId,
    /// Messages from this one on are hot.
    hot: MsgId,
    /// The read position so far, and the countable messages up to it.
    read: MsgId,
    read_count: u64,
    /// Countable messages after it, and those of the user's own.
    count: u64,
    own: u64,
}

impl Far {
    fn take(reply: &mut Reply) -> Result<Self> {
        let (cid, hot, read) = (read::id(reply)?, read::id(reply)?, read::id(reply)?);
        Ok(Self { cid, hot, read, read_count: reply.number()?, count: reply.number()?, own: reply.number()? })
    }
}

/// What SQL knows of the messages that are not hot.
#[derive(Default)]
struct Below {
    /// Messages from this one on are hot; none: SQL was not asked.
    hot: Option<MsgId>,
    /// Countable messages up to the read position.
    count: u64,
    /// The user's own above it.
    own: u64,
    /// The read position so far: then [`Self::own`] are those from there to the new one.
    passed_from: Option<MsgId>,
}

impl Below {
    /// What `read.lua` is told of it.
    fn describe(&self) -> [Argument; 4] {
        let text = |id: Option<MsgId>| Argument::from(id.map(stamp::text).unwrap_or_default());
        [text(self.hot), self.count.into(), self.own.into(), text(self.passed_from)]
    }
}

/// Counts a member's own messages at a place, at the side with fewer messages: between the read position so far and
/// the place, if nothing of that is purged, or between it and those that are hot. Who has said nothing since the
/// read position has none at either.
async fn look_up<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    actor: &Actor,
    up_to: MsgId,
    far: &Far,
) -> Result<Below> {
    let cold = Cold { db: store.sql(place.partition).await?, cid: far.cid };
    let user = actor.user.as_str();
    cold.steadily(async |end| match up_to < end {
        true => in_cold(&cold, user, up_to, far, end).await,
        false => in_rows(&cold, user, up_to, far).await,
    })
    .await
}

/// Of a place that lies above the cold part.
async fn in_rows<P: Postgres>(cold: &Cold<'_, P>, user: &str, up_to: MsgId, far: &Far) -> Result<Below> {
    // A message counts if it raises the number of those that do, and was not taken back. Messages up to the place
    // may be purged, or in segments.
    const STATEMENT: &str = "
        WITH place AS MATERIALIZED (SELECT greatest(
            (SELECT last_countable FROM segment WHERE cid = $1::bigint AND last_id <= $2::bigint
                ORDER BY last_id DESC LIMIT 1), coalesce(
            (SELECT countable FROM message WHERE cid = $1::bigint AND msg_id <= $2::bigint
                ORDER BY msg_id DESC LIMIT 1),
            (SELECT countable - 1 FROM message WHERE cid = $1::bigint AND msg_id > $2::bigint
                ORDER BY msg_id LIMIT 1), 0)) AS count),
        cold AS MATERIALIZED (SELECT cold_msg_id AS id FROM conversation WHERE cid = $1::bigint),
        side AS MATERIALIZED (SELECT count, CASE
            WHEN $8::bigint = 0 THEN 'none'
            WHEN 2 * (count - $6::bigint) < $7::bigint AND $5::bigint >= cold.id
                AND (SELECT seq = 1 OR msg_id <= $5::bigint FROM message
                    WHERE cid = $1::bigint AND msg_id > cold.id ORDER BY msg_id LIMIT 1) THEN 'passed'
            ELSE 'above' END AS side FROM place, cold),
        range AS MATERIALIZED (SELECT count, side,
            CASE side WHEN 'passed' THEN $5::bigint ELSE $2::bigint END AS above,
            CASE side WHEN 'passed' THEN $2::bigint + 1 WHEN 'above' THEN $3::bigint ELSE 0 END AS below,
            CASE side WHEN 'passed' THEN $6::bigint ELSE count END AS before FROM side)
        SELECT r.count, (SELECT count(*) FROM (
            SELECT sender, status, countable - lag(countable, 1, r.before) OVER (ORDER BY msg_id) AS counts
            FROM message WHERE cid = $1::bigint AND msg_id > r.above AND msg_id < r.below) m
            WHERE m.sender = $4::text AND m.counts > 0 AND m.status = 0), (r.side = 'passed')::int
        FROM range r";
    let parameters = params![far.cid, up_to, far.hot, user, far.read, far.read_count, far.count, far.own];
    let mut rows = cold.db.query(STATEMENT, parameters).await?;
    let row = rows.first_mut().ok_or_else(|| Error::internal("a read position was not looked up"))?;
    let (count, own) = (row.count()?, row.count()?);
    Ok(Below { hot: Some(far.hot), count, own, passed_from: row.flag()?.then_some(far.read) })
}

/// Of a place in the cold part, which ends at `end`.
async fn in_cold<P: Postgres>(
    cold: &Cold<'_, P>,
    user: &str,
    up_to: MsgId,
    far: &Far,
    end: MsgId,
) -> Result<Below> {
    let count = match cold.countable_up_to(up_to).await? {
        Some(count) => count,
        // Messages up to the place are purged.
        None => {
            let next = cold.oldest(up_to, after(end)).await?;
            next.map_or(0, |next| next.countable.saturating_sub(1))
        }
    };
    let mut below = Below { hot: Some(far.hot), count, own: 0, passed_from: None };
    if far.own == 0 {
        return Ok(below);
    }
    let passes_fewer = 2 * count.saturating_sub(far.read_count) < far.count;
    if passes_fewer && cold.has_all_after(far.read).await? {
        below.passed_from = Some(far.read);
        below.own = cold.own_between(user, far.read, after(up_to), far.read_count, usize::MAX).await?;
        return Ok(below);
    }
    below.own = cold.own_between(user, up_to, after(end), count, usize::MAX).await?;
    let at_end = cold.countable_up_to(end).await?.unwrap_or(count);
    below.own += cold.own_in_rows(user, end, far.hot, at_end).await?;
    Ok(below)
}
