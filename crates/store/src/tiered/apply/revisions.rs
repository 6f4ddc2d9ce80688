//! Messages that were revised.

use super::{ADVANCE, GATE, OUTCOME};
use crate::sql::Value;
use crate::tiered::entry::Revision;

/// What the message said goes from it and stays in the trace. What was recalled or deleted counts for nobody, and
/// no more as the sender's own, if the sender has not left meanwhile.
///
/// An edit may come late, from the dead letters: revisions of a message stand in the order of their control
/// messages, with the one that is final at the end, and one that comes late is put before the `next` one, which
/// then had the content that this one gave.
pub(super) fn statement() -> String {
    format!(
        "WITH {GATE},
        target AS MATERIALIZED (
            SELECT m.* FROM message m, gate
            WHERE m.cid = $4::bigint AND m.msg_id = $5::bigint AND (m.status = 0 OR $6::bigint = 2)
                AND $2::bigint > gate.clock),
        next AS MATERIALIZED (
            SELECT v.number, v.content FROM target t JOIN revision v ON v.cid = t.cid AND v.msg_id = t.msg_id
            WHERE $6::bigint = 2 AND (v.action <> 2 OR v.control_msg_id > $7::bigint)
            ORDER BY v.action <> 2, v.control_msg_id LIMIT 1),
        traced AS (
            INSERT INTO revision (cid, msg_id, number, action, control_msg_id, countable, user_id, role, time, reason,
                content, ext)
            SELECT t.cid, t.msg_id,
                1 + (SELECT count(*) FROM revision WHERE cid = $4::bigint AND msg_id = $5::bigint),
                $6::bigint, $7::bigint, $8::bigint, $10::text, $11::bigint, $12::bigint, $13::bytea,
                coalesce(n.content, t.content), t.ext
            FROM target t LEFT JOIN next n ON true),
        passed_on AS (
            UPDATE revision v SET content = $14::bytea FROM next n
            WHERE v.cid = $4::bigint AND v.msg_id = $5::bigint AND v.number = n.number),
        edited AS (
            UPDATE message m SET content = $14::bytea, edit_time = ($7::bigint >> 22) + 1704067200000 FROM target t
            WHERE m.cid = t.cid AND m.msg_id = t.msg_id AND $6::bigint = 2 AND t.status = 0
                AND NOT EXISTS (SELECT 1 FROM next)),
        gone AS (
            UPDATE message m SET status = CASE WHEN $6::bigint = 1 THEN 1 ELSE 2 END, content = ''::bytea, ext = NULL,
                edit_time = NULL FROM target t
            WHERE m.cid = t.cid AND m.msg_id = t.msg_id AND $6::bigint <> 2),
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
        revision.content.as_bytes().into(),
    ]);
    parameters
}
