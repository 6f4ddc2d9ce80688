//! The purge of what has expired. Readers do not see it any more, purged or not.

use super::cold::Cold;
use super::{Embedded, transaction};
use crate::params;
use crate::sql::Row;
use crate::sqlite::Sqlite;
use im_domain::limits::EXPIRE_ROWS_MAX;
use im_domain::{MsgId, Result};

/// Conversations looked at by one statement.
const CONVERSATIONS_PER_STEP: i64 = 1_000;

/// Purges until nothing is left or `is_over` says so; gives the number of messages.
pub(super) fn expire<P: Sqlite>(store: &Embedded<P>, is_over: impl Fn() -> bool) -> Result<u64> {
    let up_to = store.expired_up_to();
    if up_to.is_none() {
        return Ok(0);
    }
    let mut purged = 0;
    let mut first = 0;
    let last = newest_conversation(store)?;
    while first < last && !is_over() {
        for cid in with_expired(store, first, up_to)? {
            while !is_over() {
                match transaction::write(store, || purge_segment(store, cid, up_to))? {
                    0 => break,
                    count => purged += count,
                }
            }
            let mut count = EXPIRE_ROWS_MAX as u64;
            while count == EXPIRE_ROWS_MAX as u64 && !is_over() {
                count = transaction::write(store, || purge(store, cid, up_to))?;
                purged += count;
            }
        }
        first += CONVERSATIONS_PER_STEP;
    }
    Ok(purged)
}

fn newest_conversation<P: Sqlite>(store: &Embedded<P>) -> Result<i64> {
    let mut rows = store.db.execute("SELECT coalesce(max(cid), 0) FROM conversation", Vec::new())?;
    Ok(rows.first_mut().map_or(Ok(0), Row::int)?)
}

/// Conversations after `first`, of one step, in which something has expired.
fn with_expired<P: Sqlite>(store: &Embedded<P>, first: i64, up_to: MsgId) -> Result<Vec<i64>> {
    const STATEMENT: &str = "
        SELECT cid FROM conversation c WHERE cid > ?1 AND cid <= ?2
        AND (EXISTS (SELECT 1 FROM message x WHERE x.cid = c.cid AND x.msg_id <= ?3)
            OR (cold > 0 AND ?3 >= (SELECT (first_id >> 1) + (last_id >> 1) FROM segment s WHERE s.cid = c.cid
                ORDER BY last_id LIMIT 1)))";
    let parameters = params![first, first + CONVERSATIONS_PER_STEP, up_to];
    let rows = store.db.execute(STATEMENT, parameters)?;
    Ok(rows.into_iter().map(|mut row| row.int()).collect::<Result<_, _>>()?)
}

fn purge<P: Sqlite>(store: &Embedded<P>, cid: i64, up_to: MsgId) -> Result<u64> {
    const DELETE: &str = "
        DELETE FROM message WHERE cid = ?1 AND msg_id IN (
            SELECT msg_id FROM message WHERE cid = ?1 AND msg_id <= ?2 ORDER BY msg_id LIMIT ?3)
        RETURNING msg_id, seq, countable";
    let rows = store.db.execute(DELETE, params![cid, up_to, EXPIRE_ROWS_MAX as u64])?;
    let count = rows.len() as u64;
    let mut newest = (MsgId::NONE, 0, 0);
    for mut row in rows {
        newest = newest.max((row.msg_id()?, row.count()?, row.count()?));
    }
    mark(store, cid, newest)?;
    Ok(count)
}

/// Purges the oldest segment of a conversation, once half of it has expired, or all.
fn purge_segment<P: Sqlite>(store: &Embedded<P>, cid: i64, up_to: MsgId) -> Result<u64> {
    let Some((count, last)) = (Cold { store, cid }).purge_first(up_to)? else { return Ok(0) };
    mark(store, cid, (last.msg_id, last.seq, last.countable))?;
    Ok(count)
}

/// Notes the newest message that is purged: its id, `seq` and place among those that count.
fn mark<P: Sqlite>(store: &Embedded<P>, cid: i64, newest: (MsgId, u64, u64)) -> Result<()> {
    // What is gone was purged in order, so none of these is of a message that is kept.
    const REVISIONS: &str = "DELETE FROM revision WHERE cid = ?1 AND msg_id <= ?2";
    const MARK: &str = "
        UPDATE conversation SET purged_msg_id = ?2, purged_seq = ?3, purged_countable = ?4
        WHERE cid = ?1 AND purged_msg_id < ?2";
    let (msg_id, seq, countable) = newest;
    store.db.execute(REVISIONS, params![cid, msg_id])?;
    store.db.execute(MARK, params![cid, msg_id, seq, countable])?;
    Ok(())
}
