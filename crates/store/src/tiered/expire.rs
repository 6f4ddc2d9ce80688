//! The purge of what has expired. Readers do not see it any more, purged or not.

mod segments;

use super::Tiered;
use crate::params;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::limits::EXPIRE_ROWS_MAX;
use im_domain::{MsgId, Result};

/// Conversations looked at by one statement.
const CONVERSATIONS_PER_STEP: u64 = 1_000;

/// Purges until nothing is left or `is_over` says so; gives the number of messages.
pub(super) async fn expire<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    is_over: impl Fn() -> bool,
) -> Result<u64> {
    let up_to = store.expired_up_to();
    if up_to.is_none() {
        return Ok(0);
    }
    // A run that is too short for all conversations begins elsewhere than the one before.
    let begin = (store.settings.random)() as u64 % (up_to.number() + 1);
    let begin = MsgId::new(begin).unwrap_or_default();
    let mut purged = 0;
    let mut failure = None;
    for database in &store.databases {
        for (after, up_to_cid) in [(begin, MsgId::MAX), (MsgId::NONE, begin)] {
            match purge(database, after, up_to_cid, up_to, &is_over).await {
                Ok(count) => purged += count,
                Err(error) => failure = Some(error),
            }
        }
    }
    failure.map_or(Ok(purged), Err)
}

/// Purges messages of the conversations after `after` and up to `last_cid`.
async fn purge<P: Postgres>(
    db: &P,
    mut after: MsgId,
    last_cid: MsgId,
    up_to: MsgId,
    is_over: &impl Fn() -> bool,
) -> Result<u64> {
    let mut purged = 0;
    while !is_over() && after < last_cid {
        let (count, last) = step(db, after, up_to).await?;
        purged += count;
        if count < EXPIRE_ROWS_MAX as u64 {
            let Some(last) = last else { break };
            purged += segments::purge(db, after, last, up_to, is_over).await?;
            after = last;
        }
    }
    Ok(purged)
}

/// Purges messages of the conversations after `after`: how many, and the last conversation looked at
/// (none: there is none).
async fn step<P: Postgres>(db: &P, after: MsgId, up_to: MsgId) -> Result<(u64, Option<MsgId>)> {
    const STATEMENT: &str = "
        WITH part AS MATERIALIZED (
            SELECT c.cid FROM conversation c
            JOIN partition_state s ON s.partition = (c.cid >> 14) & 255 AND s.home = 1
            WHERE c.cid > $1::bigint ORDER BY c.cid LIMIT $3::bigint),
        doomed AS MATERIALIZED (
            SELECT x.cid, x.msg_id FROM part s CROSS JOIN LATERAL (
                SELECT cid, msg_id FROM message m WHERE m.cid = s.cid AND m.msg_id <= $2::bigint
                ORDER BY m.msg_id LIMIT $4::bigint) x
            LIMIT $4::bigint),
        gone AS (DELETE FROM message m USING doomed d WHERE m.cid = d.cid AND m.msg_id = d.msg_id
            RETURNING m.cid, m.copy_of),
        untraced AS (DELETE FROM revision v USING (
                SELECT DISTINCT x.cid, x.msg_id FROM part s CROSS JOIN LATERAL (
                    SELECT cid, msg_id FROM revision r WHERE r.cid = s.cid AND r.msg_id <= $2::bigint
                    ORDER BY r.msg_id LIMIT $4::bigint) x
                LIMIT $4::bigint) d
            WHERE v.cid = d.cid AND v.msg_id = d.msg_id),
        counted AS (UPDATE conversation c SET stored = c.stored - g.shown
            FROM (SELECT cid, count(*) AS shown FROM gone WHERE coalesce(copy_of, 0) = 0 GROUP BY cid) g
            WHERE c.cid = g.cid)
        SELECT (SELECT count(*) FROM gone), (SELECT max(cid) FROM part)";
    let parameters = params![after, up_to, CONVERSATIONS_PER_STEP, EXPIRE_ROWS_MAX as u64];
    let mut rows = db.query(STATEMENT, parameters).await?;
    match rows.first_mut() {
        Some(row) => Ok((row.count()?, row.opt_msg_id()?)),
        None => Ok((0, None)),
    }
}
