//! The one statement that changes segments: together with the rows that move into them or out of them.

use super::super::apply::signed;
use crate::cold::{Packed, Stored, is_shown};
use crate::postgres::Postgres;
use crate::sql::Value;
use im_domain::{MsgId, Result};
use im_segment::Record;

/// What is to change in a conversation.
pub(in super::super) struct Replacement<'a> {
    pub cid: MsgId,
    /// The conversation's `cold_version` when all this was found out.
    pub version: u64,
    /// Goes.
    pub old: Option<&'a Stored>,
    /// Come in its place.
    pub new: &'a [Packed],
    /// Rows that go.
    pub taken: Option<Taken>,
    /// Rows that come: they were in `old`.
    pub back: &'a [Record],
    /// It is made because something has expired: unless the conversation is held, or has another retention of its own
    /// by now.
    pub expires: Option<Option<u64>>,
}

/// All rows with ids from `first` to `last`.
#[derive(Clone, Copy)]
pub(in super::super) struct Taken {
    pub first: MsgId,
    pub last: MsgId,
    pub rows: u64,
    /// The sum of the numbers of the transactions that wrote them: with their count it tells whether they are still
    /// those that were read.
    pub stamps: i64,
}

/// Columns of `message`, in the order of what [`crate::cold::record`] takes; each row also needs an `own`, which
/// there is none of here.
pub(in super::super) const COLUMNS: &str = "msg_id, seq, countable, sender, client_msg_id, fingerprint, kind, \
    status, content, reply_to, ext, edit_time, control_msg_id, control_action, copy_of, NULL::bigint AS own";

/// The partition stands still as with a batch of the drain (see [`super::super::apply`]), and nobody else has changed
/// the conversation's segments, whoever else is at it: then rows are what they were, or they are not.
const STATEMENT: &str = "
    WITH locked AS MATERIALIZED (
        SELECT clock FROM partition_state WHERE partition = $1::bigint AND home = 1 FOR UPDATE),
    gate AS MATERIALIZED (
        SELECT l.clock FROM locked l JOIN partition_state s ON s.partition = $1::bigint AND s.clock = l.clock),
    found AS MATERIALIZED (
        SELECT count(*) AS rows, coalesce(sum(m.xmin::text::bigint), 0)::bigint AS stamps
        FROM gate, message m WHERE m.cid = $2::bigint AND m.msg_id BETWEEN $5::bigint AND $6::bigint),
    fit AS MATERIALIZED (
        SELECT c.cid FROM gate CROSS JOIN found f
        JOIN conversation c ON c.cid = $2::bigint AND c.cold_version = $3::bigint
        WHERE f.rows = $7::bigint AND f.stamps = $8::bigint AND ($35::bigint = 0
            OR c.legal_hold = 0 AND c.retention_ms IS NOT DISTINCT FROM $36::bigint) FOR UPDATE OF c),
    taken AS (
        DELETE FROM message m USING fit
        WHERE m.cid = $2::bigint AND m.msg_id BETWEEN $5::bigint AND $6::bigint RETURNING m.copy_of),
    gone AS (
        DELETE FROM segment s USING fit
        WHERE s.cid = $2::bigint AND s.last_id = $4::bigint AND s.last_id <> ALL ($10::bigint[])),
    put AS (
        INSERT INTO segment AS s (cid, first_id, last_id, messages, last_seq, last_countable, kinds, version, blob)
        SELECT $2::bigint, t.first_id, t.last_id, t.messages, t.last_seq, t.last_countable, t.kinds, $3::bigint + 1,
            substring($17::bytea FROM t.start::int FOR t.length::int)
        FROM fit, unnest($9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
            $15::bigint[], $16::bigint[])
            AS t(first_id, last_id, messages, last_seq, last_countable, kinds, start, length)
        ON CONFLICT (cid, last_id) DO UPDATE SET first_id = excluded.first_id, messages = excluded.messages,
            last_seq = excluded.last_seq, last_countable = excluded.last_countable, kinds = excluded.kinds,
            version = excluded.version, blob = excluded.blob),
    back AS (
        INSERT INTO message (cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind, status, content,
            reply_to, ext, edit_time, control_msg_id, control_action, copy_of)
        SELECT $2::bigint, t.msg_id, t.seq, t.countable, t.sender, t.client_msg_id,
            substring($25::bytea FROM (t.ord::int - 1) * 16 + 1 FOR 16), t.kind, t.status,
            substring($28::bytea FROM t.start::int FOR t.length::int), t.reply_to, t.ext, t.edit_time,
            t.control_msg_id, t.control_action,
            CASE WHEN t.copy_of IS NULL AND (EXISTS (SELECT 1 FROM message m WHERE m.cid = $2::bigint
                    AND m.sender = t.sender AND m.client_msg_id = t.client_msg_id AND m.copy_of IS NULL)
                OR row_number() OVER (PARTITION BY t.sender, t.client_msg_id, t.copy_of ORDER BY t.msg_id) > 1)
                THEN 0 ELSE t.copy_of END
        FROM fit, unnest($20::bigint[], $21::bigint[], $22::bigint[], $23::text[], $24::text[], $26::bigint[],
            $27::bigint[], $29::bigint[], $30::text[], $31::bigint[], $32::bigint[], $33::bigint[], $34::bigint[],
            $37::bigint[], $38::bigint[])
            WITH ORDINALITY AS t(msg_id, seq, countable, sender, client_msg_id, kind, status, reply_to, ext,
                edit_time, control_msg_id, control_action, copy_of, start, length, ord)
        ON CONFLICT (cid, msg_id) DO NOTHING),
    counted AS (
        UPDATE conversation c SET cold_version = $3::bigint + 1, cold = greatest(0, c.cold + $18::bigint),
            cold_msg_id = greatest(c.cold_msg_id, (SELECT max(id) FROM unnest($10::bigint[]) AS n(id))),
            stored = c.stored - (SELECT count(*) FROM taken WHERE coalesce(copy_of, 0) = 0) + $19::bigint,
            cold_look = CASE WHEN cardinality($20::bigint[]) > 0 THEN 0 ELSE c.cold_look END,
            oldest_msg_id = CASE WHEN cardinality($20::bigint[]) > 0
                THEN least(c.oldest_msg_id, ($20::bigint[])[1]) ELSE c.oldest_msg_id END
        FROM fit WHERE c.cid = fit.cid)
    SELECT 1 FROM fit";

/// Makes all of the change, or, when something of it is not any more what it was, nothing; tells which.
pub(in super::super) async fn replace<P: Postgres>(db: &P, change: &Replacement<'_>) -> Result<bool> {
    Ok(!db.query(STATEMENT, parameters(change)).await?.is_empty())
}

fn parameters(change: &Replacement<'_>) -> Vec<Value> {
    // No message has such an id.
    let nothing = Taken { first: MsgId::MAX, last: MsgId::NONE, rows: 0, stamps: 0 };
    let taken = change.taken.unwrap_or(nothing);
    let mut parameters = crate::params![
        u64::from(change.cid.partition()),
        change.cid,
        change.version,
        change.old.map(|old| old.last_id).unwrap_or_default(),
        taken.first,
        taken.last,
        taken.rows,
        taken.stamps,
    ];
    parameters.extend(packed_parameters(change.new));
    let came: u64 = change.new.iter().map(|packed| packed.messages).sum();
    let went = change.old.map_or(0, |old| old.messages);
    let shown = change.back.iter().filter(|record| is_shown(record)).count() as u64;
    parameters.extend(crate::params![signed(came).zip(signed(went)).map(|(came, went)| came - went), shown]);
    parameters.extend(back_parameters(change.back));
    parameters.extend(crate::params![change.expires.is_some(), change.expires.flatten()]);
    parameters.extend(content_parameters(change.back));
    parameters
}

/// $9 to $17.
fn packed_parameters(new: &[Packed]) -> Vec<Value> {
    let numbers = |number: &dyn Fn(&Packed) -> Option<i64>| Value::Integers(new.iter().map(number).collect());
    let mut blobs = Vec::new();
    let mut starts = Vec::with_capacity(new.len());
    for packed in new {
        // SQL counts bytes from 1.
        starts.push(signed(blobs.len() as u64 + 1));
        blobs.extend_from_slice(&packed.blob);
    }
    vec![
        numbers(&|packed| Some(packed.first_id.to_sql())),
        numbers(&|packed| Some(packed.last_id.to_sql())),
        numbers(&|packed| signed(packed.messages)),
        numbers(&|packed| signed(packed.last_seq)),
        numbers(&|packed| signed(packed.last_countable)),
        numbers(&|packed| Some(packed.kinds)),
        Value::Integers(starts),
        numbers(&|packed| signed(packed.blob.len() as u64)),
        Value::Blob(blobs),
    ]
}

/// $20 to $34. The oldest comes first.
fn back_parameters(back: &[Record]) -> Vec<Value> {
    let numbers =
        |number: &dyn Fn(&Record) -> Option<i64>| Value::Integers(back.iter().map(number).collect());
    let texts = |text: &dyn Fn(&Record) -> Option<String>| Value::Texts(back.iter().map(text).collect());
    let prints: Vec<u8> = back.iter().flat_map(|record| record.fingerprint).collect();
    vec![
        numbers(&|record| Some(record.msg_id.to_sql())),
        numbers(&|record| signed(record.seq)),
        numbers(&|record| signed(record.countable)),
        texts(&|record| Some(record.sender.clone())),
        texts(&|record| Some(record.client_msg_id.clone())),
        Value::Blob(prints),
        numbers(&|record| Some(i64::from(record.kind))),
        numbers(&|record| Some(i64::from(record.status))),
        Value::Blob(back.iter().flat_map(|record| record.content.iter().copied()).collect()),
        numbers(&|record| record.reply_to.map(MsgId::to_sql)),
        texts(&|record| record.ext.clone()),
        numbers(&|record| record.edit_time.and_then(signed)),
        numbers(&|record| record.control_msg_id.map(MsgId::to_sql)),
        numbers(&|record| record.control_action.map(i64::from)),
        numbers(&|record| record.copy_of.map(MsgId::to_sql)),
    ]
}

/// $37 and $38: where the content of each begins in that of all, and how long it is.
fn content_parameters(back: &[Record]) -> [Value; 2] {
    // SQL counts bytes from 1.
    let mut start = 1;
    let mut starts = Vec::with_capacity(back.len());
    for record in back {
        starts.push(signed(start));
        start += record.content.len() as u64;
    }
    let lengths = back.iter().map(|record| signed(record.content.len() as u64)).collect();
    [Value::Integers(starts), Value::Integers(lengths)]
}
