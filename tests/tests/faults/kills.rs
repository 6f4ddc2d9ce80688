//! C40: each process is killed under load, and the ack level that was named holds. Redis with
//! `appendfsync always` and PostgreSQL lose nothing; with `everysec` at most the last two seconds of
//! what was `accepted`, and then devices are told.

use super::check::{Loss, exact};
use super::load::Load;
use super::rounds;
use super::stage::{Plan, Stage};
use fastrand::Rng;
use im_tests::process::Signal;
use im_tests::redis_server::Fsync;
use std::time::{Duration, Instant};
use tokio::task::block_in_place;

const KILLS: usize = 3;
/// What `everysec` may lose, and as much again for a disk that is slow.
const EVERYSEC_LOSS: Duration = Duration::from_secs(2);

/// Time between two kills.
fn spell(rng: &mut Rng) -> Duration {
    Duration::from_millis(rng.u64(300..1_500))
}

async fn redis_killed(fsync: Fsync, mut rng: Rng) {
    let Some(mut stage) = Stage::new(Plan { fsync, ..Plan::default() }) else { return };
    let mut load = Load::start(&stage, &mut rng).await;
    let mut loss = None;
    // With `everysec` once: what may be lost must lie between two moments.
    for _ in 0..if fsync == Fsync::Always { KILLS } else { 1 } {
        load.goes_on(spell(&mut rng)).await;
        let from = Instant::now().checked_sub(EVERYSEC_LOSS).expect("a machine that has run for a while");
        block_in_place(|| stage.redis.stop(Signal::Kill));
        load.lasts(spell(&mut rng)).await;
        let to = Instant::now();
        block_in_place(|| stage.redis.start_again());
        load.goes_on(spell(&mut rng)).await;
        loss = (fsync == Fsync::Everysec).then_some(Loss { from, to });
    }
    let done = load.finish().await;
    exact(&stage, &done, loss).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c40_redis_killed_with_always_loses_nothing() {
    rounds("c40_redis_killed_with_always_loses_nothing", async |rng| {
        redis_killed(Fsync::Always, rng).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c40_redis_killed_with_everysec_loses_two_seconds_at_most_and_says_so() {
    rounds("c40_redis_killed_with_everysec_loses_two_seconds_at_most_and_says_so", async |rng| {
        redis_killed(Fsync::Everysec, rng).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c40_postgres_killed_loses_nothing() {
    rounds("c40_postgres_killed_loses_nothing", async |mut rng| {
        let Some(mut stage) = Stage::new(Plan::default()) else { return };
        let mut load = Load::start(&stage, &mut rng).await;
        for _ in 0..KILLS {
            load.goes_on(spell(&mut rng)).await;
            block_in_place(|| stage.postgres.stop(Signal::Kill));
            load.lasts(spell(&mut rng)).await;
            block_in_place(|| stage.postgres.start_again());
        }
        load.goes_on(spell(&mut rng)).await;
        let done = load.finish().await;
        exact(&stage, &done, None).await;
    })
    .await;
}

/// Two hosts, whose upkeep overlaps, are killed in turn, in the middle of whatever they do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c40_hosts_killed_lose_nothing() {
    rounds("c40_hosts_killed_lose_nothing", async |mut rng| {
        let Some(mut stage) = Stage::new(Plan { hosts: 2, ..Plan::default() }) else { return };
        let mut load = Load::start(&stage, &mut rng).await;
        for kill in 0..KILLS + 1 {
            load.goes_on(spell(&mut rng)).await;
            let host = &mut stage.hosts[kill % 2];
            block_in_place(|| host.stop(Signal::Kill));
            load.lasts(spell(&mut rng)).await;
            block_in_place(|| stage.hosts[kill % 2].start_again());
        }
        load.goes_on(spell(&mut rng)).await;
        let done = load.finish().await;
        exact(&stage, &done, None).await;
    })
    .await;
}
