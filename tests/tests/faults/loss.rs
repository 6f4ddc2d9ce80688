//! C04, C05: the hot store is wiped, or put back to an older copy, under load. What SQL had stays, and
//! what was acknowledged as `persisted`; devices that had what is lost are told; no id and no `seq`
//! is given again.

use super::cases::until_ok;
use super::check::{Loss, exact};
use super::load::{Load, OWNER};
use super::rounds;
use super::stage::{Plan, Stage};
use super::upkeep::{drain, drained};
use im_tests::client::Client;
use im_tests::process::Signal;
use im_tests::routes::{PULL, SEND, SYNC};
use im_tests::shape;
use im_tests::talk::{group, ids, say_many, text};
use im_tests::walk::{Direction, pull_where};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::task::block_in_place;

const SPELL: Duration = Duration::from_millis(1_500);

/// Stops the writers until SQL has everything, and lets them go on: what may be lost from now on was
/// acknowledged from now on.
async fn safe_so_far(stage: &Stage, load: &mut Load) -> Instant {
    load.pause().await;
    drained(stage).await;
    let moment = Instant::now();
    load.resume();
    moment
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c04_redis_wiped_under_load_keeps_what_sql_has() {
    rounds("c04_redis_wiped_under_load_keeps_what_sql_has", async |mut rng| {
        let Some(stage) = Stage::new(Plan::default()) else { return };
        let mut load = Load::start(&stage, &mut rng).await;
        load.goes_on(SPELL).await;
        let from = safe_so_far(&stage, &mut load).await;
        load.lasts(Duration::from_millis(rng.u64(200..1_200))).await;
        block_in_place(|| stage.redis.flush_all());
        let to = Instant::now();
        load.goes_on(SPELL).await;
        let done = load.finish().await;
        exact(&stage, &done, Some(Loss { from, to })).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c05_redis_put_back_to_an_older_copy_under_load_is_found_out() {
    rounds("c05_redis_put_back_to_an_older_copy_under_load_is_found_out", async |mut rng| {
        let Some(mut stage) = Stage::new(Plan::default()) else { return };
        let mut load = Load::start(&stage, &mut rng).await;
        load.goes_on(SPELL).await;
        let copy = block_in_place(|| stage.redis.copy());
        load.goes_on(SPELL).await;
        let from = safe_so_far(&stage, &mut load).await;
        load.lasts(Duration::from_millis(rng.u64(200..1_200))).await;
        block_in_place(|| {
            stage.redis.stop(Signal::Kill);
            stage.redis.restore(&copy);
            stage.redis.start_again();
        });
        let to = Instant::now();
        load.goes_on(SPELL).await;
        let done = load.finish().await;
        exact(&stage, &done, Some(Loss { from, to })).await;
    })
    .await;
}

/// Nothing is drained by itself, so that it is known what is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c05_after_a_loss_devices_are_told_and_numbers_go_on_above() {
    let Some(mut stage) = Stage::new(Plan { schedule: Some("24h"), ..Plan::default() }) else { return };
    let owner = stage.tenant(0).user(OWNER).fresh();
    for (room, wipe) in [("wiped", true), ("put-back", false)] {
        group(&owner, room, &[]).await;
        let kept = ids(&say_many(&owner, room, 150).await);
        drain(&stage).await;
        let copy = block_in_place(|| stage.redis.copy());
        let lost = say_more(&owner, room, 50).await;
        block_in_place(|| match wipe {
            true => stage.redis.flush_all(),
            false => {
                stage.redis.stop(Signal::Kill);
                stage.redis.restore(&copy);
                stage.redis.start_again();
            }
        });
        a_device_is_told(&owner, &lost[49]).await;
        // The connections of this function may be those to the one that was killed.
        until_ok(&owner, PULL, &json!({"conversationId": room})).await;
        for way in Direction::BOTH {
            let request = json!({"conversationId": room, "limit": 7, "direction": way.name()});
            let mut found = ids(&pull_where(&owner, request).await);
            found.sort_unstable();
            assert_eq!(found, kept, "{room}: what SQL has, once, {}", way.name());
        }
        let next = &say_more(&owner, room, 1).await[0];
        assert!(shape::id(next, "msgId") > shape::id(&lost[49], "msgId"), "{room}: {next:?}");
        assert!(shape::int(next, "seq") > 200, "{room}: {next:?}");
        assert_ne!(next["epoch"], lost[49]["epoch"], "{room}: a new epoch");
    }
}

/// Expects a device that has a lost message to be told, by its epoch alone and by its position alone.
async fn a_device_is_told(owner: &Client, lost: &Value) {
    for with_epoch in [true, false] {
        let mut request = json!({"conversationId": lost["conversationId"], "lastMsgId": lost["msgId"]});
        if with_epoch {
            request["epoch"] = lost["epoch"].clone();
        }
        let page = until_ok(owner, SYNC, &request).await;
        shape::page(&page);
        assert!(page.get("reset").is_some(), "not told: {page}");
    }
}

/// More texts, whose names nobody else has.
async fn say_more(owner: &Client, room: &str, count: usize) -> Vec<Value> {
    let name = || format!("more-{:016x}", fastrand::u64(..));
    let all: Vec<Value> = (0..count).map(|_| text(room, &name(), "more")).collect();
    let answer = until_ok(owner, SEND, &json!({"messages": all})).await;
    let receipts = shape::list(&answer, "results").to_vec();
    receipts.iter().for_each(shape::receipt);
    receipts
}
