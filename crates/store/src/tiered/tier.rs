//! Old messages move from rows into cold segments (ADR 0018).
//!
//! Of each conversation a batch is read, packed, unpacked and compared, and then one statement puts the segment in
//! the place of the rows, if these are still what was read. Killed anywhere, it is repeated safely. The newest message
//! that readers see, and what came after it, stays a row: lists and what makes a conversation hot need no segment.

use super::cold::replace::{COLUMNS, Replacement, Taken, replace};
use super::{Tiered, adopt, layout, limits};
use crate::cold::limits::{BYTES_MAX, CONVERSATIONS_MAX, GROWS_MAX, ROWS_MAX};
use crate::cold::{Stored, after, before, pack, record};
use crate::params;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::{Error, MsgId, Result};
use im_segment::Record;

/// Moves messages until none is left that may or `is_over` says so; gives how many. A conversation that fails keeps
/// nobody from the others.
pub(super) async fn tier<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    is_over: impl Fn() -> bool,
) -> Result<u64> {
    let Some(up_to) = store.settings.tier.up_to(store.now_ms()) else { return Ok(0) };
    // Nothing is written where another list of servers belongs.
    layout::check(store).await?;
    adopt::check_nodes(store).await?;
    let mut run = Run { store, up_to, moved: 0, failure: None };
    for db in &store.databases {
        if let Err(error) = run.all_of(db, &is_over).await {
            run.failure = Some(error);
        }
    }
    run.failure.map_or(Ok(run.moved), Err)
}

struct Run<'a, R, P> {
    store: &'a Tiered<R, P>,
    /// Messages up to this one may move.
    up_to: MsgId,
    moved: u64,
    failure: Option<Error>,
}

impl<R: Redis, P: Postgres> Run<'_, R, P> {
    async fn all_of(&mut self, db: &P, is_over: &impl Fn() -> bool) -> Result<()> {
        let (store, up_to) = (self.store, self.up_to);
        let mut seen = (MsgId::NONE, MsgId::NONE);
        while !is_over() {
            let part = candidates(db, seen, up_to).await?;
            let Some(last) = part.last() else { break };
            seen = *last;
            for (_, cid) in part {
                if is_over() {
                    break;
                }
                match (Mover { store, db, cid, up_to }).run(is_over).await {
                    Ok(count) => self.moved += count,
                    Err(error) => self.failure = Some(error),
                }
            }
        }
        Ok(())
    }
}

/// Conversations that are to be looked at, in the order of their looks, and these.
async fn candidates<P: Postgres>(db: &P, after: (MsgId, MsgId), up_to: MsgId) -> Result<Vec<(MsgId, MsgId)>> {
    const STATEMENT: &str = "
        SELECT c.cold_look, c.cid FROM conversation c
        JOIN partition_state s ON s.partition = (c.cid >> 14) & 255 AND s.home = 1
        WHERE (c.cold_look, c.cid) > ($1::bigint, $2::bigint) AND c.cold_look <= $3::bigint
        ORDER BY c.cold_look, c.cid LIMIT $4::bigint";
    let parameters = params![after.0, after.1, up_to, CONVERSATIONS_MAX];
    let rows = db.query(STATEMENT, parameters).await?;
    rows.into_iter().map(|mut row| Ok((row.msg_id()?, row.msg_id()?))).collect()
}

struct Mover<'a, R, P> {
    store: &'a Tiered<R, P>,
    db: &'a P,
    cid: MsgId,
    /// Messages up to this one may move.
    up_to: MsgId,
}

/// A conversation as it is read.
#[derive(Clone, Copy)]
struct Facts {
    cold: MsgId,
    version: u64,
    shown: MsgId,
}

/// Rows that may move, oldest first, each with the number of the transaction that wrote it.
type Rows = Vec<(Record, i64)>;

impl<R: Redis, P: Postgres> Mover<'_, R, P> {
    /// Moves what may move of the conversation; gives how many.
    async fn run(&self, is_over: &impl Fn() -> bool) -> Result<u64> {
        let (mut moved, mut races) = (0, 0);
        while !is_over() && races < limits::ATTEMPTS_MAX {
            let Some(facts) = self.facts().await? else { break };
            let mut rows = self.rows(facts).await?;
            let oldest = rows.first().map(|(record, _)| record.msg_id);
            let is_enough = |oldest: &MsgId| {
                let rules = &self.store.settings.tier;
                *oldest <= facts.cold || rules.is_enough(rows.len(), *oldest, self.up_to)
            };
            let Some(oldest) = oldest.filter(is_enough) else {
                self.look_again(facts).await?;
                break;
            };
            let is_late = oldest <= facts.cold;
            let partner = if is_late { self.around(oldest).await? } else { None };
            match partner {
                Some(segment) => {
                    rows.retain(|(record, _)| record.msg_id <= segment.last_id);
                    moved += self.step(facts, Some(segment), rows, &mut races).await?;
                }
                None => {
                    let newest = self.newest().await?;
                    moved += self.step(facts, newest, rows, &mut races).await?;
                }
            }
        }
        Ok(moved)
    }

    /// Puts rows into a segment, or into one of their own; gives how many, and counts a race that was lost.
    async fn step(
        &self,
        facts: Facts,
        segment: Option<Stored>,
        rows: Rows,
        races: &mut usize,
    ) -> Result<u64> {
        let taken = taken(&rows);
        let mut records = segment.as_ref().map_or(Ok(Vec::new()), |segment| segment.records(self.cid))?;
        let count = rows.len() as u64;
        let rows: Vec<Record> = rows.into_iter().map(|(record, _)| record).collect();
        records.retain(|packed| rows.binary_search_by_key(&packed.msg_id, |row| row.msg_id).is_err());
        records.extend(rows);
        records.sort_by_key(|record| record.msg_id);
        let new = pack(self.cid, &records)?;
        let change = Replacement {
            cid: self.cid,
            version: facts.version,
            old: segment.as_ref(),
            new: &new,
            taken,
            back: &[],
            expires: None,
        };
        match replace(self.db, &change).await? {
            true => Ok(count),
            false => {
                *races += 1;
                Ok(0)
            }
        }
    }

    async fn facts(&self) -> Result<Option<Facts>> {
        const STATEMENT: &str =
            "SELECT cold_msg_id, cold_version, shown_msg_id FROM conversation WHERE cid = $1::bigint";
        let mut rows = self.db.query(STATEMENT, params![self.cid]).await?;
        let Some(row) = rows.first_mut() else { return Ok(None) };
        Ok(Some(Facts { cold: row.msg_id()?, version: row.count()?, shown: row.msg_id()? }))
    }

    async fn rows(&self, facts: Facts) -> Result<Rows> {
        let statement = format!(
            "SELECT {COLUMNS}, stamp FROM (
                SELECT m.*, sum(length(content)) OVER (ORDER BY msg_id) - length(content) AS before FROM (
                    SELECT x.*, x.xmin::text::bigint AS stamp FROM message x
                    WHERE cid = $1::bigint AND msg_id <= $2::bigint ORDER BY msg_id LIMIT $3::bigint) m) sized
            WHERE before < $4::bigint ORDER BY msg_id"
        );
        let up_to = self.up_to.min(before(facts.shown));
        let parameters = params![self.cid, up_to, ROWS_MAX, BYTES_MAX];
        let rows = self.db.query(&statement, parameters).await?;
        rows.into_iter().map(|mut row| Ok((record(&mut row)?, row.int()?))).collect()
    }

    /// The segment that a message belongs to which came late.
    async fn around(&self, id: MsgId) -> Result<Option<Stored>> {
        let statement = format!(
            "SELECT {} FROM segment WHERE cid = $1::bigint AND last_id >= $2::bigint ORDER BY last_id LIMIT 1",
            Stored::COLUMNS
        );
        let mut rows = self.db.query(&statement, params![self.cid, id]).await?;
        Ok(rows.first_mut().map(Stored::read).transpose()?)
    }

    /// The newest segment, if it is small, and sound.
    async fn newest(&self) -> Result<Option<Stored>> {
        let statement = format!(
            "SELECT {} FROM (SELECT * FROM segment WHERE cid = $1::bigint ORDER BY last_id DESC LIMIT 1) s
            WHERE messages < $2::bigint",
            Stored::COLUMNS
        );
        let parameters = params![self.cid, GROWS_MAX];
        let mut rows = self.db.query(&statement, parameters).await?;
        let newest = rows.first_mut().map(Stored::read).transpose()?;
        Ok(newest.filter(|segment| segment.records(self.cid).is_ok()))
    }

    /// Notes when to look at the conversation again: once enough is old, or what there is has waited for long; at
    /// the latest when what is said from now on is old. Unless something was taken out meanwhile.
    async fn look_again(&self, facts: Facts) -> Result<()> {
        const ROWS: &str = "
            SELECT (SELECT min(msg_id) FROM message WHERE cid = $1::bigint AND msg_id < $2::bigint),
                (SELECT msg_id FROM message WHERE cid = $1::bigint ORDER BY msg_id OFFSET $3::bigint LIMIT 1)";
        const NOTE: &str = "
            UPDATE conversation SET cold_look = $3::bigint WHERE cid = $1::bigint AND cold_version = $2::bigint";
        let rules = &self.store.settings.tier;
        let parameters = params![self.cid, facts.shown, rules.messages_min.saturating_sub(1) as u64];
        let mut rows = self.db.query(ROWS, parameters).await?;
        let Some(row) = rows.first_mut() else { return Ok(()) };
        let (oldest, enough) = (row.opt_msg_id()?, row.opt_msg_id()?.unwrap_or(MsgId::MAX));
        let look = match oldest {
            Some(oldest) => rules.at_last(oldest).min(enough).max(after(self.up_to)),
            None => MsgId::floor_of(self.store.now_ms()),
        };
        self.db.query(NOTE, params![self.cid, facts.version, look]).await?;
        Ok(())
    }
}

fn taken(rows: &Rows) -> Option<Taken> {
    let (first, last) = (rows.first()?, rows.last()?);
    Some(Taken {
        first: first.0.msg_id,
        last: last.0.msg_id,
        rows: rows.len() as u64,
        stamps: rows.iter().map(|(_, stamp)| stamp).sum(),
    })
}
