//! What a user has read.

use super::keys::Place;
use super::tell::{Tale, tell};
use super::{Tiered, limits, overloaded, read, script, stamp, unknown_word, view};
use crate::postgres::Postgres;
use crate::redis::Redis;
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
    let mut below = Below::default();
    for _ in 0..limits::ATTEMPTS_MAX {
        let arguments = arguments![
            u64::from(place.partition),
            store.settings.backlog_max,
            place.name.as_str(),
            actor.user.as_str(),
            stamp::text(up_to),
            store.here(place.partition),
            limits::INDEX_LIFE_S,
            below.hot.map(stamp::text).unwrap_or_default(),
            below.count,
            below.own
        ];
        let keys = place.written();
        let (word, mut reply) = read::ask_hot(store, &place, &script::READ, &keys, &arguments).await?;
        match word.as_str() {
            "ok" => {
                tell(store, &place, &Tale::take(&mut reply)?).await?;
                let conversation = view::one(store, actor, conversation).await?;
                return Ok(ReadState { read_msg_id: conversation.read_msg_id, unread: conversation.unread });
            }
            "ahead" => return Err(Error::MessageNotFound { field: "msgId".into() }),
            "far" => {
                let (cid, hot) = (read::id(&mut reply)?, read::id(&mut reply)?);
                below = look_up(store, &place, actor, cid, (up_to, hot)).await?;
            }
            "long" => return Err(overloaded()),
            word => return Err(unknown_word("read", word)),
        }
    }
    Err(Error::internal("a read position was looked up again and again"))
}

/// What SQL knows of the messages that are not hot.
#[derive(Default)]
struct Below {
    /// Messages from this one on are hot; none: SQL was not asked.
    hot: Option<MsgId>,
    /// Countable messages up to the read position.
    count: u64,
    /// Of them, the user's own above it.
    own: u64,
}

/// Looks at messages above a read position and below those that are hot.
async fn look_up<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    actor: &Actor,
    cid: MsgId,
    (up_to, hot): (MsgId, MsgId),
) -> Result<Below> {
    // A message counts if it raises the number of those that do. Messages up to the place may be purged.
    const STATEMENT: &str = "
        WITH place AS MATERIALIZED (SELECT coalesce(
            (SELECT countable FROM message WHERE cid = $1::bigint AND msg_id <= $2::bigint
                ORDER BY msg_id DESC LIMIT 1),
            (SELECT countable - 1 FROM message WHERE cid = $1::bigint AND msg_id > $2::bigint
                ORDER BY msg_id LIMIT 1), 0) AS count)
        SELECT place.count, (SELECT count(*) FROM (
            SELECT sender, countable - lag(countable, 1, place.count) OVER (ORDER BY msg_id) AS counts
            FROM message WHERE cid = $1::bigint AND msg_id > $2::bigint AND msg_id < $3::bigint) m
            WHERE m.sender = $4::text AND m.counts > 0)
        FROM place";
    let parameters = params![cid, up_to, hot, actor.user.as_str()];
    let mut rows = store.sql(place.partition).await?.query(STATEMENT, parameters).await?;
    let row = rows.first_mut().ok_or_else(|| Error::internal("a read position was not looked up"))?;
    Ok(Below { hot: Some(hot), count: row.count()?, own: row.count()? })
}
