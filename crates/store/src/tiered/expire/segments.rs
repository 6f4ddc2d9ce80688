//! Segments of which enough has expired: the others are as good as purged, as no reader sees what has.

use super::super::cold::replace::{Replacement, replace};
use crate::cold::{Stored, pack};
use crate::params;
use crate::postgres::Postgres;
use im_domain::{MsgId, Result};

/// Purges segments of the conversations after `after` and up to `last`; gives the number of messages.
pub(super) async fn purge<P: Postgres>(
    db: &P,
    after: MsgId,
    last: MsgId,
    up_to: MsgId,
    is_over: &impl Fn() -> bool,
) -> Result<u64> {
    // Half of the time of a segment is about half of its messages.
    const STATEMENT: &str = "
        SELECT c.cid FROM conversation c
        JOIN partition_state p ON p.partition = (c.cid >> 14) & 255 AND p.home = 1
        CROSS JOIN LATERAL (
            SELECT first_id, last_id FROM segment WHERE cid = c.cid ORDER BY last_id LIMIT 1) s
        WHERE c.cid > $1::bigint AND c.cid <= $2::bigint AND c.cold_msg_id > 0 AND s.first_id <= $3::bigint
            AND $3::bigint - s.first_id >= (s.last_id - s.first_id) / 2
        ORDER BY c.cid";
    let mut purged = 0;
    for mut row in db.query(STATEMENT, params![after, last, up_to]).await? {
        let cid = row.msg_id()?;
        while !is_over() {
            match purge_first(db, cid, up_to).await? {
                0 => break,
                count => purged += count,
            }
        }
    }
    Ok(purged)
}

/// Purges what has expired of the first segment of a conversation, if that is half of it; gives how many.
async fn purge_first<P: Postgres>(db: &P, cid: MsgId, up_to: MsgId) -> Result<u64> {
    let statement = format!(
        "SELECT c.cold_version, s.* FROM conversation c CROSS JOIN LATERAL (
            SELECT {} FROM segment WHERE cid = c.cid AND first_id <= $2::bigint ORDER BY last_id LIMIT 1) s
        WHERE c.cid = $1::bigint",
        Stored::COLUMNS
    );
    let mut rows = db.query(&statement, params![cid, up_to]).await?;
    let Some(row) = rows.first_mut() else { return Ok(0) };
    let (version, segment) = (row.count()?, Stored::read(row)?);
    let new = match segment.last_id <= up_to {
        true => Vec::new(),
        false => {
            let mut records = segment.records(cid)?;
            let count = records.len();
            records.retain(|record| record.msg_id > up_to);
            if 2 * records.len() > count {
                return Ok(0);
            }
            pack(cid, &records)?
        }
    };
    let left: u64 = new.iter().map(|packed| packed.messages).sum();
    let change = Replacement { cid, version, old: Some(&segment), new: &new, taken: None, back: None };
    match replace(db, &change).await? {
        true => Ok(segment.messages.saturating_sub(left)),
        false => Ok(0),
    }
}
