//! Adding and removing databases while the store is in use.
//!
//! 1. [`declare`] records in every database how many there are to be; new ones are set up. From then on
//!    instances may run with the old list of databases or with the new one, as long as what they need is
//!    in it: when databases are added, instances get the new list before the next step; when some are
//!    removed, after it.
//! 2. [`move_partitions`] moves each partition whose place among so many is another ([`switch`]). Messages
//!    are copied while everything goes on; then the partition changes its home, and only its drain waits.
//! 3. [`finish`] records that this is how many there are, refuses the old list from then on, and deletes
//!    the rows that were left behind.
//!
//! All three take an engine with the longer of the two lists. Killed anywhere, each is called again and goes
//! on. A change of the number of Redis servers is [`change_redis`]: it needs the store at rest.

mod clear;
mod copy;
mod redis;
mod segments;
mod switch;

pub use redis::change_redis;

use super::home::{CallOff, locate, note};
use super::layout::{self, Layout, wrong_place};
use super::{Tiered, keys, limits, migrate, script, topology};
use crate::params;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::{Error, Result};

/// The position of the database that has a partition, of so many, once everything is at its place.
pub fn place_of(partition: u8, databases: usize) -> usize {
    topology::server_of(partition, databases)
}

/// A partition that has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub partition: u8,
    /// Positions of databases.
    pub from: usize,
    pub to: usize,
    /// Partitions that are still to be moved.
    pub left: usize,
}

/// Records how many databases there are to be.
pub async fn declare<R: Redis, P: Postgres>(store: &Tiered<R, P>, to: usize) -> Result<()> {
    const TARGET: &str = "UPDATE layout SET target_databases = $1::bigint WHERE id = 1";
    let first = layout::read(store.database(0)?).await?;
    let from =
        first.ok_or_else(|| wrong_place("database", 0, store.databases.len(), "not in use"))?.databases;
    let (given, target) = (store.databases.len() as u64, to as u64);
    if target == from || target == 0 || given != from.max(target) {
        return Err(Error::internal(format!(
            "{from} databases are in use and {target} are to be: give the longer of the two lists, which are \
             to differ"
        )));
    }
    let mut used = Vec::new();
    for (position, db) in store.databases.iter().enumerate() {
        let layout =
            Layout { position: position as u64, databases: from, target, nodes: store.nodes.len() as u64 };
        match layout::read(db).await? {
            Some(found) => refuse(&found, &layout, position)?,
            None if (position as u64) < from => {
                return Err(wrong_place("database", position, store.databases.len(), "not in use"));
            }
            None => {
                migrate::check(db, store.now_ms()).await?;
                refuse_used(db, position).await?;
                layout::record(db, layout).await?;
            }
        }
        used.push(db);
    }
    // The new ones are ready: from here on the new list is good.
    for db in used {
        db.query(TARGET, params![target]).await?;
    }
    Ok(())
}

fn refuse(found: &Layout, wanted: &Layout, position: usize) -> Result<()> {
    let place = format!("{}/{}", found.position, found.databases);
    if (found.position, found.databases) != (wanted.position, wanted.databases) {
        return Err(wrong_place(
            "database",
            position,
            usize::try_from(wanted.databases).unwrap_or(0),
            &place,
        ));
    }
    if found.nodes != wanted.nodes {
        return Err(Error::internal(format!(
            "there are {} Redis servers, not {}",
            found.nodes, wanted.nodes
        )));
    }
    if ![0, wanted.target].contains(&found.target) {
        return Err(Error::internal(format!("a change to {} databases is under way", found.target)));
    }
    Ok(())
}

/// A database that is added has to be empty.
async fn refuse_used<P: Postgres>(db: &P, position: usize) -> Result<()> {
    const USED: &str = "
        SELECT 1 FROM partition_state UNION ALL (SELECT 1 FROM conversation LIMIT 1) LIMIT 1";
    match db.query(USED, Vec::new()).await?.is_empty() {
        true => Ok(()),
        false => Err(Error::internal(format!("database {} is to be added and is not empty", position + 1))),
    }
}

/// How many databases there are to be, by the longest list.
async fn target<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<usize> {
    let none = || Error::internal("no change of the databases is under way: declare it first");
    let layout =
        layout::read(store.database(0)?).await?.filter(|layout| layout.target > 0).ok_or_else(none)?;
    layout::check(store).await?;
    if !layout::is_longest(store).await? {
        return Err(Error::internal("the longer of the two lists of databases is needed"));
    }
    usize::try_from(layout.target).map_err(|_| none())
}

/// A partition that is not at its place: its number, where it is, and where it is to be.
type Misplaced = (u8, usize, usize);

async fn misplaced<R: Redis, P: Postgres>(store: &Tiered<R, P>, target: usize) -> Result<Vec<Misplaced>> {
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let homes = locate(store, &all, CallOff::Now).await?;
    let with_target =
        |(partition, from): (u8, usize)| (partition, from, topology::server_of(partition, target));
    Ok(homes.into_iter().map(with_target).filter(|(_, from, to)| from != to).collect())
}

/// Moves every partition to its place among as many databases as there are to be.
pub async fn move_partitions<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    mut progress: impl FnMut(Moved),
) -> Result<()> {
    let target = target(store).await?;
    for _ in 0..limits::ATTEMPTS_MAX {
        let misplaced = misplaced(store, target).await?;
        if misplaced.is_empty() {
            return Ok(());
        }
        let count = misplaced.len();
        for (index, (partition, from, to)) in misplaced.into_iter().enumerate() {
            if switch::move_one(store, partition, from, to).await? {
                progress(Moved { partition, from, to, left: count - index - 1 });
            }
        }
    }
    Err(super::overloaded())
}

/// Makes the declared number of databases the one there is, once every partition is at its place.
pub async fn finish<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    const DATABASES: &str = "UPDATE layout SET databases = target_databases WHERE id = 1";
    const DONE: &str = "UPDATE layout SET target_databases = 0 WHERE id = 1";
    const NONE: &str = "DELETE FROM layout";
    let (target, is_recorded) = finishing(store).await?;
    let left = misplaced(store, target).await?.len();
    if left > 0 {
        return Err(Error::internal(format!(
            "{left} partitions are not at their place yet: move them first"
        )));
    }
    if !is_recorded {
        // Who made a move may have died before Redis was told.
        let all: Vec<u8> = (0..=u8::MAX).collect();
        let homes: Vec<_> = locate(store, &all, CallOff::Now).await?.into_iter().collect();
        note(store, &homes, "").await?;
    }
    for db in &store.databases {
        db.query(DATABASES, Vec::new()).await?;
    }
    recheck(store).await?;
    (store.settings.pause)(limits::MOVED_ROWS_LIFE_MS).await;
    for db in &store.databases {
        clear::clear(db).await?;
    }
    // The first one goes last: it tells that there is something to finish.
    for (position, db) in store.databases.iter().enumerate().rev() {
        db.query(if position < target { DONE } else { NONE }, Vec::new()).await?;
    }
    Ok(())
}

/// As [`target`], and whether it is recorded somewhere as the number that there is; databases that are
/// removed may be gone from the layout then.
async fn finishing<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<(usize, bool)> {
    let none = || Error::internal("no change of the databases is under way");
    let layout =
        layout::read(store.database(0)?).await?.filter(|layout| layout.target > 0).ok_or_else(none)?;
    let given = store.databases.len() as u64;
    if layout.databases != layout.target {
        return Ok((target(store).await?, false));
    }
    for (position, db) in store.databases.iter().enumerate() {
        let found = layout::read(db).await?;
        let is_other = found.is_some_and(|found| found.position != position as u64);
        if is_other || (found.is_none() && (position as u64) < layout.target) || given < layout.target {
            return Err(wrong_place("database", position, store.databases.len(), "at another place"));
        }
    }
    Ok((usize::try_from(layout.target).map_err(|_| none())?, true))
}

/// Lets every instance look at the list of databases once more.
async fn recheck<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    for (index, node) in store.nodes.iter().enumerate() {
        let partitions = topology::partitions_of(index, store.nodes.len());
        let clocks: Vec<String> = partitions.into_iter().map(keys::clock).collect();
        script::RECHECK.run(&node.redis, &clocks, &[]).await?;
    }
    Ok(())
}
