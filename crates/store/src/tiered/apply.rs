//! Storing entries of a log in SQL: each call one statement, which is one transaction.
//!
//! Every statement first locks the partition's row and takes only entries above the stamp up to which SQL
//! has them; at its end it moves that stamp on. So a statement that is repeated, or two that race, apply
//! each entry once and in order, whoever holds the lease. A statement sees the database as it was when
//! it began; when the row has moved on since, it applies nothing and says so.

use super::Tiered;
use super::entry::{Body, Change, Entry, Made, Message, Position};
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::{Row, SqlError, Value};
use im_domain::ext::Ext;
use im_domain::{MsgId, UserId};

/// Locks the partition ($1), if this database has it, and gives its stamp, unless that has moved on
/// meanwhile. The commit is
/// flushed to disk whatever the database's default is.
const GATE: &str = "
    durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true) AS is_on),
    locked AS MATERIALIZED (
        SELECT clock FROM partition_state WHERE partition = $1::bigint AND home = 1 FOR UPDATE),
    gate AS MATERIALIZED (
        SELECT l.clock FROM locked l JOIN partition_state s ON s.partition = $1::bigint AND s.clock = l.clock
        CROSS JOIN durable)";

/// Moves the partition's stamp on to $2.
const ADVANCE: &str = "
    moved AS (UPDATE partition_state s SET clock = $2::bigint FROM gate g
        WHERE s.partition = $1::bigint AND g.clock < $2::bigint)";

/// Whether the partition is here, and whether the gate was open.
const OUTCOME: &str = "(SELECT count(*) FROM locked), (SELECT count(*) FROM gate)";

/// What a statement did.
pub(super) enum Applied {
    /// Messages stored, and those that repeat an earlier one.
    Done { messages: u64, repeated: Vec<Repeated> },
    /// Somebody else is at this partition.
    Raced,
    /// Another database has the partition.
    Moved,
}

/// A message whose clientMsgId stood for the same message before: it is not shown.
pub(super) struct Repeated {
    pub msg_id: MsgId,
    pub first: MsgId,
    pub first_seq: u64,
}

/// Stores entries of one class; there is at least one.
pub(super) async fn apply<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    partition: u8,
    entries: &[Entry],
) -> Result<Applied, SqlError> {
    let db = store.database(database).map_err(|error| SqlError::Failed(error.to_string()))?;
    let last = entries.last().map_or(MsgId::NONE, |entry| entry.stamp);
    let begin = vec![Value::from(u64::from(partition)), last.into()];
    let (statement, parameters) = match entries {
        [Entry { body: Body::Members(change), place, .. }] => {
            (members_statement(), members_parameters(begin, place.tenant(), change))
        }
        [Entry { body: Body::Alias(target), place, .. }] => {
            let mut parameters = begin;
            parameters.extend([place.tenant().into(), place.conversation().into(), target.as_str().into()]);
            (alias_statement(), parameters)
        }
        [Entry { body: Body::Conversation(_), .. }, ..] => {
            (conversations_statement(), conversations_parameters(begin, entries))
        }
        _ => (rows_statement(), rows_parameters(begin, entries, store.now_ms())),
    };
    outcome(db.query(&statement, parameters).await?)
}

fn outcome(rows: Vec<Row>) -> Result<Applied, SqlError> {
    let mut rows = rows.into_iter();
    let mut first = rows.next().ok_or_else(|| SqlError::Failed("a batch gave no outcome".to_owned()))?;
    if first.count()? == 0 {
        return Ok(Applied::Moved);
    }
    if first.count()? == 0 {
        return Ok(Applied::Raced);
    }
    let messages = first.count()?;
    let repeated =
        |mut row: Row| Ok(Repeated { msg_id: row.msg_id()?, first: row.msg_id()?, first_seq: row.count()? });
    Ok(Applied::Done { messages, repeated: rows.map(repeated).collect::<Result<_, SqlError>>()? })
}

/// Messages and positions. A position that was moved to a message which was not hot comes without its
/// `seq`: that message is in SQL. A clientMsgId that is taken, in SQL or by an earlier row of the batch, makes
/// the later message a copy: of that message when the two are the same, otherwise one that is shown.
/// A position that was taken where no message is hot any more gets its `seq` here.
fn rows_statement() -> String {
    format!(
        "WITH {GATE},
        input AS MATERIALIZED (
            SELECT t.*, substring($15::bytea FROM (t.ord::int - 1) * 16 + 1 FOR 16) AS fingerprint,
                substring($16::bytea FROM t.start::int FOR t.length::int) AS content
            FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $17::text[],
                $26::bigint[])
                WITH ORDINALITY AS t(cid, msg_id, seq, countable, counts, kind, reply_to, start, length,
                    sender, client_msg_id, ext, epoch, stamp, ord), gate
            WHERE t.stamp > gate.clock),
        ranked AS (
            SELECT i.*, first_value(msg_id) OVER w AS first_id, first_value(seq) OVER w AS first_seq,
                first_value(fingerprint) OVER w AS first_print
            FROM input i WINDOW w AS (PARTITION BY cid, sender, client_msg_id ORDER BY msg_id)),
        judged AS MATERIALIZED (
            SELECT r.*, coalesce(e.seq, r.first_seq) AS original_seq,
                CASE WHEN e.msg_id IS NULL AND r.first_id = r.msg_id THEN NULL
                    WHEN coalesce(e.fingerprint, r.first_print) = r.fingerprint
                        THEN coalesce(e.msg_id, r.first_id) ELSE 0 END AS copy_of
            FROM ranked r LEFT JOIN LATERAL (
                SELECT m.msg_id, m.seq, m.fingerprint FROM message m
                WHERE m.cid = r.cid AND m.sender = r.sender AND m.client_msg_id = r.client_msg_id
                    AND m.copy_of IS NULL LIMIT 1) e ON true),
        stored AS (
            INSERT INTO message (cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind, content,
                reply_to, ext, copy_of)
            SELECT cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind,
                CASE WHEN copy_of > 0 THEN ''::bytea ELSE content END, reply_to,
                CASE WHEN copy_of > 0 THEN NULL ELSE ext END, copy_of
            FROM judged ON CONFLICT (cid, msg_id) DO NOTHING RETURNING cid, copy_of),
        heads AS (
            UPDATE conversation c SET head_msg_id = greatest(c.head_msg_id, h.msg_id),
                head_seq = greatest(c.head_seq, h.seq), head_countable = greatest(c.head_countable, h.countable),
                head_epoch = CASE WHEN h.msg_id > c.head_msg_id THEN h.epoch ELSE c.head_epoch END, update_time = greatest(c.update_time, (h.msg_id >> 22) + 1704067200000),
                stored = c.stored + (SELECT count(*) FROM stored s WHERE s.cid = c.cid AND coalesce(s.copy_of, 0) = 0)
            FROM (SELECT DISTINCT ON (cid) cid, msg_id, seq, countable, epoch FROM input
                ORDER BY cid, msg_id DESC) h
            WHERE c.cid = h.cid),
        owned AS (
            UPDATE member m SET own = m.own + o.sent
            FROM (SELECT cid, sender, sum(counts) AS sent FROM input WHERE counts > 0 GROUP BY cid, sender) o
            WHERE m.cid = o.cid AND m.user_id = o.sender),
        placed AS (
            INSERT INTO position AS p (cid, user_id, device, msg_id, seq, update_time)
            SELECT DISTINCT ON (t.cid, t.user_id, t.device) t.cid, t.user_id, t.device, t.msg_id,
                CASE WHEN t.seq > 0 THEN t.seq ELSE coalesce((SELECT m.seq FROM message m
                    WHERE m.cid = t.cid AND m.msg_id <= t.msg_id ORDER BY m.msg_id DESC LIMIT 1), 0) END,
                $25::bigint
            FROM unnest($18::bigint[], $19::bigint[], $20::bigint[], $21::text[], $22::text[], $23::bigint[])
                AS t(stamp, cid, msg_id, user_id, device, seq), gate
            WHERE t.stamp > gate.clock AND $24::bigint > 0
            ORDER BY t.cid, t.user_id, t.device, t.msg_id DESC
            ON CONFLICT (cid, user_id, device) DO UPDATE SET
                seq = CASE WHEN excluded.msg_id > p.msg_id THEN excluded.seq ELSE p.seq END,
                msg_id = greatest(p.msg_id, excluded.msg_id), update_time = excluded.update_time),
        {ADVANCE}
        SELECT {OUTCOME}, (SELECT count(*) FROM stored)
        UNION ALL SELECT msg_id, copy_of, original_seq FROM judged WHERE copy_of > 0"
    )
}

fn rows_parameters(begin: Vec<Value>, entries: &[Entry], now_ms: u64) -> Vec<Value> {
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
    parameters
}

/// $3 to $17.
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

/// $18 to $23.
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

fn conversations_statement() -> String {
    format!(
        "WITH {GATE},
        made AS (
            INSERT INTO conversation (cid, tenant, name, kind, history, member_count, create_time, update_time)
            SELECT t.cid, t.tenant, t.name, t.kind, t.history, t.members, (t.cid >> 22) + 1704067200000,
                (t.cid >> 22) + 1704067200000
            FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
                $12::bigint[]) AS t(cid, tenant, name, kind, history, members, stamp), gate
            WHERE t.stamp > gate.clock RETURNING cid, tenant),
        joined AS (
            INSERT INTO member (cid, user_id, tenant, role)
            SELECT t.cid, t.user_id, made.tenant, t.role
            FROM unnest($9::bigint[], $10::text[], $11::bigint[]) AS t(cid, user_id, role) JOIN made USING (cid)),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

fn conversations_parameters(begin: Vec<Value>, entries: &[Entry]) -> Vec<Value> {
    let made: Vec<(&Entry, &Made)> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Conversation(made) => Some((entry, made)),
            _ => None,
        })
        .collect();
    let numbers =
        |number: &dyn Fn(&(&Entry, &Made)) -> Option<i64>| Value::Integers(made.iter().map(number).collect());
    let texts = |text: &dyn Fn(&Entry) -> &str| {
        Value::Texts(made.iter().map(|(entry, _)| Some(text(entry).to_owned())).collect())
    };
    let members: Vec<(MsgId, &UserId, u64)> = made
        .iter()
        .flat_map(|(_, made)| made.members.iter().map(|(user, role)| (made.cid, user, *role)))
        .collect();
    let mut parameters = begin;
    parameters.extend([
        numbers(&|(_, made)| Some(made.cid.to_sql())),
        texts(&|entry| entry.place.tenant()),
        texts(&|entry| entry.place.conversation()),
        numbers(&|(_, made)| signed(made.kind)),
        numbers(&|(_, made)| signed(made.history)),
        numbers(&|(_, made)| signed(made.members.len() as u64)),
        Value::Integers(members.iter().map(|(cid, ..)| Some(cid.to_sql())).collect()),
        Value::Texts(members.iter().map(|(_, user, _)| Some(user.as_str().to_owned())).collect()),
        Value::Integers(members.iter().map(|(.., role)| signed(*role)).collect()),
        numbers(&|(entry, _)| Some(entry.stamp.to_sql())),
    ]);
    parameters
}

/// Removes before it adds: who leaves and joins again by one change is not in it (see `Change`).
fn members_statement() -> String {
    format!(
        "WITH {GATE},
        target AS MATERIALIZED (
            SELECT c.cid FROM conversation c, gate WHERE c.cid = $3::bigint AND $2::bigint > gate.clock),
        gone AS (DELETE FROM member m USING target t WHERE m.cid = t.cid AND m.user_id = ANY ($7::text[])),
        come AS (
            INSERT INTO member (cid, user_id, tenant, role, floor, read_msg_id, read_countable)
            SELECT t.cid, j.user_id, $6::text, j.role, j.floor, j.floor, j.countable
            FROM unnest($8::text[], $9::bigint[], $10::bigint[], $11::bigint[]) AS j(user_id, role, floor, countable),
                target t
            ON CONFLICT (cid, user_id) DO NOTHING),
        ranked AS (
            UPDATE member m SET role = r.role
            FROM unnest($12::text[], $13::bigint[]) AS r(user_id, role), target t
            WHERE m.cid = t.cid AND m.user_id = r.user_id),
        counted AS (
            UPDATE conversation c SET member_count = $4::bigint, update_time = greatest(update_time, $5::bigint)
            FROM target t WHERE c.cid = t.cid),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

fn members_parameters(begin: Vec<Value>, tenant: &str, change: &Change) -> Vec<Value> {
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
    ]);
    parameters
}

fn alias_statement() -> String {
    format!(
        "WITH {GATE},
        named AS (
            INSERT INTO alias (tenant, name, target, partition)
            SELECT $3::text, $4::text, $5::text, $1::bigint FROM gate WHERE gate.clock < $2::bigint
            ON CONFLICT DO NOTHING),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

fn signed(number: u64) -> Option<i64> {
    Some(i64::try_from(number).unwrap_or(i64::MAX))
}
