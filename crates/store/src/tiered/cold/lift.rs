//! Messages that are to be revised or erased are taken out of their segments: they become rows, and are changed there. A
//! segment is packed anew without them, so what they said is in none; the next move takes them in again.

use super::Cold;
use super::replace::{Replacement, replace};
use crate::cold::{Stored, pack};
use crate::postgres::Postgres;
use crate::tiered::limits::ATTEMPTS_MAX;
use crate::tiered::rows::list;
use im_domain::{MsgId, Result};
use im_segment::Record;

impl<P: Postgres> Cold<'_, P> {
    /// Makes messages rows, those that are in segments, unless they `may_stay`. Gives the version of the conversation's
    /// segments under which that is so: under another one somebody may have packed them again. None: there is no such
    /// conversation.
    pub async fn lift(&self, ids: &[MsgId], may_stay: impl Fn(&Record) -> bool) -> Result<Option<u64>> {
        let (mut above, mut known, mut races) = (MsgId::NONE, None, 0);
        while races < ATTEMPTS_MAX {
            let Some((version, segment)) = self.next_with(ids, above).await? else { return Ok(None) };
            if known.is_some_and(|known| known != version) {
                (above, known) = (MsgId::NONE, Some(version));
                races += 1;
                continue;
            }
            known = Some(version);
            let Some(segment) = segment else { return Ok(known) };
            let is_wanted = |record: &Record| ids.contains(&record.msg_id) && !may_stay(record);
            let (back, rest): (Vec<Record>, Vec<Record>) =
                segment.records(self.cid)?.into_iter().partition(is_wanted);
            if back.is_empty() {
                above = segment.last_id;
                continue;
            }
            let new = pack(self.cid, &rest)?;
            let change = Replacement {
                cid: self.cid,
                version,
                old: Some(&segment),
                new: &new,
                taken: None,
                back: &back,
                expires: None,
            };
            match replace(self.db, &change).await? {
                true => known = Some(version + 1),
                false => races += 1,
            }
        }
        Err(super::super::overloaded())
    }

    /// The next segment that may have messages which are no rows, with the version of the conversation's segments.
    async fn next_with(&self, ids: &[MsgId], above: MsgId) -> Result<Option<(u64, Option<Stored>)>> {
        let statement = format!(
            "SELECT c.cold_version, (s.last_id IS NOT NULL)::int, s.* FROM conversation c
            LEFT JOIN LATERAL (SELECT {} FROM segment g WHERE g.cid = c.cid AND g.last_id > $3::bigint
                AND EXISTS (SELECT 1 FROM unnest($2::bigint[]) AS i(id)
                    WHERE i.id BETWEEN g.first_id AND g.last_id
                        AND NOT EXISTS (SELECT 1 FROM message m WHERE m.cid = c.cid AND m.msg_id = i.id))
                ORDER BY g.last_id LIMIT 1) s ON true
            WHERE c.cid = $1::bigint",
            Stored::COLUMNS
        );
        let mut rows = self.db.query(&statement, vec![self.cid.into(), list(ids), above.into()]).await?;
        let Some(row) = rows.first_mut() else { return Ok(None) };
        let version = row.count()?;
        let segment = if row.flag()? { Some(Stored::read(row)?) } else { None };
        Ok(Some((version, segment)))
    }
}
