//! Messages that were revised.

use super::{ADVANCE, GATE, OUTCOME};
use crate::sql::Value;
use crate::tiered::entry::Revision;

/// The text goes from the message and stays in the trace. What was taken back counts for nobody, and no more
/// as the sender's own, if the sender has not left meanwhile.
pub(super) fn statement() -> String {
    format!(
        "WITH {GATE},
        target AS MATERIALIZED (
            SELECT m.* FROM message m, gate
            WHERE m.cid = $4::bigint AND m.msg_id = $5::bigint AND m.status = 0 AND $2::bigint > gate.clock),
        traced AS (
            INSERT INTO revision (cid, msg_id, number, action, control_msg_id, countable, user_id, role, time, reason,
                content, ext)
            SELECT cid, msg_id, 1 + (SELECT count(*) FROM revision WHERE cid = $4::bigint AND msg_id = $5::bigint),
                $6::bigint, $7::bigint, $8::bigint, $10::text, $11::bigint, $12::bigint, $13::bytea, content, ext
            FROM target),
        revised AS (
            UPDATE message m SET status = 1, content = ''::bytea, ext = NULL FROM target t
            WHERE m.cid = t.cid AND m.msg_id = t.msg_id),
        counted AS (
            UPDATE member m SET own = greatest(0, own - 1),
                read_own = greatest(0, read_own - (m.read_msg_id >= t.msg_id)::int) FROM target t
            WHERE m.cid = t.cid AND m.user_id = $9::text AND m.floor < t.msg_id AND $8::bigint > 0),
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
