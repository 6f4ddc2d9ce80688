//! What a user has said in the cold part.

use super::Cold;
use crate::cold::{Wanted, after, before, is_own, merge};
use crate::export::{ColdPart, OwnCold};
use crate::postgres::Postgres;
use im_domain::export::Sent;
use im_domain::page::Direction;
use im_domain::{MsgId, Result};
use std::collections::HashMap;

impl<P: Postgres> Cold<'_, P> {
    /// Messages of a user, those that repeat others among them, by id.
    pub async fn own(&self, user: &str, part: ColdPart) -> Result<OwnCold> {
        let (end, _) = self.end().await?;
        let mut found = OwnCold { sent: Vec::new(), segments: 0, up_to: None };
        let mut above = part.above;
        while found.segments < part.segments && found.sent.len() < part.count {
            if above >= end {
                return Ok(found);
            }
            let wanted = Wanted { above, below: after(end), direction: Direction::Down, count: usize::MAX };
            let span = self.span(wanted, &[]).await?;
            let last = span.segment.as_ref().map(|segment| segment.last_id);
            let own =
                merge(self.cid, span.segment.as_ref(), span.rows, wanted, |record| is_own(record, user))?;
            found.sent.extend(
                own.into_iter().map(|one| Sent { client_msg_id: one.client_msg_id, msg_id: one.msg_id }),
            );
            let Some(last) = last else { return Ok(found) };
            found.segments += 1;
            above = last;
        }
        found.up_to = Some(above);
        Ok(found)
    }

    /// The places of messages of the cold part among those that count; 0: it does not count. Others are left out.
    pub async fn places(&self, ids: &[MsgId]) -> Result<HashMap<MsgId, u64>> {
        let (end, _) = self.end().await?;
        let mut ids: Vec<MsgId> = ids.iter().copied().filter(|id| *id <= end).collect();
        ids.sort_unstable();
        let mut places = HashMap::new();
        while let (Some(first), Some(last)) = (ids.first().copied(), ids.last().copied()) {
            let wanted = Wanted::all(first, last);
            let former = self.newest_up_to(before(first)).await?;
            let span = self.span(wanted, &[]).await?;
            let up_to = span.segment.as_ref().map_or(MsgId::MAX, |segment| segment.last_id);
            let rest = ids.split_off(ids.partition_point(|id| *id <= up_to));
            let mut former = former.map(|record| record.countable);
            for record in merge(self.cid, span.segment.as_ref(), span.rows, wanted, |_| true)? {
                // Of the first that is kept it is not known.
                let counts = former.is_none_or(|former| record.countable > former);
                former = Some(record.countable);
                if ids.binary_search(&record.msg_id).is_ok() {
                    places.insert(record.msg_id, if counts { record.countable } else { 0 });
                }
            }
            ids = rest;
        }
        Ok(places)
    }
}
