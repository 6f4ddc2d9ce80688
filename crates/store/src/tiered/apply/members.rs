//! Changes of members, and chats of pairs that have an id of their own.

use super::{ADVANCE, GATE, OUTCOME, signed};
use crate::audit;
use crate::sql::Value;
use crate::tiered::entry::Change;
use crate::tiered::keys::Place;
use im_domain::UserId;
use im_domain::retention::KeepFor;

/// Removes before it adds: who leaves and joins again by one change is not in it (see `Change`).
pub(super) fn statement() -> String {
    format!(
        "WITH {GATE},
        target AS MATERIALIZED (
            SELECT c.cid FROM conversation c, gate WHERE c.cid = $4::bigint AND $2::bigint > gate.clock),
        gone AS (DELETE FROM member m USING target t WHERE m.cid = t.cid AND m.user_id = ANY ($8::text[])),
        come AS (
            INSERT INTO member (cid, user_id, tenant, role, floor, read_msg_id, read_countable)
            SELECT t.cid, j.user_id, $7::text, j.role, j.floor, j.floor, j.countable
            FROM unnest($9::text[], $10::bigint[], $11::bigint[], $12::bigint[]) AS j(user_id, role, floor, countable),
                target t
            ON CONFLICT (cid, user_id) DO NOTHING),
        ranked AS (
            UPDATE member m SET role = r.role
            FROM unnest($13::text[], $14::bigint[]) AS r(user_id, role), target t
            WHERE m.cid = t.cid AND m.user_id = r.user_id),
        hushed AS (
            UPDATE member m SET muted = $16::bigint FROM target t
            WHERE m.cid = t.cid AND m.user_id = $15::text),
        counted AS (
            UPDATE conversation c SET member_count = $5::bigint, update_time = greatest(update_time, $6::bigint),
                history = coalesce($17::bigint, history), legal_hold = coalesce($20::bigint, legal_hold),
                retention_ms = CASE WHEN $18::bigint = 1 THEN $19::bigint ELSE retention_ms END
            FROM target t WHERE c.cid = t.cid),
        audited AS (
            INSERT INTO audit (id, partition, tenant, user_id, time, action, conversation, msg_id)
            SELECT 'hold-' || $2::bigint, $1::bigint, $7::text, $21::text, $22::bigint, $23::text, $24::text, 0
            FROM target t WHERE $20::bigint IS NOT NULL ON CONFLICT DO NOTHING),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

pub(super) fn parameters_of(begin: Vec<Value>, place: &Place, change: &Change) -> Vec<Value> {
    let names = |users: &mut dyn Iterator<Item = &UserId>| {
        Value::Texts(users.map(|user| Some(user.as_str().to_owned())).collect())
    };
    let mut parameters = begin;
    parameters.extend([
        Value::from(change.cid),
        change.members.into(),
        change.time_ms.into(),
        place.tenant().into(),
        names(&mut change.removed.iter()),
        names(&mut change.added.iter().map(|joiner| &joiner.user)),
        Value::Integers(change.added.iter().map(|joiner| signed(joiner.role)).collect()),
        Value::Integers(change.added.iter().map(|joiner| Some(joiner.floor.to_sql())).collect()),
        Value::Integers(change.added.iter().map(|joiner| signed(joiner.countable)).collect()),
        names(&mut change.roles.iter().map(|(user, _)| user)),
        Value::Integers(change.roles.iter().map(|(_, role)| signed(*role)).collect()),
        change.muted.as_ref().map(|(user, _)| user.as_str()).into(),
        change.muted.as_ref().map_or(0, |(_, muted)| *muted).into(),
        change.history.and_then(signed).into(),
        change.keep_for.is_some().into(),
        change.keep_for.and_then(KeepFor::ms).into(),
    ]);
    let hold = change.hold.as_ref();
    parameters.extend([
        Value::from(hold.map(|hold| i64::from(hold.held))),
        hold.map(|hold| hold.user.as_str()).into(),
        hold.map(|hold| hold.time_ms).into(),
        hold.map(|hold| audit::legal_hold(hold.held)).into(),
        place.conversation().into(),
    ]);
    parameters
}

pub(super) fn alias_statement() -> String {
    format!(
        "WITH {GATE},
        named AS (
            INSERT INTO alias (tenant, name, target, partition)
            SELECT $4::text, $5::text, $6::text, $1::bigint FROM gate WHERE gate.clock < $2::bigint
            ON CONFLICT DO NOTHING),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}
