//! Which databases and Redis servers there are, as each database has it recorded: an engine with another
//! list is refused before it reads or writes anything.
//!
//! While databases are added or removed two lists are good: the one that was and the one that is to be.

use super::{Tiered, migrate};
use crate::params;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::{Error, Result};

/// What a database has recorded; places are counted from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub position: u64,
    pub databases: u64,
    /// How many there are to be; 0: no more and no less.
    pub target: u64,
    pub nodes: u64,
}

/// Makes sure that every database is the one that this place of the list has always been, and gives how
/// many there are. Databases that are used for the first time are set up.
pub(super) async fn check<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<usize> {
    if let Some(databases) = known(store).await? {
        return Ok(databases);
    }
    for (position, db) in store.databases.iter().enumerate() {
        migrate::check(db, store.now_ms()).await?;
        let (databases, nodes) = (store.databases.len() as u64, store.nodes.len() as u64);
        record(db, Layout { position: position as u64, databases, target: 0, nodes }).await?;
    }
    // Another engine may have set them up at the same time, from another list.
    known(store).await?.ok_or_else(|| Error::internal("the databases' layout is not kept"))
}

/// How many databases there are; none when there are some to set up. Nothing is written.
async fn known<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<Option<usize>> {
    let given = store.databases.len() as u64;
    let mut layouts = Vec::with_capacity(store.databases.len());
    for (position, db) in store.databases.iter().enumerate() {
        let layout = read(db).await?;
        if let Some(layout) = &layout {
            refuse_other(layout, position, given, store.nodes.len())?;
        }
        layouts.push(layout);
    }
    if layouts.iter().all(Option::is_some) {
        // A target that is recorded as reached in one place holds in all.
        let reached = layouts.iter().flatten().find(|layout| layout.databases == layout.target);
        let layout = reached.or(layouts.iter().flatten().next());
        return Ok(layout.and_then(|layout| usize::try_from(layout.databases).ok()));
    }
    let place = layouts.iter().position(Option::is_none).unwrap_or_default();
    let is_first_use = layouts.iter().flatten().all(|one| one.databases == given && one.target == 0)
        && !has_partitions(store, &layouts).await?;
    match is_first_use {
        true => Ok(None),
        false => Err(wrong_place("database", place, store.databases.len(), "not in use")),
    }
}

/// Whether any of the databases that have a layout is in use.
async fn has_partitions<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    layouts: &[Option<Layout>],
) -> Result<bool> {
    for (db, _) in store.databases.iter().zip(layouts).filter(|(_, layout)| layout.is_some()) {
        if !db.query("SELECT 1 FROM partition_state LIMIT 1", Vec::new()).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the list has all databases that there are, even while some are added or removed.
pub(super) async fn is_longest<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<bool> {
    let Some(layout) = read(store.database(0)?).await? else { return Ok(true) };
    Ok(store.databases.len() as u64 >= layout.databases.max(layout.target))
}

fn refuse_other(layout: &Layout, position: usize, given: u64, nodes: usize) -> Result<()> {
    let is_good = layout.position == position as u64 && [layout.databases, layout.target].contains(&given);
    if !is_good {
        let found = format!("{}/{}", layout.position, layout.databases);
        return Err(wrong_place("database", position, usize::try_from(given).unwrap_or_default(), &found));
    }
    if layout.nodes != nodes as u64 {
        return Err(wrong_place("Redis server", 0, nodes, &format!("one of {}", layout.nodes)));
    }
    Ok(())
}

pub(super) fn wrong_place(what: &str, place: usize, count: usize, found: &str) -> Error {
    Error::internal(format!(
        "{what} {} of {count} was {found} (place/count, from 0) before: the list of servers has changed; \
         restore it, or run `im rebalance`",
        place + 1
    ))
}

/// None: the database is empty, or was never part of a list.
pub(super) async fn read<P: Postgres>(db: &P) -> Result<Option<Layout>> {
    const STATEMENT: &str =
        "SELECT position, databases, target_databases, hot_nodes FROM layout WHERE id = 1";
    if !migrate::is_set_up(db).await? {
        return Ok(None);
    }
    let mut rows = db.query(STATEMENT, Vec::new()).await?;
    let Some(row) = rows.first_mut() else { return Ok(None) };
    let (position, databases) = (row.count()?, row.count()?);
    Ok(Some(Layout { position, databases, target: row.count()?, nodes: row.count()? }))
}

/// Records a layout where there is none.
pub(super) async fn record<P: Postgres>(db: &P, layout: Layout) -> Result<()> {
    const STATEMENT: &str = "
        INSERT INTO layout (id, position, databases, target_databases, hot_nodes)
        VALUES (1, $1::bigint, $2::bigint, $3::bigint, $4::bigint) ON CONFLICT DO NOTHING";
    let parameters = params![layout.position, layout.databases, layout.target, layout.nodes];
    db.query(STATEMENT, parameters).await?;
    Ok(())
}
