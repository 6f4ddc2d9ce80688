//! Messages out of SQL, as their reader sees them.

use super::retention::expired_up_to;
use crate::message_row::{quote_of, read};
use crate::params;
use crate::postgres::Postgres;
use crate::sql::{Row, Value};
use im_domain::message::{Message, Quote, QuoteStatus, SUMMARY_BYTES};
use im_domain::page::{Direction, Range};
use im_domain::{MsgId, Result};
use std::collections::{BTreeSet, HashMap};

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

/// The messages of a range that lie below the hot ones.
pub(super) async fn range<P: Postgres>(
    db: &P,
    Sight { cid, floor, user }: Sight<'_>,
    range: &Range,
) -> Result<Vec<Message>> {
    let order = match range.direction {
        Direction::Up => "DESC",
        Direction::Down => "ASC",
    };
    let statement = format!(
        "SELECT {} FROM ({}) x {} ORDER BY x.msg_id {order}",
        columns(),
        found(range, order),
        quoted("$5::bigint", "$6::text")
    );
    let limit = u64::from(range.limit) + 1;
    let mut parameters = params![cid, range.above.max(floor), range.below, limit, floor, user];
    if !range.kinds.is_empty() {
        parameters.push(Value::Integers(range.kinds.iter().map(|kind| Some(kind.number())).collect()));
    }
    let rows = db.query(&statement, parameters).await?;
    rows.into_iter().map(|mut row| read(&mut row)).collect()
}

/// Of several types each is read by its own range of the index, so that a rare type costs no scan.
fn found(range: &Range, order: &str) -> String {
    let one = |filter: &str| {
        format!(
            "SELECT * FROM message m WHERE cid = $1::bigint AND msg_id > $2::bigint AND msg_id < $3::bigint
            AND {SHOWN} AND NOT {} {filter} ORDER BY msg_id {order} LIMIT $4::bigint",
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
pub(super) async fn by_id<P: Postgres>(
    db: &P,
    Sight { cid, floor, user }: Sight<'_>,
    ids: &[MsgId],
) -> Result<Vec<Message>> {
    let statement = format!(
        "SELECT {} FROM message x {} WHERE x.cid = $1::bigint AND x.msg_id = ANY ($2::bigint[])
        AND x.msg_id > $3::bigint AND {SHOWN} AND NOT {}",
        columns(),
        quoted("$3::bigint", "$4::text"),
        is_hidden("x", "$4::text")
    );
    let rows = db.query(&statement, vec![cid.into(), list(ids), floor.into(), user.into()]).await?;
    rows.into_iter().map(|mut row| read(&mut row)).collect()
}

/// Messages of several conversations of a tenant, each by the conversation's number and its own, as far as they are in
/// SQL and have not expired; each with its conversation's number. `times`: the tenant's. Nothing is hidden from the reader.
pub(super) async fn by_keys<P: Postgres>(
    db: &P,
    keys: &BTreeSet<(MsgId, MsgId)>,
    times: Value,
) -> Result<Vec<(MsgId, Message)>> {
    let expired = expired_up_to("$3");
    let statement = format!(
        "SELECT x.cid, {} FROM unnest($1::bigint[], $2::bigint[]) AS k(cid, id)
        JOIN message x ON x.cid = k.cid AND x.msg_id = k.id
        JOIN conversation c ON c.cid = x.cid {}
        WHERE x.msg_id > {expired} AND {SHOWN}",
        columns(),
        quoted(&expired, "''")
    );
    let (cids, ids): (Vec<_>, Vec<_>) = keys.iter().copied().unzip();
    let rows = db.query(&statement, vec![list(&cids), list(&ids), times]).await?;
    rows.into_iter().map(|mut row| Ok((row.msg_id()?, read(&mut row)?))).collect()
}

/// Quotes of messages that are in SQL and above `floor`; a missing one is gone.
pub(super) async fn quotes<P: Postgres>(
    db: &P,
    Sight { cid, floor, user }: Sight<'_>,
    ids: &[MsgId],
) -> Result<HashMap<MsgId, Quote>> {
    let statement = format!(
        "SELECT msg_id, sender, {},
            CASE WHEN status = 0 THEN substring(content FROM 1 FOR {SUMMARY_BYTES}) END
        FROM message m WHERE cid = $1::bigint AND msg_id = ANY ($2::bigint[]) AND msg_id > $3::bigint
        AND {SHOWN}",
        status_for("$4::text")
    );
    let rows = db.query(&statement, vec![cid.into(), list(ids), floor.into(), user.into()]).await?;
    let quote = |mut row: Row| {
        let msg_id = row.msg_id()?;
        Ok((msg_id, quote_of(&mut row, msg_id)?))
    };
    rows.into_iter().map(quote).collect()
}

/// `seq` of the newest message up to `id`, expired or not; none when there is none.
pub(super) async fn seq_at<P: Postgres>(db: &P, cid: MsgId, id: MsgId) -> Result<Option<u64>> {
    const STATEMENT: &str = "
        SELECT seq FROM message WHERE cid = $1::bigint AND msg_id <= $2::bigint ORDER BY msg_id DESC LIMIT 1";
    let mut rows = db.query(STATEMENT, params![cid, id]).await?;
    Ok(rows.first_mut().map(Row::count).transpose()?)
}

/// `seq` of the oldest message after `id`; none when there is none.
pub(super) async fn seq_after<P: Postgres>(db: &P, cid: MsgId, id: MsgId) -> Result<Option<u64>> {
    const STATEMENT: &str = "
        SELECT seq FROM message WHERE cid = $1::bigint AND msg_id > $2::bigint ORDER BY msg_id LIMIT 1";
    let mut rows = db.query(STATEMENT, params![cid, id]).await?;
    Ok(rows.first_mut().map(Row::count).transpose()?)
}

/// Ids as an array.
pub(super) fn list(ids: &[MsgId]) -> Value {
    Value::Integers(ids.iter().map(|id| Some(id.to_sql())).collect())
}
