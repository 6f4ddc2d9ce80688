//! Waiting until SQL has something: a message that is to be `persisted`, or everything a partition was
//! told so far.

use super::cold::Cold;
use super::drain;
use super::entry::Entry;
use super::keys::Place;
use super::{Tiered, keys, limits, overloaded, rows};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use im_domain::limits::RETRY_AFTER_MS;
use im_domain::message::Receipt;
use im_domain::{Error, MsgId, Result, Tenant};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Waits until SQL has every message that has a receipt. An error means that it may not have some: they
/// are accepted, and a retry with the same clientMsgIds waits on. SQL may find that a message repeats an
/// earlier one: then the receipt becomes that one's.
pub(super) async fn all<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    receipts: &mut [Result<Receipt>],
) -> Result<()> {
    let mut wanted: BTreeMap<Place, BTreeSet<MsgId>> = BTreeMap::new();
    for receipt in receipts.iter().flatten() {
        wanted.entry(Place::of(tenant, &receipt.conversation)).or_default().insert(receipt.msg_id);
    }
    let waits = wanted.into_iter().map(|(place, ids)| messages(store, place, ids));
    let mut firsts = BTreeMap::new();
    for found in futures::future::join_all(waits).await {
        firsts.extend(found?);
    }
    for receipt in receipts.iter_mut().flatten() {
        if let Some((first, seq)) = firsts.get(&receipt.msg_id) {
            receipt.duplicate = true;
            (receipt.msg_id, receipt.seq, receipt.create_time) = (*first, *seq, first.time_ms());
        }
    }
    Ok(())
}

/// Waits for messages of one conversation; gives id and `seq` of the first for each that repeats one.
async fn messages<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: Place,
    ids: BTreeSet<MsgId>,
) -> Result<Vec<(MsgId, (MsgId, u64))>> {
    let firsts = RefCell::new(Vec::new());
    let are_there = async || match stored(store.sql(place.partition).await?, &place, &ids).await? {
        Some(found) => {
            firsts.replace(found);
            Ok(true)
        }
        None => Ok(false),
    };
    if wait(store, place.partition, are_there).await? {
        return Ok(firsts.into_inner());
    }
    // Accepted it is, and SQL is too slow, or has refused it: to say "persisted" would be a lie.
    Err(Error::SqlUnavailable { retry_after_ms: RETRY_AFTER_MS })
}

/// Id and `seq` of the first for each message that repeats one; none: SQL does not have all of them.
async fn stored<P: Postgres>(
    db: &P,
    place: &Place,
    ids: &BTreeSet<MsgId>,
) -> Result<Option<Vec<(MsgId, (MsgId, u64))>>> {
    const STATEMENT: &str = "
        SELECT c.cid, c.cold_msg_id, m.msg_id, m.copy_of, f.seq FROM conversation c
        LEFT JOIN message m ON m.cid = c.cid AND m.msg_id = ANY ($3::bigint[])
        LEFT JOIN message f ON f.cid = m.cid AND f.msg_id = m.copy_of AND m.copy_of > 0
        WHERE c.tenant = $1::text AND c.name = $2::text";
    let list: Vec<MsgId> = ids.iter().copied().collect();
    let parameters = vec![place.tenant().into(), place.conversation().into(), rows::list(&list)];
    let (mut cid, mut end, mut missing) = (MsgId::NONE, MsgId::NONE, ids.clone());
    let mut firsts = Vec::new();
    for mut row in db.query(STATEMENT, parameters).await? {
        (cid, end) = (row.msg_id()?, row.msg_id()?);
        let Some(id) = row.opt_msg_id()? else { break };
        missing.remove(&id);
        let first = row.opt_msg_id()?.zip(row.opt_int()?.map(i64::unsigned_abs));
        firsts.extend(first.map(|first| (id, first)));
    }
    if missing.iter().any(|id| *id > end) {
        return Ok(None);
    }
    // A message that is sent again may have been packed long ago.
    let missing: Vec<MsgId> = missing.into_iter().collect();
    let found = Cold { db, cid }.find(&missing).await?;
    Ok((found.len() == missing.len()).then_some(firsts))
}

/// As [`reach_now`], where that is at most one batch away.
pub(super) async fn reach_if_near<R: Redis, P: Postgres>(store: &Tiered<R, P>, partition: u8) -> Result<()> {
    let node = store.node(store.node_of(partition))?;
    let length = node.redis.command("XLEN", arguments![keys::log(partition)]).await?;
    match Reply::new(length).number()? {
        1..=limits::DRAIN_ENTRIES_MAX => reach_now(store, partition).await,
        _ => Ok(()),
    }
}

/// Waits until SQL has everything that the partition's log has now.
pub(super) async fn reach_now<R: Redis, P: Postgres>(store: &Tiered<R, P>, partition: u8) -> Result<()> {
    const STATEMENT: &str = "SELECT clock FROM partition_state WHERE partition = $1::bigint";
    let node = store.node(store.node_of(partition))?;
    let newest = arguments![keys::log(partition), "+", "-", "COUNT", 1_u64];
    let last = node.redis.command("XREVRANGE", newest).await?;
    let Some(stamp) = newest_stamp(Reply::new(last)) else { return Ok(()) };
    let has_reached = async || {
        let mut rows =
            store.sql(partition).await?.query(STATEMENT, crate::params![u64::from(partition)]).await?;
        Ok(rows.first_mut().map_or(Ok(MsgId::NONE), |row| row.msg_id())? >= stamp)
    };
    match wait(store, partition, has_reached).await? {
        true => Ok(()),
        false => Err(overloaded()),
    }
}

/// The stamp of the entry that `XREVRANGE … COUNT 1` gave: id, `v`, value. An entry that is none will
/// be buried and keeps nobody waiting.
fn newest_stamp(mut reply: Reply) -> Option<MsgId> {
    let id = reply.text().ok()?;
    reply.bytes().ok()?;
    Some(Entry::parse(&id, &reply.bytes().ok()?)?.stamp)
}

/// Drains the partition until `is_done`, or the log is empty, or the time is over; whether it is done.
async fn wait<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partition: u8,
    is_done: impl AsyncFn() -> Result<bool>,
) -> Result<bool> {
    let holder = store.random_name();
    let begun = store.now_ms();
    loop {
        let batch = drain::batch(store, partition, &holder).await?;
        if is_done().await? {
            return Ok(true);
        }
        if store.now_ms().saturating_sub(begun) > limits::PERSIST_WAIT_MS_MAX {
            return Ok(false);
        }
        if batch.is_held {
            (store.settings.pause)(limits::PERSIST_POLL_MS).await;
        } else if batch.left == 0 {
            return is_done().await;
        }
    }
}
