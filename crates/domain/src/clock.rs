//! A partition's clock: the last (millisecond, counter) an id was made from. It never goes back,
//! whatever the wall clock does.

use crate::msg_id::{COUNTER_MAX, MsgId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Clock {
    /// Milliseconds since 1970 of the last id.
    pub ms: u64,
    /// Counter of the last id within `ms`.
    pub counter: u16,
}

impl Clock {
    /// Makes the next id of `partition`. A wall clock that was set back leaves the clock where it
    /// is; a full millisecond borrows the next one.
    pub fn tick(&mut self, wall_ms: u64, partition: u8) -> MsgId {
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
    use crate::msg_id::ID_EPOCH_MS;
    use proptest::prelude::*;

    #[test]
    fn a_full_millisecond_borrows_the_next() {
        let mut clock = Clock { ms: ID_EPOCH_MS + 5, counter: COUNTER_MAX };
        let id = clock.tick(ID_EPOCH_MS + 5, 1);
        assert_eq!((id.time_ms(), id.counter()), (ID_EPOCH_MS + 6, 0));
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
