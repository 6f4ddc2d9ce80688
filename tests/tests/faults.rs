//! Proves that no fault of a server loses, doubles or reorders what was acknowledged, on the storage
//! of profile `redis`: writers and followers work on real servers of the suite's own while one of them
//! is killed, stopped, wiped, put back to an older copy, given another time or cut off, and afterwards
//! the history is compared with every receipt. Each test prints its seed (`IM_SEED` repeats it), and
//! goes on for `IM_SOAK_SECONDS` where that is set. Skipped on the embedded storage and with `IM_URL`.

mod cases;
mod check;
mod clock;
mod drain;
mod followers;
mod following;
mod kills;
mod ledger;
mod lines;
mod load;
mod loss;
mod outage;
mod servers;
mod stage;
mod upkeep;
mod writers;

use fastrand::Rng;
use im_tests::profile::Profile;
use im_tests::seed;
use std::time::{Duration, Instant};

/// Whether these tests apply.
fn on_redis() -> bool {
    Profile::Redis.is_current("breaks Redis and PostgreSQL")
}

/// How long a soak lasts.
fn soak() -> Option<Duration> {
    let seconds = std::env::var("IM_SOAK_SECONDS").ok()?;
    Some(Duration::from_secs(seconds.parse().expect("IM_SOAK_SECONDS is a whole number")))
}

/// Runs `round` once, and again, each time with another stretch of the seed, while a soak lasts.
async fn rounds(name: &str, mut round: impl AsyncFnMut(Rng)) {
    let mut rng = seed::rng(name);
    let end = Instant::now() + soak().unwrap_or_default();
    loop {
        round(rng.fork()).await;
        if Instant::now() >= end {
            return;
        }
    }
}
