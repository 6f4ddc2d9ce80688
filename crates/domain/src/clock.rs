//! A partition's clock: the last (millisecond, counter) an id was made from. It never goes back,
//! whatever the wall clock does.

use crate::msg_id::{COUNTER_MAX, ID_EPOCH_MS, MsgId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Clock {
    /// Milliseconds since 1970 of the last id.
    pub ms: u64,
    /// Counter of the last id within `ms`.
    pub counter: u16,
}

impl Clock {
    /// Makes the next id of `partition`. A wall clock that was set back leaves the clock where it
    /// is; a full millisecond borrows the next one. A machine that does not know the time yet starts
    /// at the first id there is: earlier times would all give the same ids, among them 0.
    pub fn tick(&mut self, wall_ms: u64, partition: u8) -> MsgId {
        let wall_ms = wall_ms.max(ID_EPOCH_MS + 1);
        if wall_ms > self.ms {
            *self = Clock { ms: wall_ms, counter: 0 };
        } else if self.counter < COUNTER_MAX {
            self.counter += 1;
        } else {
            *self = Clock { ms: self.ms + 1, counter: 0 };
        }
        MsgId::compose(self.ms, partition, self.counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_millisecond_borrows_the_next() {
        let mut clock = Clock { ms: ID_EPOCH_MS + 5, counter: COUNTER_MAX };
        let id = clock.tick(ID_EPOCH_MS + 5, 1);
        assert_eq!((id.time_ms(), id.counter()), (ID_EPOCH_MS + 6, 0));
    }

    #[test]
    fn a_machine_without_the_time_makes_ids_that_rise_from_above_0() {
        let mut clock = Clock::default();
        let ids: Vec<_> = [0, 5_000, ID_EPOCH_MS - 1].into_iter().map(|wall| clock.tick(wall, 0)).collect();
        assert!(ids.iter().all(|id| !id.is_none()) && ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    }

    proptest! {
        #[test]
        fn ids_rise_strictly_however_the_wall_clock_jumps(walls in prop::collection::vec(ID_EPOCH_MS..ID_EPOCH_MS + 50, 1..200)) {
            let mut clock = Clock::default();
            let ids: Vec<_> = walls.into_iter().map(|wall| clock.tick(wall, 9)).collect();
            prop_assert!(ids.is_sorted_by(|a, b| a < b));
        }
    }
}
