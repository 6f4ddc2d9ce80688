//! Proves that a line that is cut, or falls silent, between a host and its servers loses nothing, under
//! load, and that everything goes on by itself once it is back.

use super::check::exact;
use super::load::Load;
use super::rounds;
use super::stage::{Lines, Plan, Stage};
use im_tests::proxy::{Line, Proxy};
use std::time::Duration;

const CUTS: usize = 2;
const SPELL: Duration = Duration::from_millis(1_000);

async fn interrupted(name: &str, line: Line, which: fn(&Lines) -> &Proxy) {
    rounds(name, async |mut rng| {
        let Some(stage) = Stage::new(Plan { proxied: true, ..Plan::default() }) else { return };
        let proxy = which(stage.lines.as_ref().expect("the stage has proxies"));
        let mut load = Load::start(&stage, &mut rng).await;
        for _ in 0..CUTS {
            load.goes_on(SPELL).await;
            proxy.set(line);
            load.lasts(Duration::from_millis(rng.u64(500..2_000))).await;
            proxy.set(Line::Open);
        }
        load.goes_on(SPELL).await;
        let done = load.finish().await;
        exact(&stage, &done, None).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_from_redis() {
    interrupted("cut_off_from_redis", Line::Cut, |lines| &lines.redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_from_postgres() {
    interrupted("cut_off_from_postgres", Line::Cut, |lines| &lines.postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_word_from_redis() {
    interrupted("no_word_from_redis", Line::Silent, |lines| &lines.redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_word_from_postgres() {
    interrupted("no_word_from_postgres", Line::Silent, |lines| &lines.postgres).await;
}
