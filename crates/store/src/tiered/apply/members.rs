//! Changes of members, and chats of pairs that have an id of their own.

use super::{ADVANCE, GATE, OUTCOME, signed};
use crate::sql::Value;
use crate::tiered::entry::Change;
use im_domain::UserId;

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
                history = coalesce($17::bigint, history)
            FROM target t WHERE c.cid = t.cid),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

pub(super) fn parameters_of(begin: Vec<Value>, tenant: &str, change: &Change) -> Vec<Value> {
    let names = |users: &mut dyn Iterator<Item = &UserId>| {
        Value::Texts(users.map(|user| Some(user.as_str().to_owned())).collect())
    };
    let mut parameters = begin;
    parameters.extend([
        Value::from(change.cid),
        change.members.into(),
        change.time_ms.into(),
        tenant.into(),
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
