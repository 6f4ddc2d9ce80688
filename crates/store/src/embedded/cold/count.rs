//! Counting from a place in the cold part on.

use super::{COLUMNS, Cold};
use crate::cold::{Wanted, is_normal, merge, record};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::page::Direction;
use im_domain::{MsgId, Result};
use im_segment::Record;

/// How much had been said up to a place.
#[derive(Clone, Copy)]
pub(in super::super) struct Spoken {
    /// Messages that count.
    pub countable: u64,
    /// The member's among them, since joining.
    pub own: u64,
}

impl<P: Sqlite> Cold<'_, P> {
    /// How much had been said at a place of the cold part, of which a member has read nothing beyond it.
    pub fn spoken_up_to(&self, at: MsgId, user: &str) -> Result<Spoken> {
        let countable = match self.newest_up_to(at)? {
            Some(record) => record.countable,
            None => self.purged()?,
        };
        Ok(Spoken { countable, own: self.own_up_to(at, user)? })
    }

    /// Countable messages that are purged.
    fn purged(&self) -> Result<u64> {
        const STATEMENT: &str = "SELECT purged_countable FROM conversation WHERE cid = ?1";
        let mut rows = self.store.db.execute(STATEMENT, params![self.cid])?;
        Ok(rows.first_mut().map_or(Ok(0), |row| row.count())?)
    }

    /// The next message of the member's own says how many came before it.
    fn own_up_to(&self, at: MsgId, user: &str) -> Result<u64> {
        const MEMBER: &str =
            "SELECT own, own = read_own AND read_msg_id <= ?3 FROM member WHERE cid = ?1 AND user = ?2";
        const ROW: &str = "
            SELECT own FROM message WHERE cid = ?1 AND sender = ?2 AND msg_id > ?3 AND own IS NOT NULL
            ORDER BY msg_id LIMIT 1";
        let parameters = || params![self.cid, user, at];
        let mut rows = self.store.db.execute(MEMBER, parameters())?;
        let Some(member) = rows.first_mut() else { return Ok(0) };
        let own = member.count()?;
        if member.flag()? {
            return Ok(own);
        }
        let wanted = Wanted { above: at, below: MsgId::MAX, direction: Direction::Down, count: 1 };
        let mut next = None;
        self.walk(wanted, &[], |segment, part| {
            let is_own = |record: &Record| record.own.is_some() && record.sender == user;
            next = merge(self.number(), Some(segment), Vec::new(), part, is_own)?.pop();
            Ok(usize::from(next.is_some()))
        })?;
        if let Some(before) = next.and_then(|record| record.own) {
            return Ok(before);
        }
        let mut rows = self.store.db.execute(ROW, parameters())?;
        Ok(rows.first_mut().map_or(Ok(own), |row| row.count())?)
    }

    /// How many messages of others after a place of the cold part the member has not read.
    pub fn others_after(&self, at: MsgId, user: &str) -> Result<u64> {
        const STATEMENT: &str = "
            SELECT c.head_countable, m.own, (SELECT count(*) FROM revision r WHERE r.cid = c.cid AND r.msg_id > ?3
                AND r.uncounted = 1 AND r.sender <> m.user) + (SELECT count(*) FROM hidden h WHERE h.cid = c.cid
                AND h.user = m.user AND h.msg_id > ?3 AND h.counts = 1 AND NOT EXISTS (SELECT 1 FROM revision r
                    WHERE r.cid = h.cid AND r.msg_id = h.msg_id AND r.uncounted = 1))
            FROM conversation c JOIN member m ON m.cid = c.cid AND m.user = ?2 WHERE c.cid = ?1";
        let spoken = self.spoken_up_to(at, user)?;
        let mut rows = self.store.db.execute(STATEMENT, params![self.cid, user, at])?;
        let Some(row) = rows.first_mut() else { return Ok(0) };
        let (countable, own, gone) = (row.count()?, row.count()?, row.count()?);
        let others = countable.saturating_sub(spoken.countable);
        Ok(others.saturating_sub(own.saturating_sub(spoken.own)).saturating_sub(gone))
    }

    /// The first messages after a place, in segments and in rows, or the last ones.
    pub fn scan(&self, above: MsgId, direction: Direction, count: usize) -> Result<Vec<Record>> {
        match direction {
            Direction::Down => {
                let mut found = self.packed(above, direction, count)?;
                let left = count.saturating_sub(found.len());
                found.extend(self.rows(above, direction, left)?);
                Ok(found)
            }
            Direction::Up => {
                let mut found = self.rows(above, direction, count)?;
                let left = count.saturating_sub(found.len());
                found.extend(self.packed(above, direction, left)?);
                Ok(found)
            }
        }
    }

    fn packed(&self, above: MsgId, direction: Direction, count: usize) -> Result<Vec<Record>> {
        let mut found = Vec::new();
        self.walk(Wanted { above, below: MsgId::MAX, direction, count }, &[], |segment, part| {
            found.extend(merge(self.number(), Some(segment), Vec::new(), part, |_| true)?);
            Ok(found.len())
        })?;
        Ok(found)
    }

    fn rows(&self, above: MsgId, direction: Direction, count: usize) -> Result<Vec<Record>> {
        let order = if direction == Direction::Up { "DESC" } else { "ASC" };
        let statement = format!(
            "SELECT {COLUMNS} FROM message WHERE cid = ?1 AND msg_id > ?2 ORDER BY msg_id {order} LIMIT ?3"
        );
        let rows = self.store.db.execute(&statement, params![self.cid, above, count as u64])?;
        rows.into_iter().map(|mut row| Ok(record(&mut row)?)).collect()
    }
}

/// Whether a push may tell a user of a message.
pub(in super::super) fn waits_for(record: &Record, user: &str) -> bool {
    record.own.is_some() && is_normal(record) && record.sender != user
}
