//! Cold segments of a partition that moves: those that a conversation has in both databases are compared by the
//! numbers of their versions, and where they differ its segments are copied anew.

use super::super::limits::MOVE_ROWS_MAX;
use super::copy::{SEGMENTS, Way, copy};
use crate::params;
use crate::postgres::Postgres;
use crate::sql::Row;
use im_domain::{MsgId, Result};
use std::collections::HashMap;

/// The segments of a conversation: how many, and the sum and the largest of their versions, which are all different.
type Extent = (u64, u64, u64);

async fn extents<P: Postgres>(db: &P, partition: u8, after: MsgId) -> Result<Vec<(MsgId, Extent)>> {
    const STATEMENT: &str = "
        SELECT c.cid, s.count, s.sum, s.max FROM (
            SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint AND cid > $2::bigint
            ORDER BY cid LIMIT $3::bigint) c
        CROSS JOIN LATERAL (SELECT count(*), coalesce(sum(version), 0)::bigint AS sum,
            coalesce(max(version), 0) AS max FROM segment WHERE cid = c.cid) s
        ORDER BY c.cid";
    let extent = |mut row: Row| Ok((row.msg_id()?, (row.count()?, row.count()?, row.count()?)));
    let rows = db.query(STATEMENT, params![u64::from(partition), after, MOVE_ROWS_MAX]).await?;
    rows.into_iter().map(extent).collect()
}

/// Conversations after one whose segments differ, and the last that was looked at.
async fn differing<P: Postgres>(way: &Way<'_, P>, after: MsgId) -> Result<(Vec<MsgId>, Option<MsgId>)> {
    let old = extents(way.from, way.partition, after).await?;
    let new: HashMap<MsgId, Extent> = extents(way.to, way.partition, after).await?.into_iter().collect();
    let differ = |(cid, extent): &&(MsgId, Extent)| new.get(cid).is_some_and(|new| new != extent);
    let differing = old.iter().filter(differ).map(|(cid, _)| *cid).collect();
    Ok((differing, old.last().map(|(cid, _)| *cid)))
}

/// Makes the segments of every conversation that is in both databases the same, as far as the old one stands still.
pub(super) async fn level<P: Postgres>(way: &Way<'_, P>) -> Result<()> {
    const DELETE: &str = "DELETE FROM segment WHERE cid = $1::bigint";
    let mut after = MsgId::NONE;
    loop {
        let (differing, last) = differing(way, after).await?;
        for cid in differing {
            way.to.query(DELETE, params![cid]).await?;
            copy(way, &SEGMENTS, (cid, "0".to_owned()), cid).await?;
        }
        let Some(last) = last else { return Ok(()) };
        after = last;
    }
}

pub(super) async fn are_equal<P: Postgres>(way: &Way<'_, P>) -> Result<bool> {
    let mut after = MsgId::NONE;
    loop {
        let (differing, last) = differing(way, after).await?;
        if !differing.is_empty() {
            return Ok(false);
        }
        let Some(last) = last else { return Ok(true) };
        after = last;
    }
}
