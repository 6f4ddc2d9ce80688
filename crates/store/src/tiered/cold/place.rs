//! Devices' positions that were moved to a message in a segment: its `seq` is looked up before they are stored.

use super::Cold;
use crate::postgres::Postgres;
use crate::sql::Value;
use crate::tiered::entry::{Body, Entry, Position};
use im_domain::{Error, MsgId, Result};
use std::collections::BTreeMap;

/// Completes the last position of each device. One whose segment cannot be read stays as it is: its `seq` only tells
/// whether what the device has missed was anything.
pub(in super::super) async fn place<P: Postgres>(db: &P, entries: &mut [Entry]) -> Result<()> {
    let mut last: BTreeMap<(MsgId, String, String), &mut Position> = BTreeMap::new();
    for entry in entries {
        let Body::Position(position) = &mut entry.body else { continue };
        let key = (position.cid, position.user.clone(), position.device.clone());
        if position.seq == 0 && last.get(&key).is_none_or(|last| last.msg_id <= position.msg_id) {
            last.insert(key, position);
        }
    }
    let mut last: Vec<&mut Position> = last.into_values().collect();
    for at in in_cold(db, &last).await? {
        let Some(position) = last.get_mut(at) else { continue };
        match (Cold { db, cid: position.cid }).newest_up_to(position.msg_id).await {
            Ok(found) => position.seq = found.map_or(0, |record| record.seq),
            Err(Error::Internal { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Those that stand in the cold part, by their place.
async fn in_cold<P: Postgres>(db: &P, positions: &[&mut Position]) -> Result<Vec<usize>> {
    const STATEMENT: &str = "
        SELECT t.at FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS t(cid, msg_id, at)
        JOIN conversation c ON c.cid = t.cid AND c.cold_msg_id >= t.msg_id";
    if positions.is_empty() {
        return Ok(Vec::new());
    }
    let numbers = |number: &dyn Fn(&Position) -> MsgId| {
        Value::Integers(positions.iter().map(|position| Some(number(position).to_sql())).collect())
    };
    let parameters = vec![numbers(&|position| position.cid), numbers(&|position| position.msg_id)];
    let rows = db.query(STATEMENT, parameters).await?;
    rows.into_iter().map(|mut row| Ok((row.count()? as usize).saturating_sub(1))).collect()
}
