//! Segments are made, replaced and purged, within the transaction that is open.

use super::Cold;
use crate::cold::{Packed, Stored, before, pack};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::{MsgId, Result};
use im_segment::Record;

impl<P: Sqlite> Cold<'_, P> {
    /// Puts segments in the place of one.
    pub fn replace(&self, old: Option<&Stored>, new: Vec<Packed>) -> Result<()> {
        const DELETE: &str = "DELETE FROM segment WHERE cid = ?1 AND last_id = ?2";
        const INSERT: &str = "
            INSERT INTO segment (cid, first_id, last_id, messages, last_seq, last_countable, kinds, blob)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        const CONVERSATION: &str = "
            UPDATE conversation SET cold = max(0, cold + ?2), cold_version = cold_version + 1,
                cold_msg_id = max(cold_msg_id, ?3), cold_countable = max(cold_countable, ?4)
            WHERE cid = ?1";
        if let Some(old) = old {
            self.store.db.execute(DELETE, params![self.cid, old.last_id])?;
        }
        let mut change = old.map_or(0, |old| -(old.messages as i64));
        let (mut last_id, mut last_countable) = (MsgId::NONE, 0);
        for packed in new {
            change += packed.messages as i64;
            (last_id, last_countable) = (packed.last_id, packed.last_countable);
            let parameters = params![
                self.cid,
                packed.first_id,
                packed.last_id,
                packed.messages,
                packed.last_seq,
                packed.last_countable,
                packed.kinds,
                crate::sql::Value::Blob(packed.blob),
            ];
            self.store.db.execute(INSERT, parameters)?;
        }
        self.store.db.execute(CONVERSATION, params![self.cid, change, last_id, last_countable])?;
        Ok(())
    }

    /// Changes a message that is in a segment, whose bytes are made anew: what it was is in none.
    pub fn change(&self, id: MsgId, change: impl FnOnce(&mut Record)) -> Result<()> {
        let Some(segment) = self.next(before(id))? else { return Ok(()) };
        let mut records = segment.records(self.number())?;
        if let Some(record) = records.iter_mut().find(|record| record.msg_id == id) {
            change(record);
        }
        self.replace(Some(&segment), pack(self.number(), &records)?)
    }

    /// Purges what has expired of the first segment, if that is at least half of its time; gives how many, and the
    /// last one.
    pub fn purge_first(&self, up_to: MsgId) -> Result<Option<(u64, Record)>> {
        let Some(segment) = self.next(MsgId::NONE)?.filter(|segment| segment.is_half_gone(up_to)) else {
            return Ok(None);
        };
        let mut records = segment.records(self.number())?;
        let rest = records.split_off(records.partition_point(|record| record.msg_id <= up_to));
        let count = records.len() as u64;
        let Some(last) = records.pop() else { return Ok(None) };
        self.replace(Some(&segment), pack(self.number(), &rest)?)?;
        Ok(Some((count, last)))
    }
}
