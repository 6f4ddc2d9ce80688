//! C49: the clock of Redis is set back five seconds, under load: ids stay unique and rise, and nothing
//! else happens.

use super::check::exact;
use super::load::Load;
use super::rounds;
use super::stage::{Plan, Stage};
use std::time::Duration;

const SPELL: Duration = Duration::from_millis(1_500);
const BACK_SECONDS: i64 = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c49_the_clock_set_back_repeats_no_id() {
    rounds("c49_the_clock_set_back_repeats_no_id", async |mut rng| {
        let Some(stage) = Stage::new(Plan { clock: true, ..Plan::default() }) else { return };
        let mut load = Load::start(&stage, &mut rng).await;
        load.goes_on(SPELL).await;
        stage.redis.set_clock(-BACK_SECONDS);
        load.goes_on(SPELL).await;
        let done = load.finish().await;
        exact(&stage, &done, None).await;
    })
    .await;
}
