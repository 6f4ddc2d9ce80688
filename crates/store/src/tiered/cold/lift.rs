//! A message that is to be revised is taken out of its segment: it becomes a row, and is revised there. The segment is
//! packed anew without it, so what it said is in none; the next move takes it in again.

use super::Cold;
use super::replace::{Replacement, replace};
use crate::cold::{Stored, pack};
use crate::params;
use crate::postgres::Postgres;
use crate::tiered::limits::ATTEMPTS_MAX;
use im_domain::{MsgId, Result};

impl<P: Postgres> Cold<'_, P> {
    /// Makes a message a row, if it is in a segment.
    pub async fn lift(&self, id: MsgId) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            let Some((version, segment)) = self.segment_of(id).await? else { return Ok(()) };
            let mut records = segment.records(self.cid)?;
            let Some(at) = records.iter().position(|record| record.msg_id == id) else { return Ok(()) };
            let record = records.remove(at);
            let new = pack(self.cid, &records)?;
            let change = Replacement {
                cid: self.cid,
                version,
                old: Some(&segment),
                new: &new,
                taken: None,
                back: Some(&record),
                expires: None,
            };
            if replace(self.db, &change).await? {
                return Ok(());
            }
        }
        Err(super::super::overloaded())
    }

    /// The segment in which a message may be that is no row, with the version of the conversation's segments.
    async fn segment_of(&self, id: MsgId) -> Result<Option<(u64, Stored)>> {
        let statement = format!(
            "SELECT c.cold_version, s.* FROM conversation c
            CROSS JOIN LATERAL (SELECT {} FROM segment WHERE cid = c.cid AND last_id >= $2::bigint
                AND first_id <= $2::bigint ORDER BY last_id LIMIT 1) s
            WHERE c.cid = $1::bigint AND c.cold_msg_id >= $2::bigint
                AND NOT EXISTS (SELECT 1 FROM message WHERE cid = c.cid AND msg_id = $2::bigint)",
            Stored::COLUMNS
        );
        let mut rows = self.db.query(&statement, params![self.cid, id]).await?;
        Ok(match rows.first_mut() {
            Some(row) => Some((row.count()?, Stored::read(row)?)),
            None => None,
        })
    }
}
