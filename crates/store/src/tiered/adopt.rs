//! What happens when a Redis server is met for the first time, or is not the same any more: restarted,
//! failed over, emptied, or replaced by an older copy.
//!
//! Scripts compare the run they are told (the server's run id and the list of servers) with that under
//! which the partition's clock was adopted. When it differs they do nothing but say "verify", and the
//! server's partitions are adopted, all at once:
//!
//! 1. `prepare.lua` names a token; whoever comes second gets the same one.
//! 2. SQL compares the surviving clocks with how far it has got. A clock behind SQL's: state was lost that
//!    SQL has; that server's hot state is not trusted any more (a new `base`).
//!    Otherwise all that can be lost are the last writes; with [`super::HotDurability::Always`] not even those.
//! 3. `adopt.lua` lets the clocks go on above everything that was ever given. Unless nothing can be lost
//!    the epoch is new, and conversations jump ahead in `seq`.
//!
//! A server that has run on, and is met with another list of servers, has lost nothing: where the list is one
//! that the databases have recorded, its clocks are told of the list, and nothing else changes.
//!
//! A step that is repeated with the same token changes nothing, so any number of instances may adopt at
//! once, and die in between.

mod settle;

use super::layout::{self, wrong_place};
use super::limits::{ATTEMPTS_MAX, DOUBT_MS, EPOCH_CLOCK_GAP_MS};
use super::{Node, Tiered, home, keys, script, stamp, topology};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply, Value};
use im_domain::limits::RETRY_AFTER_MS;
use im_domain::msg_id::ID_EPOCH_MS;
use im_domain::{Error, MsgId, Result};
use std::collections::BTreeMap;

impl<R: Redis, P: Postgres> Tiered<R, P> {
    /// The run of a server, as scripts are told it.
    pub(super) async fn run(&self, node: usize) -> Result<String> {
        let server = self.node(node)?;
        for _ in 0..ATTEMPTS_MAX {
            let lost = server.redis.connections_lost();
            if let Some((run, _)) = server.run.borrow().as_ref().filter(|(_, before)| *before == lost) {
                return Ok(run.clone());
            }
            let run = format!("{}/{}", run_id(server).await?, self.settings.servers);
            // Another request may have lost the connection meanwhile.
            server.run.replace(Some((run, lost)));
        }
        Err(Error::HotUnavailable { retry_after_ms: RETRY_AFTER_MS })
    }
}

/// A name that the server makes at each start.
async fn run_id<R: Redis>(node: &Node<R>) -> Result<String> {
    let mut reply = Reply::new(node.redis.command("INFO", arguments!["server"]).await?);
    let info = reply.text()?;
    let id = info.lines().find_map(|line| line.strip_prefix("run_id:"));
    id.map(|id| id.trim().to_owned()).ok_or_else(|| Error::internal("the hot store tells no run_id"))
}

/// A partition's clock as Redis has it.
struct Survivor {
    partition: u8,
    /// The last id that was given; 0: no clock.
    last: MsgId,
    /// Whether SQL has, or had, the partition.
    is_known: bool,
    /// Whether the server has run on since: nothing can be lost.
    same_run: bool,
}

/// A partition as SQL has it, once the token is written there.
struct Settled {
    database: usize,
    epoch: String,
    base: String,
    clock: MsgId,
}

/// Adopts a server's partitions. See the module's documentation.
pub(super) async fn adopt<R: Redis, P: Postgres>(store: &Tiered<R, P>, node: usize) -> Result<()> {
    for _ in 0..ATTEMPTS_MAX {
        // Before anything is written: with a wrong list of databases nothing may be.
        let databases = layout::check(store).await?;
        let Some((token, survivors)) = prepare(store, node).await? else { return Ok(()) };
        // Of a server that has run on nothing is lost, and others may write to it meanwhile.
        let (kept, changed): (Vec<_>, Vec<_>) = survivors.iter().partition(|survivor| survivor.same_run);
        let kept: Vec<u8> = kept.into_iter().map(|survivor| survivor.partition).collect();
        if let Some(partition) = home::unknown(store, &kept).await? {
            return Err(settle::lost(partition));
        }
        let settled = settle::settle(store, databases, &token, &changed).await?;
        if finish(store, node, &token, &survivors, &settled).await? {
            return Ok(());
        }
    }
    Err(Error::internal("the hot store was adopted anew again and again"))
}

/// The token of the adoption, and what is there to adopt; nothing when it is done already.
async fn prepare<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    node: usize,
) -> Result<Option<(String, Vec<Survivor>)>> {
    let partitions = topology::partitions_of(node, store.nodes.len());
    let mut keys = vec![keys::ADOPTION.to_owned(), keys::NODE.to_owned()];
    keys.extend(partitions.iter().map(|partition| keys::clock(*partition)));
    let run = store.run(node).await?;
    let place = format!("{node}/{}", store.nodes.len());
    let arguments = arguments![run.as_str(), store.random_name(), place.as_str()];
    let mut reply = script::PREPARE.run(&store.node(node)?.redis, &keys, &arguments).await?;
    match reply.text()?.as_str() {
        "done" => return Ok(None),
        "other" => return Err(wrong_place("Redis server", node, store.nodes.len(), &reply.text()?)),
        _ => {}
    }
    let token = reply.text()?;
    let survivor = |partition: u8| {
        let before = reply.text()?;
        let (ms, counter) = (reply.number()?, reply.number()?);
        let low = u64::from(partition) << 14 | counter;
        let last = if before.is_empty() { MsgId::NONE } else { stamp::join(ms, low) };
        let id = |run: &str| run.split('/').next().map(str::to_owned);
        Ok(Survivor { partition, last, is_known: !before.is_empty(), same_run: id(&before) == id(&run) })
    };
    Ok(Some((token, partitions.into_iter().map(survivor).collect::<Result<_>>()?)))
}

/// Makes sure that no server stands where another one should, as far as they know where they stand.
pub(super) async fn check_nodes<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    let count = store.nodes.len();
    for (index, node) in store.nodes.iter().enumerate() {
        let known = node.redis.command("GET", arguments![keys::NODE]).await?;
        if let Some(Value::Bytes(found)) = known.first().filter(|found| **found != place(index, count)) {
            return Err(wrong_place("Redis server", index, count, &String::from_utf8_lossy(found)));
        }
    }
    Ok(())
}

/// Which server of how many one is, as it keeps it.
fn place(index: usize, count: usize) -> Value {
    Value::Bytes(format!("{index}/{count}").into_bytes())
}

/// Lets the clocks go on; false when the adoption was begun anew meanwhile.
async fn finish<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    node: usize,
    token: &str,
    survivors: &[Survivor],
    settled: &BTreeMap<u8, Settled>,
) -> Result<bool> {
    let now = store.now_ms().saturating_sub(ID_EPOCH_MS);
    let mut keys = vec![keys::ADOPTION.to_owned(), keys::NODE.to_owned()];
    let place = format!("{node}/{}", store.nodes.len());
    let mut arguments: Vec<Argument> =
        arguments![store.run(node).await?, token, EPOCH_CLOCK_GAP_MS, now, place.as_str(), DOUBT_MS];
    for survivor in survivors {
        keys.extend([keys::clock(survivor.partition), keys::log(survivor.partition)]);
        let Some(partition) = settled.get(&survivor.partition) else {
            arguments.extend(arguments!["", "", "", "0", "kept"]);
            continue;
        };
        let known = match partition.clock {
            clock if clock.is_none() => "new",
            clock if clock > survivor.last => "gone",
            _ if partition.epoch != token => "same",
            _ => "tail",
        };
        arguments.extend(arguments![
            partition.database as u64,
            partition.epoch.as_str(),
            partition.base.as_str(),
            stamp::ms(partition.clock),
            known
        ]);
    }
    let mut reply = script::ADOPT.run(&store.node(node)?.redis, &keys, &arguments).await?;
    Ok(reply.text()? == "ok")
}
