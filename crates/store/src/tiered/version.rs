//! Numbers of changes; see prelude.lua. They order what has changed for a user, about by time.

use super::stamp;
use im_domain::MsgId;

/// Numbers of one millisecond.
pub const VERSION_STEP: u64 = 4_096;

/// A number of the time of an id, by which ids of different partitions can be ordered. Below the
/// milliseconds stand the partition and as much of the counter as there is room for.
pub fn version_of(id: MsgId) -> u64 {
    let counter = id.number() % 16;
    stamp::ms(id) * VERSION_STEP + u64::from(id.partition()) * 16 + counter
}

#[cfg(test)]
mod tests {
    use super::*;
    use im_domain::msg_id::ID_EPOCH_MS;

    #[test]
    fn numbers_fit_a_double() {
        // Sorted sets of Redis, and Lua, have doubles: whole numbers up to 2^53.
        let last = MsgId::compose(ID_EPOCH_MS + (1 << 41) - 1, 255, 16_383);
        assert!(version_of(last) < 1 << 53);
    }
}
