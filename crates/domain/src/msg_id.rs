//! Message ids: 63 bits, time-ordered, unique across the product.
//!
//! `41 bits milliseconds since 2024-01-01 UTC | 8 bits partition | 14 bits counter`
//!
//! The layout follows the idea of Snowflake ids, with the partition in the place of a worker
//! number: an id is made where the message is appended, so no worker has to be numbered.

use std::fmt;

/// 2024-01-01T00:00:00Z in milliseconds since 1970: the zero of the time in an id.
pub const ID_EPOCH_MS: u64 = 1_704_067_200_000;
const TIME_BITS: u32 = 41;
const PARTITION_BITS: u32 = 8;
const COUNTER_BITS: u32 = 14;
const TIME_SHIFT: u32 = PARTITION_BITS + COUNTER_BITS;
const TIME_MAX: u64 = (1 << TIME_BITS) - 1;
/// Largest counter within one millisecond.
pub const COUNTER_MAX: u16 = (1 << COUNTER_BITS) - 1;

/// The id of a message; 0 stands for "none" in cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MsgId(u64);

impl MsgId {
    pub const NONE: MsgId = MsgId(0);
    /// Largest id: 63 bits, so that SQL's signed integers hold every one.
    pub const MAX: MsgId = MsgId(i64::MAX as u64);

    /// The id with this number, if it has at most 63 bits.
    pub fn new(number: u64) -> Option<Self> {
        (number <= Self::MAX.0).then_some(Self(number))
    }

    /// As [`Self::new`] for a number from SQL; anything out of range becomes [`Self::NONE`].
    pub fn from_sql(number: i64) -> Self {
        Self(u64::try_from(number).unwrap_or(0))
    }

    /// Times before 2024 or after the 41 bits (the year 2093) become the nearest possible one.
    pub fn compose(time_ms: u64, partition: u8, counter: u16) -> Self {
        let time = time_ms.saturating_sub(ID_EPOCH_MS).min(TIME_MAX);
        let counter = u64::from(counter.min(COUNTER_MAX));
        Self(time << TIME_SHIFT | u64::from(partition) << COUNTER_BITS | counter)
    }

    /// The lowest id a message created at `time_ms` or later can have.
    pub fn floor_of(time_ms: u64) -> Self {
        Self::compose(time_ms, 0, 0)
    }

    pub fn number(self) -> u64 {
        self.0
    }

    /// The number as SQL's signed integer; exact, since ids have 63 bits.
    pub fn to_sql(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// Where a conversation stands in lists whose newest id this is: ids of one millisecond rise by
    /// partition first, places by counter.
    pub fn place(self) -> MsgId {
        let ms = self.0 >> TIME_SHIFT << TIME_SHIFT;
        Self(ms | u64::from(self.counter()) << PARTITION_BITS | u64::from(self.partition()))
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// When the message was stored, in milliseconds since 1970.
    pub fn time_ms(self) -> u64 {
        (self.0 >> TIME_SHIFT) + ID_EPOCH_MS
    }

    pub fn partition(self) -> u8 {
        (self.0 >> COUNTER_BITS & 0xff) as u8
    }

    pub fn counter(self) -> u16 {
        (self.0 & u64::from(COUNTER_MAX)) as u16
    }
}

/// Messages up to this id have expired, when each is kept for `retention_ms` milliseconds (0: for ever).
pub fn expired_up_to(now_ms: u64, retention_ms: u64) -> MsgId {
    if retention_ms == 0 {
        return MsgId::NONE;
    }
    let first_kept = MsgId::floor_of(now_ms.saturating_sub(retention_ms)).number();
    MsgId(first_kept.saturating_sub(1))
}

impl fmt::Display for MsgId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_largest_parts_fill_63_bits() {
        let id = MsgId::compose(u64::MAX, u8::MAX, u16::MAX);
        assert_eq!(id, MsgId::MAX);
        assert_eq!(MsgId::new(1 << 63), None);
    }

    #[test]
    fn a_time_before_the_zero_is_the_zero() {
        assert_eq!(MsgId::compose(0, 7, 1).time_ms(), ID_EPOCH_MS);
    }

    #[test]
    fn places_of_one_millisecond_rise_by_counter_whatever_the_partitions() {
        let ids = [(200, 0), (3, 1), (255, 1), (0, 2)].map(|(p, n)| MsgId::compose(ID_EPOCH_MS + 5, p, n));
        assert!(ids.map(MsgId::place).is_sorted_by(|a, b| a < b));
        assert_eq!(MsgId::MAX.place(), MsgId::MAX);
    }

    proptest! {
        #[test]
        fn parts_come_back(time in ID_EPOCH_MS..ID_EPOCH_MS + TIME_MAX, partition: u8, counter in 0..=COUNTER_MAX) {
            let id = MsgId::compose(time, partition, counter);
            prop_assert_eq!((id.time_ms(), id.partition(), id.counter()), (time, partition, counter));
            prop_assert_eq!(MsgId::from_sql(id.to_sql()), id);
        }

        #[test]
        fn ids_order_by_time_first(a in ID_EPOCH_MS..ID_EPOCH_MS + TIME_MAX, p: u8, q: u8, n in 0..=COUNTER_MAX) {
            prop_assert!(MsgId::compose(a, p, n) < MsgId::compose(a + 1, q, 0));
            prop_assert!(MsgId::floor_of(a) <= MsgId::compose(a, p, n));
        }
    }
}
