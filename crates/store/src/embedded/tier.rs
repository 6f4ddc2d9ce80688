//! Old messages move from rows into cold segments (ADR 0018).
//!
//! Of each conversation a batch is read, packed, unpacked and compared while others write; then one transaction puts
//! the segment in the place of the rows, if these are still what was read. The newest message that readers see,
//! and what came after it, stays a row: lists need no segment.

use super::cold::{COLUMNS, Cold};
use super::{Embedded, transaction};
use crate::cold::limits::{BYTES_MAX, CONVERSATIONS_MAX, GROWS_MAX, ROWS_MAX};
use crate::cold::{Packed, Stored, after, before, pack, record};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::{MsgId, Result};
use im_segment::Record;

/// How often a conversation is read again because its rows were not any more what was read.
const ATTEMPTS_MAX: usize = 6;

/// Moves messages until none is left that may or `is_over` says so; gives how many. A conversation that fails keeps
/// nobody from the others.
pub(super) fn tier<P: Sqlite>(store: &Embedded<P>, is_over: impl Fn() -> bool) -> Result<u64> {
    let Some(up_to) = store.environment.tier.up_to(store.now_ms()) else { return Ok(0) };
    let (mut moved, mut failure) = (0, None);
    let mut seen = (MsgId::NONE, 0);
    while !is_over() {
        let part = candidates(store, seen, up_to)?;
        let Some(last) = part.last() else { break };
        seen = *last;
        for (_, cid) in part {
            if is_over() {
                break;
            }
            match (Mover { store, cid, up_to }).run(&is_over) {
                Ok(count) => moved += count,
                Err(error) => failure = Some(error),
            }
        }
    }
    failure.map_or(Ok(moved), Err)
}

/// Conversations that are to be looked at, in the order of their looks, and these.
fn candidates<P: Sqlite>(
    store: &Embedded<P>,
    after: (MsgId, i64),
    up_to: MsgId,
) -> Result<Vec<(MsgId, i64)>> {
    let parameters = params![after.0, after.1, up_to, CONVERSATIONS_MAX];
    let rows = store.db.execute(CANDIDATES, parameters)?;
    rows.into_iter().map(|mut row| Ok((row.msg_id()?, row.int()?))).collect()
}

const CANDIDATES: &str = "
    SELECT cold_look, cid FROM conversation WHERE (cold_look, cid) > (?1, ?2) AND cold_look <= ?3
    ORDER BY cold_look, cid LIMIT ?4";

struct Mover<'a, P> {
    store: &'a Embedded<P>,
    cid: i64,
    /// Messages up to this one may move.
    up_to: MsgId,
}

/// A conversation as it is read.
#[derive(Clone, Copy)]
struct Facts {
    version: u64,
    shown: MsgId,
}

/// What may move, and the segment that it comes into, if there is one, as one state of the database has them.
struct Batch {
    facts: Facts,
    /// Oldest first.
    rows: Vec<Record>,
    is_enough: bool,
    segment: Option<Stored>,
}

impl<P: Sqlite> Mover<'_, P> {
    fn cold(&self) -> Cold<'_, P> {
        Cold { store: self.store, cid: self.cid }
    }

    /// Moves what may move of the conversation; gives how many.
    fn run(&self, is_over: &impl Fn() -> bool) -> Result<u64> {
        let (mut moved, mut races) = (0, 0);
        while !is_over() && races < ATTEMPTS_MAX {
            let Some(batch) = transaction::read(self.store, || self.batch())? else { break };
            if !batch.is_enough {
                self.look_again(batch.facts)?;
                break;
            }
            let mut records = match &batch.segment {
                Some(segment) => segment.records(self.cold().number())?,
                None => Vec::new(),
            };
            records.extend(batch.rows.iter().cloned());
            let new = pack(self.cold().number(), &records)?;
            match transaction::write(self.store, || self.put(&batch, new))? {
                true => moved += batch.rows.len() as u64,
                false => races += 1,
            }
        }
        Ok(moved)
    }

    fn batch(&self) -> Result<Option<Batch>> {
        let Some(facts) = self.facts()? else { return Ok(None) };
        let rows = self.rows_up_to(self.up_to.min(before(facts.shown)))?;
        let rules = &self.store.environment.tier;
        let is_enough =
            rows.first().is_some_and(|oldest| rules.is_enough(rows.len(), oldest.msg_id, self.up_to));
        let segment = if is_enough { self.newest()? } else { None };
        Ok(Some(Batch { facts, rows, is_enough, segment }))
    }

    /// Puts segments in the place of what was read, unless something of it has changed.
    fn put(&self, batch: &Batch, new: Vec<Packed>) -> Result<bool> {
        const DELETE: &str = "DELETE FROM message WHERE cid = ?1 AND msg_id <= ?2";
        let is_same = self.facts()?.is_some_and(|now| now.version == batch.facts.version);
        let last = batch.rows.last().map(|record| record.msg_id).unwrap_or_default();
        if !is_same || self.rows_up_to(last)? != batch.rows {
            return Ok(false);
        }
        self.store.db.execute(DELETE, params![self.cid, last])?;
        self.cold().replace(batch.segment.as_ref(), new)?;
        Ok(true)
    }

    fn facts(&self) -> Result<Option<Facts>> {
        const STATEMENT: &str = "SELECT cold_version, shown_msg_id FROM conversation WHERE cid = ?1";
        let mut rows = self.store.db.execute(STATEMENT, params![self.cid])?;
        let Some(row) = rows.first_mut() else { return Ok(None) };
        Ok(Some(Facts { version: row.count()?, shown: row.msg_id()? }))
    }

    /// The oldest rows, as many as a segment takes.
    fn rows_up_to(&self, last: MsgId) -> Result<Vec<Record>> {
        let statement = format!(
            "SELECT {COLUMNS} FROM message WHERE cid = ?1 AND msg_id IN (
                SELECT msg_id FROM (
                    SELECT msg_id, sum(length(content)) OVER (ORDER BY msg_id) - length(content) AS before FROM (
                        SELECT msg_id, content FROM message WHERE cid = ?1 AND msg_id <= ?2
                        ORDER BY msg_id LIMIT ?3))
                WHERE before < ?4)
            ORDER BY msg_id"
        );
        let rows = self.store.db.execute(&statement, params![self.cid, last, ROWS_MAX, BYTES_MAX])?;
        rows.into_iter().map(|mut row| Ok(record(&mut row)?)).collect()
    }

    /// The newest segment, if it is small, and sound.
    fn newest(&self) -> Result<Option<Stored>> {
        let statement = format!(
            "SELECT {} FROM (SELECT * FROM segment WHERE cid = ?1 ORDER BY last_id DESC LIMIT 1)
            WHERE messages < ?2",
            Stored::COLUMNS
        );
        let mut rows = self.store.db.execute(&statement, params![self.cid, GROWS_MAX])?;
        let newest = rows.first_mut().map(Stored::read).transpose()?;
        Ok(newest.filter(|segment| segment.records(self.cold().number()).is_ok()))
    }

    /// Notes when to look at the conversation again: once enough is old, or what there is has waited for long; at
    /// the latest when what is said from now on is old.
    fn look_again(&self, facts: Facts) -> Result<()> {
        const ROWS: &str = "
            SELECT (SELECT min(msg_id) FROM message WHERE cid = ?1 AND msg_id < ?2),
                (SELECT msg_id FROM message WHERE cid = ?1 ORDER BY msg_id LIMIT 1 OFFSET ?3)";
        const NOTE: &str = "UPDATE conversation SET cold_look = ?2 WHERE cid = ?1";
        let rules = &self.store.environment.tier;
        let parameters = params![self.cid, facts.shown, rules.messages_min.saturating_sub(1) as u64];
        let mut rows = self.store.db.execute(ROWS, parameters)?;
        let Some(row) = rows.first_mut() else { return Ok(()) };
        let (oldest, enough) = (row.opt_msg_id()?, row.opt_msg_id()?.unwrap_or(MsgId::MAX));
        let look = match oldest {
            Some(oldest) => rules.at_last(oldest).min(enough).max(after(self.up_to)),
            None => MsgId::floor_of(self.store.now_ms()),
        };
        self.store.db.execute(NOTE, params![self.cid, look])?;
        Ok(())
    }
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use crate::embedded::testing::{assert_searches, plan};

    #[test]
    fn what_is_to_be_looked_at_is_found_by_a_search() {
        let plan = plan(super::CANDIDATES, 4);
        assert_searches(&plan, &[]);
        assert!(plan.iter().any(|step| step.contains("conversation_cold_look")), "{plan:#?}");
    }
}
