//! Another number of Redis servers. Nothing may use the store meanwhile.
//!
//! Everything goes to SQL, and the hot store is emptied; the new servers are met as if they had lost
//! everything, so that new epochs begin by themselves.

use super::super::{Tiered, layout, upkeep};
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use crate::{arguments, params};
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_domain::{Error, Result};

/// How long one run drains before it looks at what is left, in milliseconds.
const DRAIN_MS: u64 = 60_000;
/// Keys looked at by one step.
const KEYS_PER_STEP: u64 = 1_000;

/// Empties the servers of `store`, once SQL has everything, and records that there are to be `nodes` of
/// them, of which `new` are those that were not among them before; they are emptied too.
pub async fn change_redis<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    new: &[R],
    nodes: usize,
) -> Result<()> {
    const NODES: &str = "UPDATE layout SET hot_nodes = $1::bigint WHERE id = 1";
    if !is_emptied(store, nodes).await? {
        drain(store).await?;
        for redis in store.nodes.iter().map(|node| &node.redis).chain(new) {
            empty(redis).await?;
        }
    }
    for db in &store.databases {
        db.query(NODES, params![nodes as u64]).await?;
    }
    Ok(())
}

/// Whether the new number is recorded somewhere: what comes before is done then.
async fn is_emptied<R: Redis, P: Postgres>(store: &Tiered<R, P>, nodes: usize) -> Result<bool> {
    for db in &store.databases {
        if layout::read(db).await?.is_some_and(|layout| layout.nodes == nodes as u64) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn drain<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    store.ready().await?;
    let mut before = u64::MAX;
    loop {
        let left = Storage::run(store, &[Task::Drain], DRAIN_MS).await?.backlog;
        if left == 0 {
            break;
        }
        if left >= before {
            return Err(Error::internal(format!("{left} entries wait for SQL and do not become fewer")));
        }
        before = left;
    }
    let dead: u64 = upkeep::backlogs(store, None).await?.iter().map(|backlog| backlog.dead).sum();
    match dead {
        0 => Ok(()),
        dead => Err(Error::internal(format!("{dead} dead letters would be lost: replay or drop them first"))),
    }
}

/// Deletes every key of ours.
async fn empty<R: Redis>(redis: &R) -> Result<()> {
    let mut cursor = "0".to_owned();
    loop {
        let scan = arguments![cursor.as_str(), "MATCH", "im:*", "COUNT", KEYS_PER_STEP];
        let mut reply = Reply::new(redis.command("SCAN", scan).await?);
        cursor = reply.text()?;
        let mut keys: Vec<Argument> = Vec::with_capacity(reply.left());
        while reply.left() > 0 {
            keys.push(reply.bytes()?.into());
        }
        if !keys.is_empty() {
            redis.command("UNLINK", keys).await?;
        }
        if cursor == "0" {
            return Ok(());
        }
    }
}
