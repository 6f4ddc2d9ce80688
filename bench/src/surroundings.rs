//! The time and the chance that engines in this program take.

use im_store::tiered::Pause;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// 128 random bits.
pub fn random() -> u128 {
    let mut bytes = [0; 16];
    let _filled = getrandom::fill(&mut bytes);
    u128::from_le_bytes(bytes)
}

pub fn pause(ms: u64) -> Pause {
    Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
}
