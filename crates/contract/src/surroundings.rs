//! What a storage component hands to its engine: time and chance.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// 128 random bits.
pub fn random() -> u128 {
    let mut bytes = [0; 16];
    // The platform's generator does not fail; were it to, the id would be refused as taken.
    let _filled = getrandom::fill(&mut bytes);
    u128::from_le_bytes(bytes)
}
