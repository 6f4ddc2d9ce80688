//! Which database has a partition: what SQL records, and Redis tells.
//!
//! The row of a partition says `home = 1` in the database that has it. A move makes a row with `home = 2`
//! where it goes, sets `home = 0` where it was, and then 2 to 1. A move that somebody has left there is
//! called off: the row that is 2 is deleted, and then 0 is set to 1 again. Rows carry the token of the move,
//! so that what comes late does nothing.

use super::{Tiered, keys, limits, overloaded, script, unknown_word};
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply, Value};
use crate::sql::Row;
use crate::{arguments, params};
use im_domain::{Error, Result};
use std::collections::BTreeMap;

/// When a move that is under way is called off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOff {
    Now,
    /// When it has taken longer than any does.
    Overdue,
}

/// A move as its rows name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub to: usize,
    token: String,
    since_ms: u64,
}

impl Move {
    pub fn new(to: usize, token: String, since_ms: u64) -> Self {
        Self { to, token, since_ms }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (to, token, since) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { to: to.parse().ok()?, token: token.to_owned(), since_ms: since.parse().ok()? })
    }

    pub fn text(&self) -> String {
        format!("{}/{}/{}", self.to, self.token, self.since_ms)
    }
}

impl<R: Redis, P: Postgres> Tiered<R, P> {
    /// The database that has a partition.
    pub(super) async fn sql(&self, partition: u8) -> Result<&P> {
        self.database(self.home(partition).await?)
    }

    /// The position of the database that has a partition.
    pub(super) async fn home(&self, partition: u8) -> Result<usize> {
        let node = self.node_of(partition);
        for _ in 0..limits::ATTEMPTS_MAX {
            let run = self.run(node).await?;
            let fields = arguments![keys::clock(partition), "run", "also", "db"];
            let values = self.node(node)?.redis.command("HMGET", fields).await?;
            let is_adopted =
                values.iter().take(2).any(|value| *value == Value::Bytes(run.clone().into_bytes()));
            if is_adopted {
                return position(&mut Reply::new(values.into_iter().skip(2).collect()));
            }
            super::adopt::adopt(self, node).await?;
        }
        Err(Error::internal("the hot store's clocks were adopted again and again"))
    }
}

/// The next value of a reply, as the position of a database.
pub(super) fn position(reply: &mut Reply) -> Result<usize> {
    usize::try_from(reply.number()?)
        .map_err(|_| Error::internal("the position of a database is out of range"))
}

/// Where each partition is, by its number; those that SQL does not know are left out.
pub(super) async fn locate<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partitions: &[u8],
    call_off: CallOff,
) -> Result<BTreeMap<u8, usize>> {
    for _ in 0..limits::ATTEMPTS_MAX {
        let mut found = BTreeMap::new();
        let mut is_clear = true;
        for (partition, rows) in states(store, partitions).await? {
            match whereabouts(&rows) {
                Whereabouts::At(database) => drop(found.insert(partition, database)),
                Whereabouts::Unclear => is_clear = false,
                Whereabouts::Left { from, to } => {
                    let is_due = call_off == CallOff::Now
                        || store.now_ms() > to.since_ms.saturating_add(limits::MOVE_MS_MAX);
                    if !is_due {
                        return Err(overloaded());
                    }
                    call_off_move(store, partition, from, &to).await?;
                    is_clear = false;
                }
            }
        }
        if is_clear {
            return Ok(found);
        }
    }
    Err(overloaded())
}

/// A row of a partition: where, `home`, `moving`.
type State = (usize, i64, String);

async fn states<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partitions: &[u8],
) -> Result<BTreeMap<u8, Vec<State>>> {
    const STATEMENT: &str = "
        SELECT partition, home::bigint, moving FROM partition_state WHERE partition = ANY ($1::bigint[])";
    let numbers = || {
        let numbers = partitions.iter().map(|partition| Some(i64::from(*partition)));
        vec![crate::sql::Value::Integers(numbers.collect())]
    };
    let mut states: BTreeMap<u8, Vec<State>> = BTreeMap::new();
    for (database, db) in store.databases.iter().enumerate() {
        for mut row in db.query(STATEMENT, numbers()).await? {
            let partition = partition(&mut row)?;
            states.entry(partition).or_default().push((database, row.int()?, row.text()?));
        }
    }
    Ok(states)
}

pub(super) fn partition(row: &mut Row) -> Result<u8> {
    u8::try_from(row.int()?).map_err(|_| Error::internal("a partition's number is out of range"))
}

enum Whereabouts {
    At(usize),
    /// It has left a database, and is not known to have arrived.
    Left {
        from: usize,
        to: Move,
    },
    /// It has moved while it was looked for.
    Unclear,
}

fn whereabouts(rows: &[State]) -> Whereabouts {
    let mut here = rows.iter().filter(|(_, home, _)| *home == 1);
    match (here.next(), here.next()) {
        (Some((database, ..)), None) => return Whereabouts::At(*database),
        (Some(_), Some(_)) => return Whereabouts::Unclear,
        _ => {}
    }
    let left = rows.iter().find(|(_, home, _)| *home == 0);
    let left = left.and_then(|(database, _, moving)| Some((*database, Move::parse(moving)?)));
    left.map_or(Whereabouts::Unclear, |(from, to)| Whereabouts::Left { from, to })
}

/// Calls off a move, unless the partition has arrived.
async fn call_off_move<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partition: u8,
    from: usize,
    to: &Move,
) -> Result<()> {
    const CALL_OFF: &str = "
        DELETE FROM partition_state WHERE partition = $1::bigint AND home = 2 AND moving = $2::text RETURNING 1";
    const ARRIVED: &str = "SELECT 1 FROM partition_state WHERE partition = $1::bigint AND moving = $2::text";
    const BACK: &str = "
        UPDATE partition_state SET home = 1, moving = ''
        WHERE partition = $1::bigint AND home = 0 AND moving = $2::text";
    let parameters = || params![u64::from(partition), to.text()];
    // Where the list does not reach, the partition may have arrived.
    let target = store.database(to.to)?;
    let is_off = !target.query(CALL_OFF, parameters()).await?.is_empty();
    if is_off || target.query(ARRIVED, parameters()).await?.is_empty() {
        store.database(from)?.query(BACK, parameters()).await?;
    }
    Ok(())
}

/// Looks for a partition that is not any more where Redis told, and lets Redis tell where it is.
pub(super) async fn relocate<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partition: u8,
    from: usize,
) -> Result<()> {
    let found = match locate(store, &[partition], CallOff::Overdue).await {
        // It is on its way: what waits for it waits on.
        Err(Error::Overloaded { .. }) => return Ok(()),
        found => found?,
    };
    match found.get(&partition) {
        Some(to) if *to == from => Ok(()),
        Some(to) => note(store, &[(partition, *to)], &from.to_string()).await,
        None => Err(Error::internal(format!("partition {partition} has no state in SQL"))),
    }
}

/// Lets Redis tell in which databases partitions are, where it told `instead_of`; empty: in any case.
pub(super) async fn note<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    homes: &[(u8, usize)],
    instead_of: &str,
) -> Result<()> {
    let mut nodes: BTreeMap<usize, Vec<&(u8, usize)>> = BTreeMap::new();
    for home in homes {
        nodes.entry(store.node_of(home.0)).or_default().push(home);
    }
    for (node, homes) in nodes {
        let clocks: Vec<String> = homes.iter().map(|(partition, _)| keys::clock(*partition)).collect();
        let mut arguments = arguments![instead_of];
        arguments.extend(homes.iter().map(|(_, database)| Argument::from(*database as u64)));
        match store.ask_node(node, &script::RELOCATE, &clocks, arguments).await?.0.as_str() {
            "ok" => {}
            word => return Err(unknown_word("relocate", word)),
        }
    }
    Ok(())
}

/// The first of some partitions that no database knows.
pub(super) async fn unknown<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partitions: &[u8],
) -> Result<Option<u8>> {
    let states = states(store, partitions).await?;
    Ok(partitions.iter().copied().find(|partition| !states.contains_key(partition)))
}

/// The database to read a partition from while Redis is away: the one that has it, or had it last.
pub(super) async fn sql_alone<R: Redis, P: Postgres>(store: &Tiered<R, P>, partition: u8) -> Result<&P> {
    let states = states(store, &[partition]).await?.remove(&partition).unwrap_or_default();
    match whereabouts(&states) {
        Whereabouts::At(database) => store.database(database),
        // Where the list does not reach, it may have more by now.
        Whereabouts::Left { from, to } => store.database(to.to).and_then(|_| store.database(from)),
        Whereabouts::Unclear => {
            Err(Error::HotUnavailable { retry_after_ms: im_domain::limits::RETRY_AFTER_MS })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_where_one_row_says_so() {
        let row = |database, home| (database, home, format!("1/t/{database}"));
        let at = |rows: &[State]| match whereabouts(rows) {
            Whereabouts::At(database) => format!("{database}"),
            Whereabouts::Left { from, to } => format!("{from} to {}", to.to),
            Whereabouts::Unclear => "?".to_owned(),
        };
        assert_eq!(at(&[row(0, 1)]), "0");
        assert_eq!(at(&[row(0, 1), row(1, 2)]), "0");
        assert_eq!(at(&[row(0, 0), row(1, 2)]), "0 to 1");
        assert_eq!(at(&[row(0, 0), row(1, 1)]), "1");
        assert_eq!(at(&[row(0, 1), row(1, 1)]), "?");
        assert_eq!(at(&[row(1, 2)]), "?");
    }
}
