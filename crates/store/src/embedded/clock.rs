//! The store's clock, as it is kept beside the messages it numbers. There is one writer at a time, so
//! one clock serves all partitions, and what is made later is later whatever its partition.

use super::Embedded;
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::clock::Clock;
use im_domain::partition::partition_of;
use im_domain::{ConversationId, MsgId, Result, Tenant};

pub(super) fn read(row: &mut Row) -> Result<Clock, SqlError> {
    Ok(Clock { ms: row.count()?, counter: u16::try_from(row.int()?).unwrap_or(u16::MAX) })
}

pub(super) fn save<P: Sqlite>(store: &Embedded<P>, clock: Clock) -> Result<(), SqlError> {
    const STATEMENT: &str = "UPDATE store SET clock_ms = ?1, clock_counter = ?2 WHERE id = 1";
    let parameters = params![clock.ms, i64::from(clock.counter)];
    store.db.execute(STATEMENT, parameters).map(|_| ())
}

/// An id for something other than a message, within the transaction that is open: it takes part in
/// the order of ids.
pub(super) fn next_id<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    conversation: &ConversationId,
) -> Result<MsgId> {
    let statement = "SELECT clock_ms, clock_counter FROM store WHERE id = 1";
    let mut rows = store.db.execute(statement, Vec::new())?;
    let mut clock = rows.first_mut().map_or(Ok(Clock::default()), read)?;
    let id = clock.tick(store.now_ms(), partition_of(tenant, conversation));
    save(store, clock)?;
    Ok(id)
}
