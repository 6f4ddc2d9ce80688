//! Messages that were revised.

use super::{ADVANCE, GATE, OUTCOME};
use crate::sql::Value;
use crate::tiered::entry::Revision;

/// The text goes from the message and stays in the trace. What was taken back counts for nobody, and no more
/// as the sender's own, if the sender has not left meanwhile. A message that is not here is traced without its text:
/// it may be a dead letter, and is stored without it when it comes (see [`super::rows`]).
pub(super) fn statement() -> String {
    format!(
        "WITH {GATE},
        target AS MATERIALIZED (
            SELECT coalesce(m.content, ''::bytea) AS content, m.ext, (m.msg_id IS NOT NULL)::int AS stored
            FROM gate LEFT JOIN message m ON m.cid = $4::bigint AND m.msg_id = $5::bigint
            WHERE $2::bigint > gate.clock AND coalesce(m.status, 0) = 0 AND (m.msg_id IS NOT NULL OR NOT EXISTS (
                SELECT 1 FROM revision WHERE cid = $4::bigint AND msg_id = $5::bigint AND action = $6::bigint))),
        traced AS (
            INSERT INTO revision (cid, msg_id, number, action, control_msg_id, countable, user_id, role, time, reason,
                content, ext)
            SELECT $4::bigint, $5::bigint,
                1 + (SELECT count(*) FROM revision WHERE cid = $4::bigint AND msg_id = $5::bigint),
                $6::bigint, $7::bigint, $8::bigint, $10::text, $11::bigint, $12::bigint, $13::bytea, content, ext
            FROM target),
        revised AS (
            UPDATE message m SET status = 1, content = ''::bytea, ext = NULL FROM target
            WHERE m.cid = $4::bigint AND m.msg_id = $5::bigint),
        counted AS (
            UPDATE member m SET own = greatest(0, own - t.stored),
                read_own = greatest(0, read_own - (m.read_msg_id >= $5::bigint)::int) FROM target t
            WHERE m.cid = $4::bigint AND m.user_id = $9::text AND m.floor < $5::bigint AND $8::bigint > 0),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

pub(super) fn parameters_of(begin: Vec<Value>, revision: &Revision) -> Vec<Value> {
    let mut parameters = begin;
    parameters.extend([
        Value::from(revision.cid),
        revision.msg_id.into(),
        revision.action.into(),
        revision.control.into(),
        revision.countable.into(),
        revision.sender.as_str().into(),
        revision.user.as_str().into(),
        revision.role.into(),
        revision.time_ms.into(),
        revision.reason.as_bytes().into(),
    ]);
    parameters
}
