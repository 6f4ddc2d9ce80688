//! What was erased of a user.

use super::{ADVANCE, GATE, Lifted, OUTCOME, signed, steady_gate};
use crate::sql::Value;
use crate::tiered::entry::Erased;
use im_domain::MsgId;

/// The fingerprint of a message that was erased: no other has it.
const NO_PRINT: &str = "decode(repeat('00', 16), 'hex')";

/// Messages of a user lose what they said and the name that the client gave them, and so does the trace of what was
/// done to them; one that was there until now is traced as deleted, so that it counts for nobody. At the end the user
/// leaves. Where the conversation came under legal hold before a dead letter of this was put back, all of it stays.
/// In a chat of two, which goes on, the user begins anew, as somebody who has joined just now and sees what comes.
pub(super) fn statement() -> String {
    // A name that no client can have given; what was erased before keeps its own.
    let name = format!(
        "CASE WHEN m.fingerprint = {NO_PRINT} THEN m.client_msg_id
        ELSE '!erased:' || m.msg_id || ':' || $10::text END"
    );
    format!(
        "WITH {},
        free AS MATERIALIZED (
            SELECT c.cid, c.kind, c.head_msg_id, c.head_countable FROM gate JOIN conversation c ON $2::bigint > gate.clock
            WHERE c.cid = $4::bigint AND c.legal_hold = 0),
        target AS MATERIALIZED (
            SELECT m.msg_id, m.status, m.fingerprint = {NO_PRINT} AS is_erased, CASE WHEN p.place IS NOT NULL THEN p.place
                WHEN m.countable > coalesce(greatest(
                    (SELECT countable FROM message WHERE cid = m.cid AND msg_id < m.msg_id
                        ORDER BY msg_id DESC LIMIT 1),
                    (SELECT last_countable FROM segment WHERE cid = m.cid AND last_id < m.msg_id
                        ORDER BY last_id DESC LIMIT 1)), m.countable - 1)
                THEN m.countable ELSE 0 END AS counted
            FROM free CROSS JOIN unnest($5::bigint[], $11::bigint[]) AS p(id, place)
            JOIN message m ON m.cid = $4::bigint AND m.msg_id = p.id AND m.sender = $6::text),
        emptied AS (
            UPDATE message m SET status = 2, content = ''::bytea, ext = NULL, edit_time = NULL,
                fingerprint = {NO_PRINT}, client_msg_id = {name}
            FROM target t WHERE m.cid = $4::bigint AND m.msg_id = t.msg_id),
        copies AS (
            UPDATE message m SET fingerprint = {NO_PRINT}, client_msg_id = {name}
            FROM free WHERE $7::bigint = 1 AND m.cid = $4::bigint AND m.sender = $6::text AND m.copy_of > 0
                AND m.msg_id <> ALL ($5::bigint[])),
        untraced AS (
            UPDATE revision v SET
                content = CASE WHEN v.msg_id = ANY ($5::bigint[]) OR v.action = 2 THEN ''::bytea ELSE v.content END,
                ext = CASE WHEN v.msg_id = ANY ($5::bigint[]) OR v.action = 2 THEN NULL ELSE v.ext END,
                kept = CASE WHEN v.kept IS NOT NULL THEN ''::bytea END,
                reason = CASE WHEN v.user_id = $6::text THEN ''::bytea ELSE v.reason END
            FROM free WHERE v.cid = $4::bigint AND (v.msg_id = ANY ($5::bigint[]) OR $7::bigint = 1 AND v.user_id = $6::text)),
        traced AS (
            INSERT INTO revision (cid, msg_id, number, action, control_msg_id, countable, user_id, role, time, reason,
                content)
            SELECT $4::bigint, t.msg_id,
                1 + (SELECT count(*) FROM revision WHERE cid = $4::bigint AND msg_id = t.msg_id),
                3, $2::bigint, t.counted, $8::text, 0, $9::bigint, ''::bytea, ''::bytea
            FROM target t WHERE t.status = 0),
        told AS (
            INSERT INTO late (stamp, cid, msg_id, kind) SELECT $2::bigint, $4::bigint, t.msg_id, 4 FROM target t
            WHERE NOT t.is_erased),
        place AS MATERIALIZED (SELECT * FROM free WHERE $7::bigint = 1),
        gone AS (
            DELETE FROM member m USING place p WHERE p.kind <> 1 AND m.cid = $4::bigint AND m.user_id = $6::text
            RETURNING 1),
        begun AS (
            UPDATE member m SET floor = p.head_msg_id, own = 0, read_msg_id = p.head_msg_id,
                read_countable = p.head_countable, read_own = 0, muted = 0
            FROM place p WHERE p.kind = 1 AND m.cid = $4::bigint AND m.user_id = $6::text),
        left_there AS (
            DELETE FROM position d USING place p WHERE d.cid = $4::bigint AND d.user_id = $6::text),
        unhidden AS (
            DELETE FROM hidden h USING place p WHERE h.cid = $4::bigint AND h.user_id = $6::text),
        counted AS (
            UPDATE conversation c SET member_count = c.member_count - (SELECT count(*) FROM gone),
                history = CASE WHEN p.kind = 1 THEN 1 ELSE c.history END
            FROM place p WHERE c.cid = $4::bigint),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint",
        steady_gate("$12")
    )
}

pub(super) fn parameters_of(
    begin: Vec<Value>,
    erased: &Erased,
    lifted: &Lifted,
    now_ms: u64,
    mark: &str,
) -> Vec<Value> {
    let place = |id: &MsgId| lifted.places.get(id).copied().and_then(signed);
    let mut parameters = begin;
    parameters.extend([
        Value::from(erased.cid),
        Value::Integers(erased.msg_ids.iter().map(|id: &MsgId| Some(id.to_sql())).collect()),
        erased.user.as_str().into(),
        erased.leaves.into(),
        erased.by.as_str().into(),
        now_ms.into(),
        mark.into(),
        Value::Integers(erased.msg_ids.iter().map(place).collect()),
        lifted.version.into(),
    ]);
    parameters
}

/// Deletes what is kept of a user beside conversations: $4 tenant, $5 user.
pub(super) fn user_statement() -> String {
    format!(
        "WITH {GATE},
        devices AS (
            DELETE FROM device d USING gate WHERE $2::bigint > gate.clock AND d.tenant = $4::text AND d.user_id = $5::text),
        settings AS (
            DELETE FROM user_setting s USING gate
            WHERE $2::bigint > gate.clock AND s.tenant = $4::text AND s.user_id = $5::text),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}
