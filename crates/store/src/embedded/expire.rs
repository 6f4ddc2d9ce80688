//! The purge of what has expired. Readers do not see it any more, purged or not.
//!
//! What messages were before goes with them, and stays as a trace of who has revised what and when. Each step is a
//! transaction of its own; killed anywhere, the next run goes on, as a conversation is let be only when all is done.

use super::cold::Cold;
use super::{Embedded, transaction};
use crate::expiry::{Candidate, Scan, Spot};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::limits::{EXPIRE_CONVERSATIONS_MAX, EXPIRE_ROWS_MAX};
use im_domain::{MsgId, Result};

/// Purges until nothing is left or `is_over` says so; gives the number of messages.
pub(super) fn expire<P: Sqlite>(store: &Embedded<P>, is_over: impl Fn() -> bool) -> Result<u64> {
    let now_ms = store.now_ms();
    let mut purged = 0;
    for scan in Scan::all(&store.environment.retention, now_ms) {
        for (after, last) in scan.parts((store.environment.random)()) {
            purged += walk(store, &scan, after, last, now_ms, &is_over)?;
        }
    }
    Ok(purged)
}

/// Purges conversations after a spot, up to a key.
fn walk<P: Sqlite>(
    store: &Embedded<P>,
    scan: &Scan,
    mut after: Spot,
    last: i64,
    now_ms: u64,
    is_over: &impl Fn() -> bool,
) -> Result<u64> {
    let statement = scan.statement("", "", |number| format!("?{number}"));
    let mut purged = 0;
    while !is_over() {
        let rows = store.db.execute(&statement, Scan::parameters(after, last, EXPIRE_CONVERSATIONS_MAX))?;
        let is_last = rows.len() < EXPIRE_CONVERSATIONS_MAX;
        for mut row in rows {
            let candidate = Candidate::read(&mut row)?;
            after = candidate.spot;
            purged += purge_all(store, &candidate, now_ms, is_over)?;
        }
        if is_last {
            break;
        }
    }
    Ok(purged)
}

fn purge_all<P: Sqlite>(
    store: &Embedded<P>,
    candidate: &Candidate,
    now_ms: u64,
    is_over: &impl Fn() -> bool,
) -> Result<u64> {
    let up_to = candidate.expired_up_to(&store.environment.retention, now_ms);
    let mut purged = 0;
    while up_to >= candidate.oldest && !is_over() {
        let (count, is_done) = transaction::write(store, || purge(store, candidate, up_to))?;
        purged += count;
        if is_done {
            break;
        }
    }
    Ok(purged)
}

/// One step: how many messages have gone, and whether nothing is left to do.
fn purge<P: Sqlite>(store: &Embedded<P>, candidate: &Candidate, up_to: MsgId) -> Result<(u64, bool)> {
    // It may have been changed meanwhile.
    const IS_AS_IT_WAS: &str =
        "SELECT 1 FROM conversation WHERE cid = ?1 AND legal_hold = 0 AND retention_ms IS ?2";
    let cid = candidate.cid;
    if store.db.execute(IS_AS_IT_WAS, params![cid, candidate.retention_ms])?.is_empty() {
        return Ok((0, true));
    }
    // Segments are older than rows.
    let count = match purge_segment(store, cid, up_to)? {
        0 => purge_messages(store, cid, up_to)?,
        count => return Ok((count, false)),
    };
    let is_done = count < EXPIRE_ROWS_MAX as u64 && purge_trace(store, cid, up_to)?;
    if is_done {
        // A segment is purged once half of its time has expired.
        let next = "
            UPDATE conversation SET oldest_msg_id = coalesce(
                (SELECT (first_id >> 1) + (last_id >> 1) FROM segment WHERE cid = ?1 ORDER BY last_id LIMIT 1),
                (SELECT min(msg_id) FROM message WHERE cid = ?1))
            WHERE cid = ?1";
        store.db.execute(next, params![cid])?;
    }
    Ok((count, is_done))
}

fn purge_messages<P: Sqlite>(store: &Embedded<P>, cid: i64, up_to: MsgId) -> Result<u64> {
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

/// Purges what has expired of the oldest segment of a conversation, once that is half of its time.
fn purge_segment<P: Sqlite>(store: &Embedded<P>, cid: i64, up_to: MsgId) -> Result<u64> {
    let Some((count, last)) = (Cold { store, cid }).purge_first(up_to)? else { return Ok(0) };
    mark(store, cid, (last.msg_id, last.seq, last.countable))?;
    Ok(count)
}

/// Notes the newest message that is purged: its id, `seq` and place among those that count.
fn mark<P: Sqlite>(store: &Embedded<P>, cid: i64, newest: (MsgId, u64, u64)) -> Result<()> {
    // What is gone was purged in order, so none of these is of a message that is kept.
    const HIDDEN: &str = "DELETE FROM hidden WHERE cid = ?1 AND msg_id <= ?2";
    const LATE: &str = "DELETE FROM late WHERE cid = ?1 AND msg_id <= ?2";
    const MARK: &str = "
        UPDATE conversation SET purged_msg_id = ?2, purged_seq = ?3, purged_countable = ?4
        WHERE cid = ?1 AND purged_msg_id < ?2";
    let (msg_id, seq, countable) = newest;
    store.db.execute(HIDDEN, params![cid, msg_id])?;
    store.db.execute(LATE, params![cid, msg_id])?;
    store.db.execute(MARK, params![cid, msg_id, seq, countable])?;
    Ok(())
}

/// Takes what they were before from the trace of messages that are gone; whether nothing is left of it.
fn purge_trace<P: Sqlite>(store: &Embedded<P>, cid: i64, up_to: MsgId) -> Result<bool> {
    const STATEMENT: &str = "
        UPDATE revision SET content = x'', ext = NULL, uncounted = 0
        WHERE cid = ?1 AND (msg_id, number) IN (
            SELECT msg_id, number FROM revision WHERE cid = ?1 AND msg_id <= ?2
                AND (length(content) > 0 OR ext IS NOT NULL OR uncounted = 1)
            ORDER BY msg_id LIMIT ?3)
        RETURNING 1";
    let rows = store.db.execute(STATEMENT, params![cid, up_to, EXPIRE_ROWS_MAX as u64])?;
    Ok(rows.len() < EXPIRE_ROWS_MAX)
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::embedded::testing::{assert_searches, plan};
    use im_domain::msg_id::ID_EPOCH_MS;
    use im_domain::retention::RetentionRules;

    #[test]
    fn what_may_have_expired_is_found_by_indexes() {
        let scans = Scan::all(&RetentionRules::all(1), ID_EPOCH_MS + 10);
        assert_eq!(scans.len(), 4);
        for scan in scans {
            let plan = plan(&scan.statement("", "", |number| format!("?{number}")), 4);
            assert_searches(&plan, &[]);
            assert!(plan.iter().all(|step| step.contains("INDEX conversation_oldest")), "{plan:#?}");
        }
    }
}
