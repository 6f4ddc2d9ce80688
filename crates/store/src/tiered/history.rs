//! History while the hot store is away: what SQL surely has all of.
//!
//! SQL is filled in the order of ids, so up to the newest message of a conversation it has every one. A
//! page that could hold a later message is refused: it would hide what was acknowledged. Who may read
//! is what SQL knows; a change of members that only the hot store has seen counts when it is back.

use super::keys::Place;
use super::read::Head;
use super::{Tiered, home, retention, rows};
use crate::params;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::Row;
use im_domain::conversation::ConversationKind;
use im_domain::limits::RETRY_AFTER_MS;
use im_domain::message::Message;
use im_domain::page::{Direction, Range};
use im_domain::retention::{Keeping, Retention};
use im_domain::storage::Actor;
use im_domain::{Error, MsgId, Result};
use std::collections::HashMap;

/// A range, up to one message more than its limit.
pub(super) async fn range<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    range: &Range,
) -> Result<(Head, Vec<Message>)> {
    let db = home::sql_alone(store, place.partition).await?;
    let head = head(store, db, actor, place).await?;
    let is_whole = range.below <= head.hot;
    if range.direction == Direction::Up && !is_whole {
        return Err(away());
    }
    let mut persisted = range.clone();
    persisted.below = range.below.min(head.hot);
    let messages = rows::range(db, head.sight(actor), &persisted).await?;
    match is_whole || messages.len() > range.limit as usize {
        true => Ok((head, messages)),
        false => Err(away()),
    }
}

/// Messages by id.
pub(super) async fn by_id<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    ids: &[MsgId],
) -> Result<HashMap<MsgId, Message>> {
    let db = home::sql_alone(store, place.partition).await?;
    let head = head(store, db, actor, place).await?;
    if ids.iter().any(|id| *id >= head.hot) {
        return Err(away());
    }
    let found = rows::by_id(db, head.sight(actor), ids).await?;
    Ok(found.into_iter().map(|message| (message.msg_id, message)).collect())
}

fn away() -> Error {
    Error::HotUnavailable { retry_after_ms: RETRY_AFTER_MS }
}

async fn head<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    db: &P,
    actor: &Actor,
    place: &Place,
) -> Result<Head> {
    const STATEMENT: &str = "
        SELECT s.epoch, c.kind, c.retention_ms, c.legal_hold, c.cid, c.head_seq, c.head_msg_id, CASE WHEN c.history = 1 THEN m.floor ELSE 0 END,
            (m.user_id IS NOT NULL)::int
        FROM conversation c JOIN partition_state s ON s.partition = (c.cid >> 14) & 255
        LEFT JOIN member m ON m.cid = c.cid AND m.user_id = $3::text
        WHERE c.tenant = $1::text AND c.name = $2::text";
    let parameters = params![place.tenant(), place.conversation(), actor.user.as_str()];
    let mut rows = db.query(STATEMENT, parameters).await?;
    // The hot store may have a conversation that SQL does not know yet.
    let (head, is_member) = read(retention::of(store, &actor.tenant), rows.first_mut().ok_or_else(away)?)?;
    if is_member { Ok(head) } else { Err(Error::NotMember) }
}

fn read(retention: Retention, row: &mut Row) -> Result<(Head, bool)> {
    let epoch = row.text()?;
    let kind = row.case(ConversationKind::from_number)?;
    let retention_ms = row.opt_int()?.map(i64::unsigned_abs);
    let own = Keeping { retention_ms, legal_hold: row.flag()? };
    let (cid, seq, last) = (row.msg_id()?, row.count()?, row.msg_id()?);
    let joined = row.opt_msg_id()?.unwrap_or_default();
    let is_member = row.flag()?;
    let hot = MsgId::new(last.number() + 1).unwrap_or(MsgId::MAX);
    let floor = retention.expired_up_to(kind, own).max(joined);
    Ok((Head { epoch, cid, seq, last, hot, floor, scanned: None }, is_member))
}
