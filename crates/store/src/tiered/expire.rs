//! The purge of what has expired. Readers do not see it any more, purged or not.
//!
//! First the hot store lets go of it, as far as SQL has it; what the hot store knows of a conversation's retention
//! and SQL does not yet, counts. Then SQL deletes it, so many rows at a time, and takes what messages were before
//! from their trace. Killed anywhere, the next run goes on: a conversation is let be only when all is done. Rows
//! that are being written to are passed over, and a conversation that is being purged is locked, so that one which
//! is told to be held loses nothing more.

mod purge;
mod segments;

use super::keys::Place;
use super::{Tiered, layout, read, script, stamp, unknown_word};
use crate::arguments;
use crate::expiry::{Candidate, Scan, Spot};
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::limits::EXPIRE_CONVERSATIONS_MAX;
use im_domain::{ConversationId, Error, MsgId, Result};
use purge::Doomed;
use std::collections::BTreeMap;

/// A candidate's partition has to be here; its clock says which of its log SQL has.
const HERE: &str = "JOIN partition_state s ON s.partition = (c.cid >> 14) & 255 AND s.home = 1";

/// Purges until nothing is left or `is_over` says so; gives the number of messages. A server that is away keeps
/// nobody from the others.
pub(super) async fn expire<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    is_over: impl Fn() -> bool,
) -> Result<u64> {
    let failure = match layout::check(store).await {
        Err(error @ Error::SqlUnavailable { .. }) => Some(error),
        checked => checked.map(|_| None)?,
    };
    let now_ms = store.now_ms();
    let mut run = Run { store, now_ms, is_over, purged: 0, failure };
    for database in 0..store.databases.len() {
        for scan in Scan::all(&store.settings.retention, now_ms) {
            for (after, last) in scan.parts((store.settings.random)()) {
                let walked = run.walk(database, &scan, after, last).await;
                run.note(walked);
            }
        }
    }
    run.failure.map_or(Ok(run.purged), Err)
}

struct Run<'a, R, P, F> {
    store: &'a Tiered<R, P>,
    /// When it began, in milliseconds since 1970.
    now_ms: u64,
    is_over: F,
    /// Messages.
    purged: u64,
    failure: Option<Error>,
}

impl<R: Redis, P: Postgres, F: Fn() -> bool> Run<'_, R, P, F> {
    fn note(&mut self, outcome: Result<()>) {
        self.failure = outcome.err().or(self.failure.take());
    }

    /// Purges conversations of a database after a spot, up to a key.
    async fn walk(&mut self, database: usize, scan: &Scan, mut after: Spot, last: i64) -> Result<()> {
        let statement = scan.statement(", s.clock", HERE, |number| format!("${number}::bigint"));
        let db = self.store.database(database)?;
        while !(self.is_over)() {
            let parameters = Scan::parameters(after, last, EXPIRE_CONVERSATIONS_MAX);
            let rows = db.query(&statement, parameters).await?;
            let is_last = rows.len() < EXPIRE_CONVERSATIONS_MAX;
            let mut expired: BTreeMap<usize, Vec<Expired>> = BTreeMap::new();
            for mut row in rows {
                let candidate = Candidate::read(&mut row)?;
                after = candidate.spot;
                if let Some(one) = Expired::of(self.store, &candidate, self.now_ms, row.msg_id()?)? {
                    expired.entry(self.store.node_of(one.place.partition)).or_default().push(one);
                }
            }
            for (node, expired) in expired {
                let purged = self.purge(database, node, expired).await;
                self.note(purged);
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// Purges conversations of one server and one database: all of them once, and then those that have more.
    async fn purge(&mut self, database: usize, node: usize, expired: Vec<Expired>) -> Result<()> {
        let doomed = let_go(self.store, node, expired).await?;
        let db = self.store.database(database)?;
        // Segments are older than rows.
        for one in &doomed {
            self.purged += segments::purge(db, one, &self.is_over).await?;
        }
        let (purged, left) = purge::step(db, &doomed).await?;
        self.purged += purged;
        for one in doomed.into_iter().filter(|one| left.contains(&one.cid)) {
            let mut has_more = true;
            while has_more && !(self.is_over)() {
                let (purged, left) = purge::step(db, std::slice::from_ref(&one)).await?;
                self.purged += purged;
                has_more = !left.is_empty();
            }
        }
        Ok(())
    }
}

/// A conversation of which something has expired, as SQL knows it.
struct Expired {
    place: Place,
    doomed: Doomed,
    /// What scripts are told of the tenant's retention.
    times: String,
    /// SQL has the partition's log up to this stamp.
    in_sql: MsgId,
}

impl Expired {
    fn of<R: Redis, P: Postgres>(
        store: &Tiered<R, P>,
        candidate: &Candidate,
        now_ms: u64,
        in_sql: MsgId,
    ) -> Result<Option<Self>> {
        let up_to = candidate.expired_up_to(&store.settings.retention, now_ms);
        if up_to < candidate.oldest {
            return Ok(None);
        }
        let id = ConversationId::parse(candidate.name.as_str())?;
        let cid = MsgId::from_sql(candidate.cid);
        Ok(Some(Self {
            place: Place::of(&candidate.tenant, &id),
            doomed: Doomed { cid, up_to, retention_ms: candidate.retention_ms },
            times: super::retention::times(store, &candidate.tenant),
            in_sql,
        }))
    }
}

/// Takes what has expired of conversations of a server out of the hot store; gives what SQL may purge.
async fn let_go<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    node: usize,
    expired: Vec<Expired>,
) -> Result<Vec<Doomed>> {
    let keys: Vec<String> =
        expired.iter().flat_map(|one| [one.place.clock(), one.place.head(), one.place.messages()]).collect();
    let arguments =
        expired.iter().flat_map(|one| arguments![one.times.as_str(), stamp::text(one.in_sql)]).collect();
    let (word, mut reply) = store.ask_node(node, &script::EXPIRE, &keys, arguments).await?;
    if word != "ok" {
        return Err(unknown_word("expire", &word));
    }
    let mut doomed = Vec::with_capacity(expired.len());
    for Expired { doomed: mut one, .. } in expired {
        if let Some(hot) = read::id_or_none(&mut reply)? {
            one.up_to = one.up_to.min(hot);
        }
        if !one.up_to.is_none() {
            doomed.push(one);
        }
    }
    Ok(doomed)
}
