//! Messages that were revised.

use super::{ADVANCE, Lifted, OUTCOME, steady_gate};
use crate::sql::Value;
use crate::tiered::entry::Revision;

/// What the message said goes from it and stays in the trace. What was recalled or deleted counts for nobody, and
/// no more as the sender's own, if the sender has not left meanwhile.
///
/// An edit may come late, from the dead letters: revisions of a message stand in the order of their control
/// messages, with the one that is final at the end, and one that comes late is put before the `next` one, which
/// then had the content that this one gave. A message that is not here may itself be a dead letter: it is traced
/// without what it said, the last edit keeps what it gave, and the message is stored as what it has become when it
/// comes (see [`super::rows`]). What comes late the feed has once more, as an event of the control message.
pub(super) fn statement() -> String {
    format!(
        "WITH {},
        target AS MATERIALIZED (
            SELECT (m.msg_id IS NOT NULL)::int AS stored, coalesce(m.status, 0) AS status, m.content, m.ext
            FROM gate LEFT JOIN message m ON m.cid = $4::bigint AND m.msg_id = $5::bigint
            WHERE $2::bigint > gate.clock AND (coalesce(m.status, 0) = 0 OR $6::bigint = 2)
                AND (m.msg_id IS NOT NULL OR $6::bigint = 2 OR NOT EXISTS (
                    SELECT 1 FROM revision WHERE cid = $4::bigint AND msg_id = $5::bigint AND action <> 2))),
        next AS MATERIALIZED (
            SELECT v.number, v.content FROM target, revision v
            WHERE v.cid = $4::bigint AND v.msg_id = $5::bigint AND $6::bigint = 2
                AND (v.action <> 2 OR v.control_msg_id > $7::bigint)
            ORDER BY v.action <> 2, v.control_msg_id LIMIT 1),
        former AS MATERIALIZED (
            SELECT v.kept FROM target t, revision v
            WHERE t.stored = 0 AND v.cid = $4::bigint AND v.msg_id = $5::bigint AND v.action = 2
            ORDER BY v.control_msg_id DESC LIMIT 1),
        traced AS (
            INSERT INTO revision (cid, msg_id, number, action, control_msg_id, countable, user_id, role, time, reason,
                content, ext, kept)
            SELECT $4::bigint, $5::bigint,
                1 + (SELECT count(*) FROM revision WHERE cid = $4::bigint AND msg_id = $5::bigint),
                $6::bigint, $7::bigint, $8::bigint, $10::text, $11::bigint, $12::bigint, $13::bytea,
                coalesce(n.content, t.content, f.kept, ''::bytea), t.ext,
                CASE WHEN t.stored = 0 AND $6::bigint = 2 AND n.number IS NULL THEN $14::bytea END
            FROM target t LEFT JOIN next n ON true LEFT JOIN former f ON true),
        passed_on AS (
            UPDATE revision v SET content = $14::bytea FROM next n
            WHERE v.cid = $4::bigint AND v.msg_id = $5::bigint AND v.number = n.number),
        edited AS (
            UPDATE message m SET content = $14::bytea, edit_time = ($7::bigint >> 22) + 1704067200000 FROM target t
            WHERE m.cid = $4::bigint AND m.msg_id = $5::bigint AND $6::bigint = 2 AND t.status = 0
                AND NOT EXISTS (SELECT 1 FROM next)),
        gone AS (
            UPDATE message m SET status = CASE WHEN $6::bigint = 1 THEN 1 ELSE 2 END, content = ''::bytea, ext = NULL,
                edit_time = NULL FROM target t
            WHERE m.cid = $4::bigint AND m.msg_id = $5::bigint AND $6::bigint <> 2),
        counted AS (
            UPDATE member m SET own = greatest(0, own - t.stored),
                read_own = greatest(0, read_own - (m.read_msg_id >= $5::bigint)::int) FROM target t
            WHERE m.cid = $4::bigint AND m.user_id = $9::text AND m.floor < $5::bigint AND $8::bigint > 0),
        come_late AS (
            INSERT INTO late (stamp, cid, msg_id) SELECT $2::bigint, $4::bigint, $7::bigint FROM target
            WHERE $15::bigint = 1),
        noticed AS (
            UPDATE conversation c SET oldest_msg_id = least(c.oldest_msg_id, $5::bigint) FROM target t
            WHERE t.stored = 0 AND c.cid = $4::bigint),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint",
        steady_gate("$16")
    )
}

pub(super) fn parameters_of(begin: Vec<Value>, revision: &Revision, lifted: &Lifted) -> Vec<Value> {
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
        revision.is_late.into(),
        lifted.version.into(),
    ]);
    parameters
}
