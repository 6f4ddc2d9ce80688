//! The cold part of a conversation: its segments. Messages up to the conversation's `cold_msg_id` are in them, and
//! those above are rows. Segments only grow, but for what has expired, so who has read rows finds in segments
//! whatever has moved since.

mod count;
mod rewrite;

pub(super) use count::{Spoken, waits_for};

use super::Embedded;
use crate::cold::limits::EARLIER_SEGMENTS_MAX;
use crate::cold::{
    Stored, Wanted, after, before, has_kind, hide, made_from, mask, merge, message, quote, stands_for,
};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::message::{Kind, Message, Quote};
use im_domain::page::{Direction, Range};
use im_domain::{MsgId, Result};
use im_segment::Record;
use std::collections::{BTreeSet, HashMap};

/// Columns of `message`, in the order of what [`crate::cold::record`] takes.
pub(super) const COLUMNS: &str = "msg_id, seq, countable, sender, client_msg_id, fingerprint, kind, status, content, \
    reply_to, ext, edit_time, control_msg_id, control_action, NULL AS copy_of, own";

pub(super) struct Cold<'a, P> {
    pub store: &'a Embedded<P>,
    pub cid: i64,
}

impl<P: Sqlite> Cold<'_, P> {
    /// The conversation's number as segments have it.
    pub fn number(&self) -> MsgId {
        MsgId::from_sql(self.cid)
    }

    /// The messages of a range that are in segments and that the user sees, up to one more than its limit.
    pub fn range(&self, range: &Range, user: &str) -> Result<Vec<Record>> {
        let hidden = self.hidden(user)?;
        let is_wanted = |record: &Record| has_kind(record, &range.kinds) && !hidden.contains(&record.msg_id);
        let mut found = Vec::new();
        self.walk(Wanted::page(range), &range.kinds, |segment, part| {
            found.extend(merge(self.number(), Some(segment), Vec::new(), part, is_wanted)?);
            Ok(found.len())
        })?;
        Ok(found)
    }

    /// Goes through the segments until `take` has so many as are wanted; it gives how many it has.
    fn walk(
        &self,
        mut wanted: Wanted,
        kinds: &[Kind],
        mut take: impl FnMut(&Stored, Wanted) -> Result<usize>,
    ) -> Result<()> {
        let count = wanted.count;
        while wanted.count > 0 && after(wanted.above) < wanted.below {
            let Some(segment) = self.segment(wanted, kinds)? else { break };
            wanted.count = count.saturating_sub(take(&segment, wanted)?);
            match wanted.direction {
                Direction::Up => wanted.below = segment.first_id,
                Direction::Down => wanted.above = segment.last_id,
            }
        }
        Ok(())
    }

    /// The next segment in the direction that has such kinds.
    fn segment(&self, wanted: Wanted, kinds: &[Kind]) -> Result<Option<Stored>> {
        let order = match wanted.direction {
            Direction::Up => "DESC",
            Direction::Down => "ASC",
        };
        let statement = format!(
            "SELECT {} FROM segment WHERE cid = ?1 AND last_id > ?2 AND first_id < ?3 AND kinds & ?4 <> 0
            ORDER BY last_id {order} LIMIT 1",
            Stored::COLUMNS
        );
        let parameters = params![self.cid, wanted.above, wanted.below, mask(kinds)];
        let mut rows = self.store.db.execute(&statement, parameters)?;
        Ok(rows.first_mut().map(Stored::read).transpose()?)
    }

    /// The segment in which the first message after `id` is that is in any.
    pub fn next(&self, id: MsgId) -> Result<Option<Stored>> {
        self.segment(Wanted { above: id, below: MsgId::MAX, direction: Direction::Down, count: 1 }, &[])
    }

    /// Messages by id; those that are in no segment are left out.
    pub fn find(&self, ids: &[MsgId]) -> Result<HashMap<MsgId, Record>> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        let mut found = HashMap::new();
        while let Some(first) = ids.first().copied() {
            let Some(segment) = self.next(before(first))? else { break };
            let (part, rest) = ids.split_at(ids.partition_point(|id| *id <= segment.last_id));
            for id in part {
                let record = merge(self.number(), Some(&segment), Vec::new(), Wanted::one(*id), |_| true)?;
                found.extend(record.into_iter().map(|record| (record.msg_id, record)));
            }
            ids = rest.to_vec();
        }
        Ok(found)
    }

    pub fn find_one(&self, id: MsgId) -> Result<Option<Record>> {
        Ok(self.find(&[id])?.remove(&id))
    }

    /// The newest message up to `id` that is in a segment.
    pub fn newest_up_to(&self, id: MsgId) -> Result<Option<Record>> {
        self.first(MsgId::NONE, after(id), Direction::Up)
    }

    /// The oldest one after `id` that is in a segment.
    pub fn oldest_after(&self, id: MsgId) -> Result<Option<Record>> {
        self.first(id, MsgId::MAX, Direction::Down)
    }

    fn first(&self, above: MsgId, below: MsgId, direction: Direction) -> Result<Option<Record>> {
        let mut found = Vec::new();
        self.walk(Wanted { above, below, direction, count: 1 }, &[], |segment, part| {
            found = merge(self.number(), Some(segment), Vec::new(), part, |_| true)?;
            Ok(found.len())
        })?;
        Ok(found.pop())
    }

    /// Messages of the conversation that are hidden from a user.
    pub fn hidden(&self, user: &str) -> Result<BTreeSet<MsgId>> {
        const STATEMENT: &str = "SELECT msg_id FROM hidden WHERE cid = ?1 AND user = ?2";
        let rows = self.store.db.execute(STATEMENT, params![self.cid, user])?;
        Ok(rows.into_iter().map(|mut row| row.msg_id()).collect::<Result<_, _>>()?)
    }

    /// The message that stands for a sender's `clientMsgId` which was made at `made_at_ms`.
    pub fn earlier(&self, sender: &str, client_msg_id: &str, made_at_ms: u64) -> Result<Option<Record>> {
        let statement = format!(
            "SELECT {} FROM segment WHERE cid = ?1 AND last_id >= ?2 ORDER BY last_id LIMIT ?3",
            Stored::COLUMNS
        );
        let is_it = |record: &Record| stands_for(record, sender, client_msg_id);
        let parameters = params![self.cid, made_from(made_at_ms), EARLIER_SEGMENTS_MAX];
        for mut row in self.store.db.execute(&statement, parameters)? {
            let found = Stored::read(&mut row)?.records(self.number())?.into_iter().find(is_it);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Messages by id, above `floor`; their quotes are yet to be looked up.
    pub fn messages(&self, ids: &[MsgId], floor: MsgId) -> Result<Vec<Message>> {
        self.find(ids)?.into_values().filter(|record| record.msg_id > floor).map(message).collect()
    }

    /// Looks up quotes that no row has, as a user sees them: what is hidden is as if it were deleted. `end`: segments
    /// reach up to there.
    pub fn fill_quotes<'m>(
        &self,
        messages: impl IntoIterator<Item = &'m mut Message>,
        user: &str,
        floor: MsgId,
        end: MsgId,
    ) -> Result<()> {
        let open = messages.into_iter().filter_map(|message| message.reply_to.as_mut());
        let mut open: Vec<&mut Quote> = open.filter(|quote| is_open(quote, floor, end)).collect();
        if open.is_empty() {
            return Ok(());
        }
        let found = self.find(&open.iter().map(|quote| quote.msg_id).collect::<Vec<_>>())?;
        let hidden = self.hidden(user)?;
        for open in &mut open {
            let Some(record) = found.get(&open.msg_id) else { continue };
            **open = quote(record)?;
            if hidden.contains(&open.msg_id) {
                hide(open);
            }
        }
        Ok(())
    }
}

/// Whether a quote may be in a segment.
pub(super) fn is_open(quote: &Quote, floor: MsgId, end: MsgId) -> bool {
    quote.sender.is_none() && quote.msg_id > floor && quote.msg_id <= end
}
