//! Storing entries of a log in SQL: each call one statement, which is one transaction.
//!
//! Every statement first locks the partition's row and takes only entries above the stamp up to which SQL
//! has them; at its end it moves that stamp on. So a statement that is repeated, or two that race, apply
//! each entry once and in order, whoever holds the lease. A statement sees the database as it was when
//! it began; when the row has moved on since, it applies nothing and says so. Nor does it when the epoch is
//! another one than that in which the entries were read: a log that was lost since may not come back.

mod conversations;
mod erased;
mod forgotten;
mod hidden;
mod members;
mod revisions;
mod rows;
mod users;

use super::Tiered;
use super::entry::{Body, Entry, UserChange};
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::{Row, SqlError, Value};
use im_domain::MsgId;
use std::collections::HashMap;

macro_rules! locked {
    () => {
        "durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true) AS is_on),
        locked AS MATERIALIZED (
            SELECT clock, epoch FROM partition_state WHERE partition = $1::bigint AND home = 1 FOR UPDATE)"
    };
}

macro_rules! open {
    () => {
        "SELECT l.clock FROM locked l
        JOIN partition_state s ON s.partition = $1::bigint AND s.clock = l.clock AND l.epoch = $3::text
        CROSS JOIN durable"
    };
}

/// Locks the partition ($1), if this database has it, and gives its stamp, unless that has moved on
/// meanwhile or the entries were read in another epoch ($3). The commit is flushed to disk whatever the
/// database's default is.
const GATE: &str = concat!(locked!(), ", gate AS MATERIALIZED (", open!(), ")");

/// As [`GATE`], and the segments of the conversation $4 have to be of a version, unless that is null: somebody may have
/// packed again what was taken out of them.
fn steady_gate(version: &str) -> String {
    format!(
        concat!(
            locked!(),
            ", steady AS MATERIALIZED (
                SELECT c.cid FROM locked JOIN conversation c ON c.cid = $4::bigint AND c.cold_version = {0}::bigint
                FOR UPDATE OF c),
            gate AS MATERIALIZED (",
            open!(),
            " WHERE {0}::bigint IS NULL OR EXISTS (SELECT 1 FROM steady))"
        ),
        version
    )
}

/// Moves the partition's stamp on to $2.
const ADVANCE: &str = "
    moved AS (UPDATE partition_state s SET clock = $2::bigint FROM gate g
        WHERE s.partition = $1::bigint AND g.clock < $2::bigint)";

/// Whether the partition is here, and whether the gate was open.
const OUTCOME: &str = "(SELECT count(*) FROM locked), (SELECT count(*) FROM gate)";

/// What a statement did.
pub(super) enum Applied {
    /// Messages stored, and those that repeat an earlier one.
    Done { messages: u64, repeated: Vec<Repeated> },
    /// Somebody else is at this partition.
    Raced,
    /// Another database has the partition.
    Moved,
}

/// A message whose clientMsgId stood for the same message before: it is not shown.
pub(super) struct Repeated {
    pub msg_id: MsgId,
    pub first: MsgId,
    pub first_seq: u64,
}

/// What is known of the cold part of the conversation of an entry that changes messages.
#[derive(Default)]
pub(super) struct Lifted {
    /// The version of its segments under which what the entry changes is in none; absent: there are none.
    pub version: Option<u64>,
    /// Places of messages there among those that count; 0: it does not count.
    pub places: HashMap<MsgId, u64>,
}

/// Stores entries of one class; there is at least one.
pub(super) async fn apply<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    partition: u8,
    epoch: &str,
    entries: &[Entry],
    lifted: &Lifted,
) -> Result<Applied, SqlError> {
    let db = store.database(database).map_err(|error| SqlError::Failed(error.to_string()))?;
    let last = entries.last().map_or(MsgId::NONE, |entry| entry.stamp);
    let begin = vec![Value::from(u64::from(partition)), last.into(), epoch.into()];
    let (statement, parameters) = match entries {
        [Entry { body: Body::Members(change), place, .. }] => {
            (members::statement(), members::parameters_of(begin, place, change))
        }
        [Entry { body: Body::Revision(revision), .. }] => {
            (revisions::statement(), revisions::parameters_of(begin, revision, lifted))
        }
        [Entry { body: Body::Erased(erased), .. }] => {
            let mark = format!("{:032x}", (store.settings.random)());
            (erased::statement(), erased::parameters_of(begin, erased, lifted, store.now_ms(), &mark))
        }
        [Entry { body: Body::User(UserChange::Erased), place, .. }] => {
            let mut parameters = begin;
            parameters.extend([place.tenant().into(), place.conversation().into()]);
            (erased::user_statement(), parameters)
        }
        [Entry { body: Body::Alias(target), place, .. }] => {
            let mut parameters = begin;
            parameters.extend([place.tenant().into(), place.conversation().into(), target.as_str().into()]);
            (members::alias_statement(), parameters)
        }
        [Entry { body: Body::Conversation(_), .. }, ..] => {
            (conversations::statement(), conversations::parameters_of(begin, entries))
        }
        [Entry { body: Body::Forgotten(_), .. }, ..] => {
            (forgotten::statement(), forgotten::parameters_of(begin, entries))
        }
        [Entry { body: Body::Hidden(_), .. }, ..] => {
            (hidden::statement(), hidden::parameters_of(begin, entries))
        }
        _ => (rows::statement(), rows::parameters_of(begin, entries, store.now_ms())),
    };
    outcome(db.query(&statement, parameters).await?)
}

fn outcome(rows: Vec<Row>) -> Result<Applied, SqlError> {
    let mut rows = rows.into_iter();
    let mut first = rows.next().ok_or_else(|| SqlError::Failed("a batch gave no outcome".to_owned()))?;
    if first.count()? == 0 {
        return Ok(Applied::Moved);
    }
    if first.count()? == 0 {
        return Ok(Applied::Raced);
    }
    let messages = first.count()?;
    let repeated =
        |mut row: Row| Ok(Repeated { msg_id: row.msg_id()?, first: row.msg_id()?, first_seq: row.count()? });
    Ok(Applied::Done { messages, repeated: rows.map(repeated).collect::<Result<_, SqlError>>()? })
}

pub(super) fn signed(number: u64) -> Option<i64> {
    Some(i64::try_from(number).unwrap_or(i64::MAX))
}
