//! Counting in the cold part: where a place stands among the messages that count, and how many are a user's own.

use super::Cold;
use crate::cold::{Wanted, after, before, is_normal, merge};
use crate::params;
use crate::postgres::Postgres;
use crate::tiered::limits::ATTEMPTS_MAX;
use im_domain::page::Direction;
use im_domain::{MsgId, Result};
use im_segment::Record;

/// Of a conversation's messages above an id: the oldest, its place among those that count or the next such place, and
/// how many a user has said that count and were not taken back.
pub(in super::super) struct Kept {
    pub oldest: Option<(MsgId, u64)>,
    pub own: u64,
}

impl<P: Postgres> Cold<'_, P> {
    /// Where the cold part ends, and the version of its segments.
    pub(super) async fn end(&self) -> Result<(MsgId, u64)> {
        const STATEMENT: &str = "SELECT cold_msg_id, cold_version FROM conversation WHERE cid = $1::bigint";
        let mut rows = self.db.query(STATEMENT, params![self.cid]).await?;
        rows.first_mut().map_or(Ok((MsgId::NONE, 0)), |row| Ok((row.msg_id()?, row.count()?)))
    }

    /// Reads in several statements, told where the cold part ends; again when segments changed meanwhile.
    pub async fn steadily<T>(&self, read: impl AsyncFn(MsgId) -> Result<T>) -> Result<T> {
        for _ in 0..ATTEMPTS_MAX {
            let (end, version) = self.end().await?;
            let found = read(end).await?;
            if self.end().await? == (end, version) {
                return Ok(found);
            }
        }
        Err(super::super::overloaded())
    }

    /// Countable messages up to `id`; none: nothing is kept there.
    pub async fn countable_up_to(&self, id: MsgId) -> Result<Option<u64>> {
        Ok(self.newest_up_to(id).await?.map(|record| record.countable))
    }

    /// Whether everything is kept that came after a place.
    pub async fn has_all_after(&self, id: MsgId) -> Result<bool> {
        let oldest = self.oldest(MsgId::NONE, MsgId::MAX).await?;
        Ok(oldest.is_some_and(|oldest| oldest.seq == 1 || oldest.msg_id <= id))
    }

    /// How many messages between two ids of the cold part a user has said that count and were not taken back, among
    /// the newest so many. `count`: countable messages up to `above`.
    pub async fn own_between(
        &self,
        user: &str,
        above: MsgId,
        below: MsgId,
        count: u64,
        most: usize,
    ) -> Result<u64> {
        let mut newest = Newest { user, own: 0, next: None };
        let mut left = most.saturating_add(1);
        let all = Wanted { above, below, direction: Direction::Up, count: left };
        self.walk(all, &[], |span, wanted| {
            for record in merge(self.cid, span.segment.as_ref(), span.rows, wanted, |_| true)? {
                left -= 1;
                newest.take(record);
            }
            Ok(most.saturating_add(1) - left)
        })
        .await?;
        // The one before them all only tells whether the first counts.
        Ok(if left == 0 { newest.own } else { newest.last(count) })
    }

    /// As [`Self::own_between`], of rows above the cold part.
    pub async fn own_in_rows(&self, user: &str, above: MsgId, below: MsgId, count: u64) -> Result<u64> {
        const STATEMENT: &str = "
            SELECT count(*) FROM (
                SELECT sender, status, countable - lag(countable, 1, $5::bigint) OVER (ORDER BY msg_id) AS counts
                FROM message WHERE cid = $1::bigint AND msg_id > $2::bigint AND msg_id < $3::bigint) m
            WHERE sender = $4::text AND status = 0 AND counts > 0";
        let mut rows = self.db.query(STATEMENT, params![self.cid, above, below, user, count]).await?;
        Ok(rows.first_mut().map_or(Ok(0), |row| row.count())?)
    }

    /// What is kept above `above` in a conversation whose cold part reaches beyond it. `user`: whose own messages
    /// are counted, below `hot` and in the cold part among the newest so many; none: nobody's.
    pub async fn kept(&self, above: MsgId, user: Option<&str>, hot: MsgId, most: usize) -> Result<Kept> {
        self.steadily(async |end| {
            let count = self.countable_up_to(above).await?.unwrap_or_default();
            let Some(oldest) = self.oldest(above, after(end)).await? else {
                return Ok(Kept { oldest: None, own: 0 });
            };
            let place = oldest.countable + u64::from(oldest.countable == count);
            let Some(user) = user else {
                return Ok(Kept { oldest: Some((oldest.msg_id, place)), own: 0 });
            };
            let cold = self.own_between(user, above, hot.min(after(end)), count, most).await?;
            let at_end = self.countable_up_to(end).await?.unwrap_or(count);
            let rows = self.own_in_rows(user, end, hot, at_end).await?;
            Ok(Kept { oldest: Some((oldest.msg_id, place)), own: cold + rows })
        })
        .await
    }

    /// The newest messages of others between two ids of the cold part that count and were not taken back, among so
    /// many.
    pub async fn newest_of_others(
        &self,
        user: &str,
        above: MsgId,
        below: MsgId,
        most: usize,
    ) -> Result<Vec<MsgId>> {
        let wanted = Wanted { above, below, direction: Direction::Up, count: most };
        let mut found: Vec<Record> = Vec::new();
        self.walk(wanted, &[], |span, wanted| {
            found.extend(merge(self.cid, span.segment.as_ref(), span.rows, wanted, |_| true)?);
            Ok(found.len())
        })
        .await?;
        let Some(first) = found.last() else { return Ok(Vec::new()) };
        let count = self.countable_up_to(before(first.msg_id)).await?.unwrap_or_default();
        let counts = found.iter().map(|record| record.countable).skip(1).chain([count]);
        let of_others = |(record, before): &(&Record, u64)| {
            record.countable > *before && is_normal(record) && record.sender != user
        };
        Ok(found.iter().zip(counts).filter(of_others).map(|(record, _)| record.msg_id).collect())
    }
}

/// Counts a user's own messages from the newest on: whether one counts, the one before it tells.
struct Newest<'a> {
    user: &'a str,
    own: u64,
    /// Countable messages up to the last one taken, and whether it is the user's own.
    next: Option<(u64, bool)>,
}

impl Newest<'_> {
    fn take(&mut self, record: Record) {
        self.own = self.last(record.countable);
        self.next = Some((record.countable, is_normal(&record) && record.sender == self.user));
    }

    /// With so many countable messages before them all.
    fn last(&self, before: u64) -> u64 {
        self.own + u64::from(self.next.is_some_and(|(count, is_own)| is_own && count > before))
    }
}
