//! The second step of an adoption: what SQL makes of the surviving clocks.

use super::super::home::{self, CallOff, locate};
use super::super::{HotDurability, Tiered, limits, topology};
use super::{Settled, Survivor};
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::{Row, Value};
use im_domain::{Error, Result};
use std::collections::BTreeMap;

type Parts<'a> = BTreeMap<usize, Vec<&'a Survivor>>;

/// Writes the token and what follows from it into SQL.
pub(super) async fn settle<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    databases: usize,
    token: &str,
    survivors: &[&Survivor],
) -> Result<BTreeMap<u8, Settled>> {
    let mut parts = parts(store, survivors, databases).await?;
    let mut is_behind = is_behind_sql(store, token, &parts).await?;
    for _ in 0..limits::ATTEMPTS_MAX {
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
    survivors: &[&'a Survivor],
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

pub(super) fn lost(partition: u8) -> Error {
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
            epoch = CASE WHEN $6::bigint = 1 AND s.clock <= i.stamp THEN s.epoch ELSE $3::text END,
            since = CASE WHEN $6::bigint = 1 AND s.clock <= i.stamp THEN s.since ELSE $4::bigint END,
            base = CASE WHEN $5::bigint = 1 THEN $3::text ELSE s.base END,
            clock = greatest(s.clock, 1)
        FROM unnest($1::bigint[], $2::bigint[]) AS i(partition, stamp)
        WHERE s.partition = i.partition AND s.home = 1 AND s.adoption <> $3::text
            AND ($5::bigint = 1 OR s.clock <= i.stamp)";
    let (partitions, stamps) = columns(part);
    let always = store.settings.hot_durability == HotDurability::Always;
    let now_ms = store.now_ms();
    let parameters = vec![partitions, stamps, token.into(), now_ms.into(), is_behind.into(), always.into()];
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
