//! What the store numbers with, as it is kept beside what it has numbered. There is one writer at a
//! time, so one clock serves all partitions, and what is made later is later whatever its partition.

use super::Embedded;
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::MsgId;
use im_domain::clock::Clock;

/// Changes within one millisecond before their numbers run ahead of the time, as a power of two. With
/// the 41 bits of the time, versions have 53: clients' numbers hold every one.
const VERSION_SHIFT: u32 = 12;
/// The bits of an id below its time.
const ID_SHIFT: u32 = 22;

/// The last id and the last version that were given, of the transaction that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters {
    clock: Clock,
    /// The number of the last change.
    pub version: u64,
}

impl Counters {
    /// Columns of the row `s` of the store that [`Self::read`] takes.
    pub const COLUMNS: &str = "s.clock_ms, s.clock_counter, s.version";

    pub fn read(row: &mut Row) -> Result<Self, SqlError> {
        let clock = Clock { ms: row.count()?, counter: u16::try_from(row.int()?).unwrap_or(u16::MAX) };
        Ok(Self { clock, version: row.count()? })
    }

    pub fn load<P: Sqlite>(store: &Embedded<P>) -> Result<Self, SqlError> {
        let statement = format!("SELECT {} FROM store s WHERE s.id = 1", Self::COLUMNS);
        let mut rows = store.db.execute(&statement, Vec::new())?;
        Self::read(rows.first_mut().ok_or_else(|| SqlError::Failed("the table store is empty".to_owned()))?)
    }

    pub fn save<P: Sqlite>(self, store: &Embedded<P>) -> Result<(), SqlError> {
        const STATEMENT: &str =
            "UPDATE store SET clock_ms = ?1, clock_counter = ?2, version = ?3 WHERE id = 1";
        let parameters = params![self.clock.ms, i64::from(self.clock.counter), self.version];
        store.db.execute(STATEMENT, parameters).map(|_| ())
    }

    pub fn next_id(&mut self, now_ms: u64, partition: u8) -> MsgId {
        self.clock.tick(now_ms, partition)
    }

    pub fn next_version(&mut self, now_ms: u64) -> u64 {
        let since_2024_ms = MsgId::floor_of(now_ms).number() >> ID_SHIFT;
        self.version = (self.version + 1).max(since_2024_ms << VERSION_SHIFT);
        self.version
    }

    /// The place of the last id that can have been given; see [`MsgId::place`].
    pub fn last_place(&self) -> MsgId {
        MsgId::compose(self.clock.ms, u8::MAX, self.clock.counter).place()
    }

    /// The present, as the id of partition 0 that a message would have if it were the last one: with the
    /// partition of a conversation put in, it divides what has been said there from what will be.
    pub fn moment(&self) -> MsgId {
        MsgId::compose(self.clock.ms, 0, self.clock.counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use im_domain::msg_id::ID_EPOCH_MS;

    #[test]
    fn versions_rise_whatever_the_clock_does_and_fit_53_bits() {
        let mut counters = Counters { clock: Clock::default(), version: 0 };
        let versions = [ID_EPOCH_MS + 5, ID_EPOCH_MS + 5, 0, ID_EPOCH_MS + 6, u64::MAX, 7]
            .map(|now_ms| counters.next_version(now_ms));
        assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
        assert_eq!((versions[0], versions[3]), (5 << 12, 6 << 12));
        assert!(counters.version < 1 << 53);
    }

    #[test]
    fn the_present_lies_between_what_was_said_and_what_will_be() {
        let mut counters = Counters { clock: Clock::default(), version: 0 };
        let moment =
            |counters: &Counters, id: MsgId| counters.moment().number() | u64::from(id.partition()) << 14;
        let said = counters.next_id(ID_EPOCH_MS + 5, 200);
        assert!(said.number() <= moment(&counters, said));
        let later = [counters.next_id(ID_EPOCH_MS + 5, 200)];
        let before = Counters { clock: Clock { ms: ID_EPOCH_MS + 5, counter: 0 }, version: 0 };
        assert!(later.iter().all(|id| id.number() > moment(&before, *id)));
    }
}
