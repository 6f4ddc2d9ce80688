//! Upkeep: draining what waits, expiring what is old, and telling how things stand.

use super::{Tiered, adopt, drain, expire, keys, layout, limits, push, script, tell, tier, topology};
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply, Value};
use crate::{arguments, params};
use futures::StreamExt;
use im_domain::upkeep::{EpochStatus, LastRun, PartitionStatus, RunReport, StoreStatus, Task, Tiers};
use im_domain::{Error, Result, Tenant};
use std::collections::BTreeMap;

pub(super) async fn run<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tasks: &[Task],
    max_ms: u64,
) -> Result<RunReport> {
    let begun = store.now_ms();
    let took = || store.now_ms().saturating_sub(begun);
    let is_wanted = |task| tasks.is_empty() || tasks.contains(&task);
    let mut report = RunReport::default();
    // A server that is away keeps nobody from the others.
    let mut failure = None;
    if is_wanted(Task::Drain) {
        failure = drain_all(store, &mut report, &|| took() >= max_ms).await.err();
    }
    if is_wanted(Task::Expire) {
        report.expired = expire::expire(store, || took() >= max_ms).await?;
    }
    if is_wanted(Task::Tier) {
        match tier::tier(store, || took() >= max_ms).await {
            Ok(moved) => report.tiered = moved,
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    report.backlog = backlogs(store, None).await?.iter().map(|backlog| backlog.entries).sum();
    report.took_ms = took();
    // A run that is made each second and finds nothing leaves no trace.
    if is_wanted(Task::Expire) || report.drained + report.tiered + report.dead_lettered > 0 {
        match record(store, begun, &report).await {
            // A server whose memory is full takes no note, but the run was made.
            Err(Error::HotUnavailable { .. }) => {}
            recorded => recorded?,
        }
    }
    Ok(report)
}

/// Drains every partition that has something, several at once, until nothing is left or the time is
/// over. Each is drained as far as it was filled when its turn came, so that no busy one keeps the
/// others waiting.
async fn drain_all<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    report: &mut RunReport,
    is_over: &impl Fn() -> bool,
) -> Result<()> {
    let holder = store.random_name();
    let mut waiting = Vec::new();
    let mut failure = None;
    for node in 0..store.nodes.len() {
        match drainable(store, node).await {
            Ok(found) => waiting.extend(found),
            Err(error) => failure = Some(error),
        }
    }
    // Instances that run at the same time begin at different places.
    let turn = (store.settings.random)() as usize;
    let count = waiting.len().max(1);
    waiting.rotate_left(turn % count);
    let mut outcomes = futures::stream::iter(waiting)
        .map(|backlog| drain_one(store, backlog, &holder, is_over))
        .buffer_unordered(limits::DRAIN_PARTITIONS_MAX);
    while let Some((part, outcome)) = outcomes.next().await {
        report.drained += part.messages;
        report.dead_lettered += part.dead;
        failure = failure.or(outcome.err());
    }
    failure = failure.or(push::deferred::tell(store, is_over).await.err());
    failure.map_or(Ok(()), Err)
}

/// What there is to drain on a server; nothing is done with one that is not where it was.
async fn drainable<R: Redis, P: Postgres>(store: &Tiered<R, P>, node: usize) -> Result<Vec<Backlog>> {
    let Some(first) = topology::partitions_of(node, store.nodes.len()).first().copied() else {
        return Ok(Vec::new());
    };
    store.home(first).await?;
    tell::catch_up(store, node).await?;
    let found = backlogs_of(store, node, None).await?;
    Ok(found.into_iter().filter(|backlog| backlog.entries > 0).collect())
}

/// What was done, and how it ended: what was done before a failure counts.
async fn drain_one<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    backlog: Backlog,
    holder: &str,
    is_over: &impl Fn() -> bool,
) -> (drain::Batch, Result<()>) {
    let mut sum = drain::Batch::default();
    let mut batches = backlog.entries / limits::DRAIN_ENTRIES_MAX + 1;
    while batches > 0 && !is_over() {
        batches -= 1;
        match drain::batch(store, backlog.partition, holder).await {
            Err(error) => return (sum, Err(error)),
            Ok(batch) => {
                sum.messages += batch.messages;
                sum.dead += batch.dead;
                if batch.is_held || batch.left == 0 {
                    break;
                }
            }
        }
    }
    (sum, Ok(()))
}

/// What waits in a partition.
pub(super) struct Backlog {
    pub partition: u8,
    entries: u64,
    /// How long the oldest has waited, in milliseconds.
    age_ms: u64,
    pub dead: u64,
    /// Messages of the tenant that is asked for.
    own: u64,
}

/// The partitions that have a backlog or dead letters.
pub(super) async fn backlogs<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: Option<&Tenant>,
) -> Result<Vec<Backlog>> {
    let mut found = Vec::new();
    for node in 0..store.nodes.len() {
        found.extend(backlogs_of(store, node, tenant).await?);
    }
    Ok(found)
}

/// The partitions in whose logs something waits.
pub(super) async fn waiting<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<Vec<u8>> {
    let backlogs = backlogs(store, None).await?.into_iter().filter(|backlog| backlog.entries > 0);
    Ok(backlogs.map(|backlog| backlog.partition).collect())
}

/// Those of one server, by one call.
async fn backlogs_of<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    node: usize,
    tenant: Option<&Tenant>,
) -> Result<Vec<Backlog>> {
    let partitions = topology::partitions_of(node, store.nodes.len());
    let logs = |partition: &u8| [keys::log(*partition), keys::dead(*partition), keys::waiting(*partition)];
    let keys: Vec<String> = partitions.iter().flat_map(logs).collect();
    let mut arguments = arguments![tenant.map_or("", Tenant::as_str)];
    arguments.extend(partitions.iter().map(|partition| Argument::from(u64::from(*partition))));
    let mut reply = script::BACKLOG.run(&store.node(node)?.redis, &keys, &arguments).await?;
    let now = reply.number()?;
    let mut found = Vec::new();
    while reply.left() > 0 {
        let partition = u8::try_from(reply.number()?)
            .map_err(|_| Error::internal("a partition's number is out of range"))?;
        let entries = reply.number()?;
        // The id of an entry begins with the time at which the server took it.
        let oldest = reply.text()?.split('-').next().and_then(|ms| ms.parse::<u64>().ok());
        let age_ms = oldest.map_or(0, |oldest| now.saturating_sub(oldest));
        found.push(Backlog { partition, entries, age_ms, dead: reply.number()?, own: reply.number()? });
    }
    Ok(found)
}

/// Keeps what a run did.
async fn record<R: Redis, P: Postgres>(store: &Tiered<R, P>, at: u64, report: &RunReport) -> Result<()> {
    let fields = arguments![
        keys::LAST_RUN,
        "at",
        at,
        "drained",
        report.drained,
        "tiered",
        report.tiered,
        "expired",
        report.expired,
        "dead",
        report.dead_lettered,
        "backlog",
        report.backlog,
        "took_ms",
        report.took_ms
    ];
    store.node(0)?.redis.command("HSET", fields).await?;
    Ok(())
}

async fn last_run<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<Option<LastRun>> {
    let names =
        arguments![keys::LAST_RUN, "at", "drained", "tiered", "expired", "dead", "backlog", "took_ms"];
    let values = store.node(0)?.redis.command("HMGET", names).await?;
    if values.first().is_none_or(|value| *value == Value::Nil) {
        return Ok(None);
    }
    // A note of an earlier version lacks what that did not do.
    let known = |value| if value == Value::Nil { Value::Integer(0) } else { value };
    let mut reply = Reply::new(values.into_iter().map(known).collect());
    let at = reply.number()?;
    let report = RunReport {
        drained: reply.number()?,
        tiered: reply.number()?,
        expired: reply.number()?,
        dead_lettered: reply.number()?,
        backlog: reply.number()?,
        took_ms: reply.number()?,
    };
    Ok(Some(LastRun { at, report }))
}

pub(super) async fn status<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
) -> Result<StoreStatus> {
    adopt::check_nodes(store).await?;
    let backlogs = backlogs(store, Some(tenant)).await?;
    let hot = backlogs.iter().map(|backlog| backlog.own).sum();
    let backlog = backlogs.iter().map(|backlog| backlog.entries).sum();
    // With SQL away the rest of the status is what an operator needs to see.
    let ((sql, cold), epochs) = match in_sql(store, tenant).await {
        Ok(found) => found,
        Err(Error::SqlUnavailable { .. }) => ((0, 0), Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(StoreStatus {
        backlog,
        oldest_unpersisted_ms: backlogs.iter().map(|backlog| backlog.age_ms).max().unwrap_or(0),
        dead_letters: backlogs.iter().map(|backlog| backlog.dead).sum(),
        partitions: backlogs
            .iter()
            .filter(|backlog| backlog.entries > 0)
            .map(|backlog| PartitionStatus {
                partition: backlog.partition,
                backlog: backlog.entries,
                oldest_unpersisted_ms: backlog.age_ms,
            })
            .collect(),
        tiers: Tiers { hot, sql, cold },
        epochs,
        last_run: last_run(store).await?,
    })
}

/// The tenant's messages in rows and in segments, and the epochs of all partitions.
async fn in_sql<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
) -> Result<((u64, u64), Vec<EpochStatus>)> {
    const MESSAGES: &str = "
        SELECT coalesce(sum(c.stored), 0)::bigint, coalesce(sum(c.cold), 0)::bigint FROM conversation c
        JOIN partition_state s ON s.partition = (c.cid >> 14) & 255 AND s.home = 1
        WHERE c.tenant = $1::text";
    const EPOCHS: &str = "SELECT epoch, min(since) FROM partition_state WHERE home = 1 GROUP BY epoch";
    let (mut rows_count, mut cold) = (0, 0);
    let mut epochs: BTreeMap<String, u64> = BTreeMap::new();
    layout::check(store).await?;
    for database in &store.databases {
        let mut rows = database.query(MESSAGES, params![tenant.as_str()]).await?;
        if let Some(row) = rows.first_mut() {
            rows_count += row.count()?;
            cold += row.count()?;
        }
        for mut row in database.query(EPOCHS, params![]).await? {
            let epoch = row.text()?;
            let since: u64 = row.count()?;
            epochs.entry(epoch).and_modify(|first| *first = since.min(*first)).or_insert(since);
        }
    }
    let mut epochs: Vec<EpochStatus> =
        epochs.into_iter().map(|(epoch, since)| EpochStatus { epoch, since }).collect();
    epochs.sort_by_key(|epoch| epoch.since);
    Ok(((rows_count, cold), epochs))
}

/// Every server answers, is the one it was before, and every schema is the one this version needs.
pub(super) async fn ready<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    layout::check(store).await?;
    for node in 0..store.nodes.len() {
        adopt::adopt(store, node).await?;
    }
    Ok(())
}
