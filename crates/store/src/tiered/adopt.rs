//! What happens when a Redis server is met for the first time, or is not the same any more: restarted,
//! failed over, emptied, or replaced by an older copy.
//!
//! Scripts compare the run they are told (the server's run id and the list of servers) with that under
//! which the partition's clock was adopted. When it differs they do nothing but say "verify", and the
//! server's partitions are adopted, all at once:
//!
//! 1. `prepare.lua` names a token; whoever comes second gets the same one.
//! 2. SQL compares the surviving clocks with how far it has got. A clock behind SQL's: state was lost that
//!    SQL has; that server's hot state is not trusted any more (a new `base`) and SQL's clock is raised,
//!    so that entries which somebody read before the loss are not applied after it. Otherwise all that
//!    can be lost are the last writes; with [`HotDurability::Always`] not even those.
//! 3. `adopt.lua` lets the clocks go on above everything that was ever given. Unless nothing can be lost
//!    the epoch is new, and conversations jump ahead in `seq`.
//!
//! A step that is repeated with the same token changes nothing, so any number of instances may adopt at
//! once, and die in between.

use super::home::{CallOff, locate};
use super::layout::{self, wrong_place};
use super::limits::{ATTEMPTS_MAX, DOUBT_MS, EPOCH_CLOCK_GAP_MS};
use super::{HotDurability, Node, Tiered, home, keys, script, stamp, topology};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply, Value as Found};
use crate::sql::{Row, Value};
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

type Parts<'a> = BTreeMap<usize, Vec<&'a Survivor>>;

/// Adopts a server's partitions. See the module's documentation.
pub(super) async fn adopt<R: Redis, P: Postgres>(store: &Tiered<R, P>, node: usize) -> Result<()> {
    for _ in 0..ATTEMPTS_MAX {
        // Before anything is written: with a wrong list of databases nothing may be.
        let databases = layout::check(store).await?;
        let Some((token, survivors)) = prepare(store, node).await? else { return Ok(()) };
        let settled = settle(store, databases, &token, &survivors).await?;
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

/// Writes the token and what follows from it into SQL.
async fn settle<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    databases: usize,
    token: &str,
    survivors: &[Survivor],
) -> Result<BTreeMap<u8, Settled>> {
    let mut parts = parts(store, survivors, databases).await?;
    let mut is_behind = is_behind_sql(store, token, &parts).await?;
    for _ in 0..ATTEMPTS_MAX {
        let mut settled = BTreeMap::new();
        for (database, part) in &parts {
            raise(store, *database, token, part, is_behind).await?;
            settled.extend(read(store, *database, token, part).await?);
        }
        if settled.len() == survivors.len() {
            return Ok(settled);
        }
        let again = self::parts(store, survivors, databases).await?;
        // Partitions have moved meanwhile, or SQL has moved on: somebody applied entries that he had read
        // before the loss.
        is_behind |= places(&again) == places(&parts);
        parts = again;
    }
    Err(Error::internal("partitions have no state in SQL"))
}

/// The partitions by the database that has them; one that SQL does not know yet goes where its number
/// says among `databases`.
async fn parts<'a, R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    survivors: &'a [Survivor],
    databases: usize,
) -> Result<Parts<'a>> {
    let partitions: Vec<u8> = survivors.iter().map(|survivor| survivor.partition).collect();
    let homes = locate(store, &partitions, CallOff::Now).await?;
    let mut parts = Parts::new();
    for survivor in survivors {
        let partition = survivor.partition;
        let database = match homes.get(&partition) {
            Some(database) => *database,
            None if survivor.is_known => return Err(lost(partition)),
            None => topology::server_of(partition, databases),
        };
        parts.entry(database).or_default().push(survivor);
    }
    Ok(parts)
}

fn lost(partition: u8) -> Error {
    Error::internal(format!(
        "partition {partition} is in none of the databases: one has lost what it held, or is not in the list"
    ))
}

fn places(parts: &Parts<'_>) -> BTreeMap<u8, usize> {
    let places = |(database, part): (&usize, &Vec<&Survivor>)| {
        part.iter().map(|survivor| (survivor.partition, *database)).collect::<Vec<_>>()
    };
    parts.iter().flat_map(places).collect()
}

async fn is_behind_sql<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    token: &str,
    parts: &Parts<'_>,
) -> Result<bool> {
    let mut is_behind = false;
    for (database, part) in parts {
        is_behind |= compare(store, *database, token, part).await?;
    }
    Ok(is_behind)
}

/// Makes sure that no server stands where another one should, as far as they know where they stand.
pub(super) async fn check_nodes<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    let count = store.nodes.len();
    for (index, node) in store.nodes.iter().enumerate() {
        let known = node.redis.command("GET", arguments![keys::NODE]).await?;
        if let Some(Found::Bytes(found)) = known.first().filter(|found| **found != place(index, count)) {
            return Err(wrong_place("Redis server", index, count, &String::from_utf8_lossy(found)));
        }
    }
    Ok(())
}

/// Which server of how many one is, as it keeps it.
fn place(index: usize, count: usize) -> Found {
    Found::Bytes(format!("{index}/{count}").into_bytes())
}

fn columns(part: &[&Survivor]) -> (Value, Value) {
    let partitions = part.iter().map(|survivor| Some(survivor.partition.into())).collect();
    let stamps = part.iter().map(|survivor| Some(survivor.last.to_sql())).collect();
    (Value::Integers(partitions), Value::Integers(stamps))
}

/// Whether SQL is ahead of any of these clocks. Partitions that SQL does not know begin here.
async fn compare<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    token: &str,
    part: &[&Survivor],
) -> Result<bool> {
    const STATEMENT: &str = "
        WITH input AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS t(partition, stamp)),
        made AS (INSERT INTO partition_state (partition, clock, epoch, since, base, adoption)
            SELECT partition, 0, $3::text, $4::bigint, $3::text, $3::text FROM input ON CONFLICT DO NOTHING)
        SELECT count(*) FROM partition_state s JOIN input i USING (partition)
        WHERE s.clock > i.stamp AND s.adoption <> $3::text";
    let (partitions, stamps) = columns(part);
    let parameters = vec![partitions, stamps, token.into(), store.now_ms().into()];
    let mut rows = store.database(database)?.query(STATEMENT, parameters).await?;
    Ok(rows.first_mut().map_or(Ok(0), |row| row.count())? > 0)
}

/// Writes the token. A partition whose clock is 0 afterwards is new; its clock counts from the first
/// adoption after that.
async fn raise<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    token: &str,
    part: &[&Survivor],
    is_behind: bool,
) -> Result<(), Error> {
    const STATEMENT: &str = "
        UPDATE partition_state s SET adoption = $3::text,
            epoch = CASE WHEN i.keep = 1 AND s.clock <= i.stamp THEN s.epoch ELSE $3::text END,
            since = CASE WHEN i.keep = 1 AND s.clock <= i.stamp THEN s.since ELSE $4::bigint END,
            base = CASE WHEN $5::bigint = 1 THEN $3::text ELSE s.base END,
            clock = CASE WHEN s.clock > i.stamp THEN greatest(s.clock, $6::bigint) + $7::bigint
                ELSE greatest(s.clock, 1) END
        FROM unnest($1::bigint[], $2::bigint[], $8::bigint[]) AS i(partition, stamp, keep)
        WHERE s.partition = i.partition AND s.home = 1 AND s.adoption <> $3::text
            AND ($5::bigint = 1 OR s.clock <= i.stamp)";
    let (partitions, stamps) = columns(part);
    let always = store.settings.hot_durability == HotDurability::Always;
    let keep = |survivor: &&Survivor| Some(i64::from(survivor.same_run || always));
    let now_ms = store.now_ms();
    let gap = MsgId::floor_of(ID_EPOCH_MS + EPOCH_CLOCK_GAP_MS);
    let parameters = vec![
        partitions,
        stamps,
        token.into(),
        now_ms.into(),
        is_behind.into(),
        MsgId::floor_of(now_ms).into(),
        gap.into(),
        Value::Integers(part.iter().map(keep).collect()),
    ];
    store.database(database)?.query(STATEMENT, parameters).await?;
    Ok(())
}

async fn read<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    token: &str,
    part: &[&Survivor],
) -> Result<BTreeMap<u8, Settled>> {
    const STATEMENT: &str = "
        SELECT partition, epoch, base, clock FROM partition_state
        WHERE partition = ANY ($1::bigint[]) AND adoption = $2::text AND home = 1";
    let (partitions, _) = columns(part);
    let rows = store.database(database)?.query(STATEMENT, vec![partitions, token.into()]).await?;
    let settled = |mut row: Row| {
        let partition = home::partition(&mut row)?;
        Ok((partition, Settled { database, epoch: row.text()?, base: row.text()?, clock: row.msg_id()? }))
    };
    rows.into_iter().map(settled).collect()
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
        let Some(partition) = settled.get(&survivor.partition) else { continue };
        keys.extend([keys::clock(survivor.partition), keys::log(survivor.partition)]);
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
