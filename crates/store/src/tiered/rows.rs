//! Messages out of SQL, as their reader sees them.

mod by_keys;

pub(super) use by_keys::by_keys;

use super::cold::Cold;
use crate::cold::{after, message};
use crate::message_row::{quote_of, read};
use crate::params;
use crate::postgres::Postgres;
use crate::sql::{Row, Value};
use im_domain::message::{Message, Quote, QuoteStatus, SUMMARY_BYTES};
use im_domain::page::{Direction, Range};
use im_domain::{MsgId, Result};
use std::collections::HashMap;

/// Rows that readers see: repeated ones are left out.
pub(super) const SHOWN: &str = "coalesce(copy_of, 0) = 0";

/// Whether a message `m` is hidden from a user.
pub(super) fn is_hidden(m: &str, user: &str) -> String {
    format!("EXISTS (SELECT 1 FROM hidden WHERE cid = {m}.cid AND user_id = {user} AND msg_id = {m}.msg_id)")
}

/// The columns of a message `x` and of the message it quotes, `q`, with the content left out where the
/// status says so. [`crate::message_row`] takes them.
fn columns() -> String {
    format!(
        "x.msg_id, x.seq, x.sender, x.kind, CASE WHEN x.status = 0 THEN x.content ELSE ''::bytea END,
        x.client_msg_id, x.status, x.edit_time, CASE WHEN x.status = 0 THEN x.ext END, x.control_msg_id,
        x.control_action, x.reply_to, q.sender, q.status,
        CASE WHEN q.status = 0 THEN substring(q.content FROM 1 FOR {SUMMARY_BYTES}) END"
    )
}

/// Joins the quoted message `q` of `x`; one up to `floor` is not shown.
fn quoted(floor: &str, user: &str) -> String {
    format!(
        "LEFT JOIN LATERAL (SELECT sender, {} AS status, content FROM message m
            WHERE cid = x.cid AND msg_id = x.reply_to AND msg_id > {floor} AND {SHOWN} LIMIT 1) q ON true",
        status_for(user)
    )
}

/// The status of a quoted message `m` as a user sees it: one that is hidden is as if it were deleted.
fn status_for(user: &str) -> String {
    format!(
        "CASE WHEN {} THEN {}::smallint ELSE status END",
        is_hidden("m", user),
        QuoteStatus::Deleted.number()
    )
}

/// A conversation, as one of its readers may see it, or nobody in particular.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    pub cid: MsgId,
    /// Up to it nothing is shown.
    pub floor: MsgId,
    /// "": nothing is hidden from the reader.
    pub user: &'a str,
}

/// The messages of a range that lie below the hot ones. Those of the cold part take further statements.
pub(super) async fn range<P: Postgres>(db: &P, sight: Sight<'_>, range: &Range) -> Result<Vec<Message>> {
    let wanted = range.limit as usize + 1;
    let (end, mut messages) = above_cold(db, sight, range).await?;
    let mut below = range.clone();
    below.above = range.above.max(sight.floor);
    below.below = range.below.min(after(end));
    let is_up = range.direction == Direction::Up;
    if after(below.above) < below.below && (!is_up || messages.len() < wanted) {
        let found = Cold { db, cid: sight.cid }.range(&below, sight.user).await?;
        let mut found = found.into_iter().map(message).collect::<Result<Vec<_>>>()?;
        let (first, second) = if is_up { (&mut messages, &mut found) } else { (&mut found, &mut messages) };
        first.append(second);
        messages = std::mem::take(first);
        messages.truncate(wanted);
    }
    fill_quotes(db, sight, end, &mut messages).await?;
    Ok(messages)
}

/// Those of a range that lie above the cold part, and where that ends.
async fn above_cold<P: Postgres>(
    db: &P,
    Sight { cid, floor, user }: Sight<'_>,
    range: &Range,
) -> Result<(MsgId, Vec<Message>)> {
    let order = match range.direction {
        Direction::Up => "DESC",
        Direction::Down => "ASC",
    };
    let statement = format!(
        "SELECT c.cold_msg_id, (x.msg_id IS NOT NULL)::int, {}
        FROM (SELECT cold_msg_id FROM conversation WHERE cid = $1::bigint) c
        LEFT JOIN LATERAL ({}) x ON true {} ORDER BY x.msg_id {order}",
        columns(),
        found(range, order),
        quoted("$5::bigint", "$6::text")
    );
    let limit = u64::from(range.limit) + 1;
    let mut parameters = params![cid, range.above.max(floor), range.below, limit, floor, user];
    if !range.kinds.is_empty() {
        parameters.push(Value::Integers(range.kinds.iter().map(|kind| Some(kind.number())).collect()));
    }
    with_cold(db.query(&statement, parameters).await?)
}

/// Reads rows that begin with the end of the cold part and with whether there is a message.
fn with_cold(rows: Vec<Row>) -> Result<(MsgId, Vec<Message>)> {
    let (mut cold, mut messages) = (MsgId::NONE, Vec::with_capacity(rows.len()));
    for mut row in rows {
        cold = row.msg_id()?;
        if row.flag()? {
            messages.push(read(&mut row)?);
        }
    }
    Ok((cold, messages))
}

/// Looks up quotes that no row has, in the cold part.
async fn fill_quotes<P: Postgres>(
    db: &P,
    sight: Sight<'_>,
    end: MsgId,
    messages: &mut [Message],
) -> Result<()> {
    let is_open = |quote: &Quote| quote.sender.is_none() && quote.msg_id > sight.floor && quote.msg_id <= end;
    let open = messages.iter().filter_map(|message| message.reply_to.as_ref()).filter(|quote| is_open(quote));
    let ids: Vec<MsgId> = open.map(|quote| quote.msg_id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let found = Cold { db, cid: sight.cid }.quotes(&ids, sight).await?;
    for quote in messages.iter_mut().filter_map(|message| message.reply_to.as_mut()) {
        if let Some(cold) = found.get(&quote.msg_id) {
            *quote = cold.clone();
        }
    }
    Ok(())
}

/// Of several types each is read by its own range of the index, so that a rare type costs no scan.
fn found(range: &Range, order: &str) -> String {
    let one = |filter: &str| {
        format!(
            "SELECT * FROM message m WHERE cid = $1::bigint AND msg_id > greatest($2::bigint, c.cold_msg_id)
            AND msg_id < $3::bigint AND {SHOWN} AND NOT {} {filter} ORDER BY msg_id {order} LIMIT $4::bigint",
            is_hidden("m", "$6::text")
        )
    };
    if range.kinds.is_empty() {
        return one("");
    }
    format!(
        "SELECT m.* FROM unnest($7::bigint[]) AS k(kind) CROSS JOIN LATERAL ({}) m
        ORDER BY m.msg_id {order} LIMIT $4::bigint",
        one("AND kind = k.kind")
    )
}

/// Messages by id, as far as they are in SQL and above `floor`.
pub(super) async fn by_id<P: Postgres>(db: &P, sight: Sight<'_>, ids: &[MsgId]) -> Result<Vec<Message>> {
    let Sight { cid, floor, user } = sight;
    let statement = format!(
        "SELECT c.cold_msg_id, (x.msg_id IS NOT NULL)::int, {}
        FROM (SELECT cold_msg_id FROM conversation WHERE cid = $1::bigint) c
        LEFT JOIN message x ON x.cid = $1::bigint AND x.msg_id = ANY ($2::bigint[]) AND x.msg_id > $3::bigint
            AND {SHOWN} AND NOT {} {}",
        columns(),
        is_hidden("x", "$4::text"),
        quoted("$3::bigint", "$4::text")
    );
    let parameters = vec![cid.into(), list(ids), floor.into(), user.into()];
    let (end, mut messages) = with_cold(db.query(&statement, parameters).await?)?;
    let is_missing = |id: &MsgId| !messages.iter().any(|message| message.msg_id == *id);
    let missing: Vec<MsgId> = ids.iter().copied().filter(|id| *id <= end && is_missing(id)).collect();
    if !missing.is_empty() {
        messages.extend(Cold { db, cid }.messages(&missing, sight).await?);
    }
    fill_quotes(db, sight, end, &mut messages).await?;
    Ok(messages)
}

/// Quotes of messages that are in SQL and above `floor`; a missing one is gone.
pub(super) async fn quotes<P: Postgres>(
    db: &P,
    sight: Sight<'_>,
    ids: &[MsgId],
) -> Result<HashMap<MsgId, Quote>> {
    let Sight { cid, floor, user } = sight;
    let statement = format!(
        "SELECT c.cold_msg_id, x.msg_id, x.sender, x.status,
            CASE WHEN x.normal THEN substring(x.content FROM 1 FOR {SUMMARY_BYTES}) END
        FROM (SELECT cold_msg_id FROM conversation WHERE cid = $1::bigint) c
        LEFT JOIN LATERAL (SELECT msg_id, sender, {} AS status, status = 0 AS normal, content FROM message m
            WHERE cid = $1::bigint AND msg_id = ANY ($2::bigint[]) AND msg_id > $3::bigint AND {SHOWN}) x ON true",
        status_for("$4::text")
    );
    let parameters = vec![cid.into(), list(ids), floor.into(), user.into()];
    let (mut end, mut found) = (MsgId::NONE, HashMap::new());
    for mut row in db.query(&statement, parameters).await? {
        end = row.msg_id()?;
        if let Some(msg_id) = row.opt_msg_id()? {
            found.insert(msg_id, quote_of(&mut row, msg_id)?);
        }
    }
    let is_missing = |id: &MsgId| *id <= end && *id > floor && !found.contains_key(id);
    let missing: Vec<MsgId> = ids.iter().copied().filter(is_missing).collect();
    if !missing.is_empty() {
        found.extend(Cold { db, cid }.quotes(&missing, sight).await?);
    }
    Ok(found)
}

/// `seq` of the newest message up to `id`, expired or not; none when there is none.
pub(super) async fn seq_at<P: Postgres>(db: &P, cid: MsgId, id: MsgId) -> Result<Option<u64>> {
    const STATEMENT: &str = "
        SELECT c.cold_msg_id, m.seq FROM conversation c LEFT JOIN LATERAL (
            SELECT seq FROM message WHERE cid = c.cid AND msg_id <= $2::bigint AND msg_id > c.cold_msg_id
            ORDER BY msg_id DESC LIMIT 1) m ON true
        WHERE c.cid = $1::bigint";
    let mut rows = db.query(STATEMENT, params![cid, id]).await?;
    let Some(row) = rows.first_mut() else { return Ok(None) };
    let (cold, seq) = (row.msg_id()?, row.opt_int()?.map(i64::unsigned_abs));
    if seq.is_some() || cold.is_none() {
        return Ok(seq);
    }
    Ok(Cold { db, cid }.newest_up_to(id.min(cold)).await?.map(|record| record.seq))
}

/// `seq` of the oldest message after `id`; none when there is none.
pub(super) async fn seq_after<P: Postgres>(db: &P, cid: MsgId, id: MsgId) -> Result<Option<u64>> {
    const STATEMENT: &str = "
        SELECT c.cold_msg_id, m.seq FROM conversation c LEFT JOIN LATERAL (
            SELECT seq FROM message WHERE cid = c.cid AND msg_id > $2::bigint ORDER BY msg_id LIMIT 1) m ON true
        WHERE c.cid = $1::bigint";
    let mut rows = db.query(STATEMENT, params![cid, id]).await?;
    let Some(row) = rows.first_mut() else { return Ok(None) };
    let (end, seq) = (row.msg_id()?, row.opt_int()?.map(i64::unsigned_abs));
    match id < end {
        true => Ok(Cold { db, cid }.oldest(id, MsgId::MAX).await?.map(|record| record.seq)),
        false => Ok(seq),
    }
}

/// Ids as an array.
pub(super) fn list(ids: &[MsgId]) -> Value {
    Value::Integers(ids.iter().map(|id| Some(id.to_sql())).collect())
}
