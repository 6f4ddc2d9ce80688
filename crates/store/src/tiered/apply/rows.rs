//! Messages, the positions of devices and readers, and what is kept of users.

use super::{ADVANCE, GATE, OUTCOME, signed, users};
use crate::sql::Value;
use crate::tiered::entry::{Body, Entry, Message, Position, Read};
use im_domain::MsgId;
use im_domain::ext::Ext;

/// The first parameter of [`users::parts`], after those of messages and positions.
const USERS_FROM: usize = 36;

/// Messages, positions and users. A position that was moved to a message which was not hot comes without its
/// `seq`: that message is in SQL, and it is looked up here. A clientMsgId that is taken, in SQL or by an earlier row of the batch, makes
/// the later message a copy: of that message when the two are the same, otherwise one that is shown. A dead letter that
/// was put back may have been revised before: it is stored as what it has become, and what it said goes to the trace.
/// The feed may have been read beyond its id, and has it once more under the stamp by which it came.
pub(super) fn statement() -> String {
    let users = users::parts(USERS_FROM);
    format!(
        "WITH {GATE},
        input AS MATERIALIZED (
            SELECT t.*, substring($16::bytea FROM (t.ord::int - 1) * 16 + 1 FOR 16) AS fingerprint,
                substring($17::bytea FROM t.start::int FOR t.length::int) AS content
            FROM unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
                $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::text[], $18::text[],
                $27::bigint[], $34::bigint[], $35::bigint[])
                WITH ORDINALITY AS t(cid, msg_id, seq, countable, counts, kind, reply_to, start, length,
                    sender, client_msg_id, ext, epoch, stamp, control_msg_id, control_action, ord), gate
            WHERE t.stamp > gate.clock),
        ranked AS (
            SELECT i.*, first_value(msg_id) OVER w AS first_id, first_value(seq) OVER w AS first_seq,
                first_value(fingerprint) OVER w AS first_print
            FROM input i WINDOW w AS (PARTITION BY cid, sender, client_msg_id ORDER BY msg_id)),
        judged AS MATERIALIZED (
            SELECT r.*, coalesce(e.seq, r.first_seq) AS original_seq,
                CASE WHEN e.msg_id IS NULL AND r.first_id = r.msg_id THEN NULL
                    WHEN coalesce(e.fingerprint, r.first_print) = r.fingerprint
                        THEN coalesce(e.msg_id, r.first_id) ELSE 0 END AS copy_of,
                v.first, v.action, v.kept, v.control
            FROM ranked r LEFT JOIN LATERAL (
                SELECT m.msg_id, m.seq, m.fingerprint FROM message m
                WHERE m.cid = r.cid AND m.sender = r.sender AND m.client_msg_id = r.client_msg_id
                    AND m.copy_of IS NULL LIMIT 1) e ON true
            LEFT JOIN LATERAL (
                SELECT (array_agg(v.number ORDER BY v.action <> 2, v.control_msg_id))[1] AS first,
                    (array_agg(v.action ORDER BY v.action <> 2 DESC, v.control_msg_id DESC))[1] AS action,
                    (array_agg(v.kept ORDER BY v.action <> 2 DESC, v.control_msg_id DESC))[1] AS kept,
                    (array_agg(v.control_msg_id ORDER BY v.action <> 2 DESC, v.control_msg_id DESC))[1] AS control
                FROM revision v WHERE r.stamp > r.msg_id AND v.cid = r.cid AND v.msg_id = r.msg_id) v ON true),
        stored AS (
            INSERT INTO message (cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind, status,
                content, reply_to, ext, edit_time, control_msg_id, control_action, copy_of)
            SELECT cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind,
                CASE action WHEN 1 THEN 1 WHEN 3 THEN 2 ELSE 0 END,
                CASE WHEN copy_of > 0 OR action <> 2 THEN ''::bytea ELSE coalesce(kept, content) END, reply_to,
                CASE WHEN copy_of > 0 OR action <> 2 THEN NULL ELSE ext END,
                CASE WHEN action = 2 THEN (control >> 22) + 1704067200000 END, control_msg_id, control_action, copy_of
            FROM judged ON CONFLICT (cid, msg_id) DO NOTHING RETURNING cid, msg_id, copy_of),
        come_late AS (
            INSERT INTO late (stamp, cid, msg_id)
            SELECT j.stamp, s.cid, s.msg_id FROM judged j JOIN stored s USING (cid, msg_id)
            WHERE j.stamp > j.msg_id AND coalesce(s.copy_of, 0) = 0),
        traced AS (
            UPDATE revision v SET content = j.content, ext = j.ext FROM judged j
            WHERE j.first IS NOT NULL AND v.cid = j.cid AND v.msg_id = j.msg_id AND v.number = j.first),
        added AS (SELECT cid, count(*) AS added FROM stored WHERE coalesce(copy_of, 0) = 0 GROUP BY cid),
        heads AS (
            UPDATE conversation c SET head_msg_id = greatest(c.head_msg_id, h.msg_id),
                head_seq = greatest(c.head_seq, h.seq), head_countable = greatest(c.head_countable, h.countable),
                cold_look = CASE WHEN h.first <= c.cold_msg_id THEN 0 ELSE c.cold_look END,
                head_epoch = CASE WHEN h.msg_id > c.head_msg_id THEN h.epoch ELSE c.head_epoch END, update_time = greatest(c.update_time, (h.msg_id >> 22) + 1704067200000),
                stored = c.stored + h.added, oldest_msg_id = least(c.oldest_msg_id, h.first), shown_msg_id = greatest(c.shown_msg_id, h.shown)
            FROM (SELECT DISTINCT ON (i.cid) i.cid, i.msg_id, i.seq, i.countable, i.epoch, coalesce(a.added, 0) AS added,
                    max(i.msg_id) FILTER (WHERE i.control_msg_id IS NULL) OVER (PARTITION BY i.cid) AS shown,
                    min(i.msg_id) OVER (PARTITION BY i.cid) AS first
                FROM input i LEFT JOIN added a USING (cid) ORDER BY i.cid, i.msg_id DESC) h
            WHERE c.cid = h.cid),
        owned AS (
            SELECT cid, sender AS user_id, sum(counts) AS sent FROM judged WHERE counts > 0 AND coalesce(action, 2) = 2
            GROUP BY cid, sender),
        read AS (
            SELECT DISTINCT ON (t.cid, t.user_id) t.cid, t.user_id, t.msg_id, t.countable, t.own
            FROM unnest($28::bigint[], $29::bigint[], $30::text[], $31::bigint[], $32::bigint[], $33::bigint[])
                AS t(stamp, cid, user_id, msg_id, countable, own), gate
            WHERE t.stamp > gate.clock ORDER BY t.cid, t.user_id, t.msg_id DESC),
        moved_on AS (
            UPDATE member m SET own = m.own + coalesce(x.sent, 0),
                read_msg_id = greatest(m.read_msg_id, coalesce(x.msg_id, 0)),
                read_countable = CASE WHEN x.msg_id > m.read_msg_id THEN x.countable ELSE m.read_countable END,
                read_own = CASE WHEN x.msg_id > m.read_msg_id THEN x.own ELSE m.read_own END
            FROM (SELECT cid, user_id, sent, msg_id, countable, own FROM owned FULL JOIN read USING (cid, user_id)) x
            WHERE m.cid = x.cid AND m.user_id = x.user_id),
        placed AS (
            INSERT INTO position AS p (cid, user_id, device, msg_id, seq, update_time)
            SELECT DISTINCT ON (t.cid, t.user_id, t.device) t.cid, t.user_id, t.device, t.msg_id,
                CASE WHEN t.seq > 0 THEN t.seq ELSE greatest((SELECT m.seq FROM message m
                    WHERE m.cid = t.cid AND m.msg_id <= t.msg_id ORDER BY m.msg_id DESC LIMIT 1), 0) END,
                $26::bigint
            FROM unnest($19::bigint[], $20::bigint[], $21::bigint[], $22::text[], $23::text[], $24::bigint[])
                AS t(stamp, cid, msg_id, user_id, device, seq), gate
            WHERE t.stamp > gate.clock AND $25::bigint > 0
            ORDER BY t.cid, t.user_id, t.device, t.msg_id DESC
            ON CONFLICT (cid, user_id, device) DO UPDATE SET
                seq = CASE WHEN excluded.msg_id > p.msg_id THEN excluded.seq ELSE p.seq END,
                msg_id = greatest(p.msg_id, excluded.msg_id), update_time = excluded.update_time),
        {users},
        {ADVANCE}
        SELECT {OUTCOME}, (SELECT count(*) FROM stored)
        UNION ALL SELECT msg_id, copy_of, original_seq FROM judged WHERE copy_of > 0"
    )
}

pub(super) fn parameters_of(begin: Vec<Value>, entries: &[Entry], now_ms: u64) -> Vec<Value> {
    let messages: Vec<(MsgId, &Message)> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Message(message) => Some((entry.stamp, message.as_ref())),
            _ => None,
        })
        .collect();
    let positions: Vec<(MsgId, &Position)> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Position(position) => Some((entry.stamp, position)),
            _ => None,
        })
        .collect();
    let mut parameters = begin;
    message_parameters(&mut parameters, &messages);
    position_parameters(&mut parameters, &positions);
    let stamps = messages.iter().map(|(stamp, _)| Some(stamp.to_sql())).collect();
    parameters.extend([Value::from(positions.len() as u64), now_ms.into(), Value::Integers(stamps)]);
    read_parameters(&mut parameters, entries);
    let controls = messages.iter().map(|(_, message)| message.record.control);
    parameters.extend([
        Value::Integers(controls.clone().map(|control| Some(control?.msg_id.to_sql())).collect()),
        Value::Integers(controls.map(|control| Some(control?.action.number())).collect()),
    ]);
    parameters.extend(users::parameters_of(entries));
    parameters
}

/// $28 to $33.
fn read_parameters(parameters: &mut Vec<Value>, entries: &[Entry]) {
    let reads: Vec<(MsgId, &Read)> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Read(read) => Some((entry.stamp, read)),
            _ => None,
        })
        .collect();
    let numbers =
        |number: &dyn Fn(&(MsgId, &Read)) -> Option<i64>| Value::Integers(reads.iter().map(number).collect());
    parameters.extend([
        numbers(&|(stamp, _)| Some(stamp.to_sql())),
        numbers(&|(_, read)| Some(read.cid.to_sql())),
        Value::Texts(reads.iter().map(|(_, read)| Some(read.user.clone())).collect()),
        numbers(&|(_, read)| Some(read.msg_id.to_sql())),
        numbers(&|(_, read)| signed(read.countable)),
        numbers(&|(_, read)| signed(read.own)),
    ]);
}

/// $4 to $18.
fn message_parameters(parameters: &mut Vec<Value>, messages: &[(MsgId, &Message)]) {
    let mut contents = Vec::new();
    let mut prints = Vec::with_capacity(messages.len() * 16);
    let mut starts = Vec::with_capacity(messages.len());
    for (_, message) in messages {
        // SQL counts bytes from 1.
        starts.push(Some(contents.len() as i64 + 1));
        contents.extend_from_slice(message.record.content.as_bytes());
        prints.extend_from_slice(&message.record.fingerprint);
    }
    let numbers = |number: &dyn Fn(&(MsgId, &Message)) -> Option<i64>| {
        Value::Integers(messages.iter().map(number).collect())
    };
    let texts = |text: &dyn Fn(&Message) -> Option<String>| {
        Value::Texts(messages.iter().map(|(_, message)| text(message)).collect())
    };
    parameters.extend([
        numbers(&|(_, message)| Some(message.cid.to_sql())),
        numbers(&|(_, message)| Some(message.msg_id.to_sql())),
        numbers(&|(_, message)| signed(message.seq)),
        numbers(&|(_, message)| signed(message.countable)),
        numbers(&|(_, message)| Some(i64::from(!message.record.silent))),
        numbers(&|(_, message)| Some(message.record.kind.number())),
        numbers(&|(_, message)| message.record.reply_to.map(MsgId::to_sql)),
        Value::Integers(starts),
        numbers(&|(_, message)| Some(message.record.content.len() as i64)),
        texts(&|message| Some(message.record.sender.as_str().to_owned())),
        texts(&|message| Some(message.record.client_msg_id.clone())),
        texts(&|message| message.record.ext.as_ref().map(|ext| Ext::as_str(ext).to_owned())),
        Value::Blob(prints),
        Value::Blob(contents),
        texts(&|message| Some(message.epoch.clone())),
    ]);
}

/// $19 to $24.
fn position_parameters(parameters: &mut Vec<Value>, positions: &[(MsgId, &Position)]) {
    let numbers = |number: &dyn Fn(&(MsgId, &Position)) -> Option<i64>| {
        Value::Integers(positions.iter().map(number).collect())
    };
    let texts = |text: &dyn Fn(&Position) -> &str| {
        Value::Texts(positions.iter().map(|(_, position)| Some(text(position).to_owned())).collect())
    };
    parameters.extend([
        numbers(&|(stamp, _)| Some(stamp.to_sql())),
        numbers(&|(_, position)| Some(position.cid.to_sql())),
        numbers(&|(_, position)| Some(position.msg_id.to_sql())),
        texts(&|position| &position.user),
        texts(&|position| &position.device),
        numbers(&|(_, position)| signed(position.seq)),
    ]);
}
