//! The partitions' clocks, as they are kept beside the messages they number.

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

pub(super) fn save<P: Sqlite>(store: &Embedded<P>, partition: u8, clock: Clock) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        INSERT INTO partition_clock (partition, ms, counter) VALUES (?1, ?2, ?3)
        ON CONFLICT (partition) DO UPDATE SET ms = ?2, counter = ?3";
    let parameters = params![i64::from(partition), clock.ms, i64::from(clock.counter)];
    store.db.execute(STATEMENT, parameters).map(|_| ())
}

/// An id for something other than a message, within the transaction that is open: it takes part in
/// the order of ids.
pub(super) fn next_id<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    conversation: &ConversationId,
) -> Result<MsgId> {
    let partition = partition_of(tenant, conversation);
    let statement = "SELECT ms, counter FROM partition_clock WHERE partition = ?1";
    let mut rows = store.db.execute(statement, params![i64::from(partition)])?;
    let mut clock = rows.first_mut().map_or(Ok(Clock::default()), read)?;
    let id = clock.tick(store.now_ms(), partition);
    save(store, partition, clock)?;
    Ok(id)
}
