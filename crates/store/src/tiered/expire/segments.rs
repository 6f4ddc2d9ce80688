//! Segments of which enough has expired: the others are as good as purged, as no reader sees what has.

use super::super::cold::replace::{Replacement, replace};
use super::purge::Doomed;
use crate::cold::{Stored, pack};
use crate::params;
use crate::postgres::Postgres;
use im_domain::Result;

/// Purges segments of a conversation; gives the number of messages.
pub(super) async fn purge<P: Postgres>(db: &P, doomed: &Doomed, is_over: &impl Fn() -> bool) -> Result<u64> {
    let mut purged = 0;
    while !is_over() {
        match purge_first(db, doomed).await? {
            0 => break,
            count => purged += count,
        }
    }
    Ok(purged)
}

/// Purges what has expired of the first segment, if that is half of its time; gives how many.
async fn purge_first<P: Postgres>(db: &P, doomed: &Doomed) -> Result<u64> {
    const UNHIDE: &str = "
        WITH untold AS (DELETE FROM late WHERE cid = $1::bigint AND msg_id <= $2::bigint)
        DELETE FROM hidden WHERE cid = $1::bigint AND msg_id <= $2::bigint";
    let Doomed { cid, up_to, retention_ms } = *doomed;
    let Some((version, segment)) = first(db, doomed).await? else { return Ok(0) };
    let mut records = segment.records(cid)?;
    let rest = records.split_off(records.partition_point(|record| record.msg_id <= up_to));
    let Some(last) = records.last().map(|record| record.msg_id) else { return Ok(0) };
    let new = pack(cid, &rest)?;
    let change = Replacement {
        cid,
        version,
        old: Some(&segment),
        new: &new,
        taken: None,
        back: &[],
        expires: Some(retention_ms),
    };
    if !replace(db, &change).await? {
        return Ok(0);
    }
    db.query(UNHIDE, params![cid, last]).await?;
    Ok(records.len() as u64)
}

/// The first segment, if it is to be purged, with the version of the conversation's segments.
async fn first<P: Postgres>(db: &P, doomed: &Doomed) -> Result<Option<(u64, Stored)>> {
    let statement = format!(
        "SELECT c.cold_version, s.* FROM conversation c CROSS JOIN LATERAL (
            SELECT {} FROM (SELECT * FROM segment WHERE cid = c.cid ORDER BY last_id LIMIT 1) f
            WHERE first_id <= $2::bigint AND first_id / 2 + last_id / 2 <= $2::bigint) s
        WHERE c.cid = $1::bigint AND c.cold_msg_id > 0",
        Stored::COLUMNS
    );
    let mut rows = db.query(&statement, params![doomed.cid, doomed.up_to]).await?;
    Ok(match rows.first_mut() {
        Some(row) => Some((row.count()?, Stored::read(row)?)),
        None => None,
    })
}
