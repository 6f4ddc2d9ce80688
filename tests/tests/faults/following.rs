//! C04, C05 for what devices and users have done: after the hot store was wiped, or put back to an older
//! copy, positions, settings and devices are as they were when they were drained; a device that asks what
//! has changed is told to begin anew, and ends up with what is there.

use super::cases::{until_ok, until_sent};
use super::load::OWNER;
use super::stage::{Plan, Stage};
use super::upkeep::drain;
use im_tests::follow::{
    changes, devices, each_once, global_all, has_kind, offline, read, up_to_date, update,
};
use im_tests::model::ModelDevice;
use im_tests::process::Signal;
use im_tests::push::settings;
use im_tests::redis_server::RedisServer;
use im_tests::routes::{CONVERSATION, GLOBAL, SYNC};
use im_tests::scratch::Scratch;
use im_tests::shape;
use im_tests::talk::{group, say_many, send_batch, text};
use serde_json::{Value, json};
use tokio::task::block_in_place;

const ROOMS: [&str; 3] = ["room", "other", "third"];

/// Takes from the hot store all that it has, or what it has had since a copy was made of it.
fn lose(redis: &mut RedisServer, copy: Option<&Scratch>) {
    block_in_place(|| match copy {
        None => redis.flush_all(),
        Some(copy) => {
            redis.stop(Signal::Kill);
            redis.restore(copy);
            redis.start_again();
        }
    });
}

async fn after_a_loss(wiped: bool) {
    // Nothing is drained by itself, so that it is known what is lost.
    let Some(mut stage) = Stage::new(Plan { schedule: Some("24h"), ..Plan::default() }) else { return };
    let tenant = stage.tenant(0);
    let (owner, ben) = (tenant.user(OWNER).fresh(), tenant.device("ben", "phone").fresh());
    for room in ROOMS {
        group(&owner, room, &["ben"]).await;
    }
    let receipts = say_many(&owner, "room", 30).await;
    say_many(&owner, "other", 3).await;
    ben.ok(SYNC, json!({"conversationId": "room", "lastMsgId": receipts[9]["msgId"]})).await;
    read(&ben, "room", &receipts[4]["msgId"]).await;
    update(&ben, "third", json!({"muted": true})).await;
    settings(&ben, json!({"showContent": false})).await;
    drain(&stage).await;
    let copy = (!wiped).then(|| block_in_place(|| stage.redis.copy()));
    // A device that has what is going to be lost.
    let lost: Vec<Value> = (0..5).map(|n| text("room", &format!("lost-{n}"), "lost")).collect();
    send_batch(&owner, &lost).await;
    let mut device = ModelDevice::new(tenant.device("ben", "laptop").fresh(), 10);
    device.until_quiet().await;
    device.has_everything().await;
    let cursor = up_to_date(&tenant.device("ben", "tablet").fresh()).await;
    lose(&mut stage.redis, copy.as_ref());

    let part = until_ok(&ben, GLOBAL, &json!({"cursor": cursor, "limit": 2})).await;
    changes(&part);
    assert_eq!(part["reset"]["reason"], "epoch_changed", "{part}");
    let mut all = shape::list(&part, "changed").to_vec();
    let (rest, end) = global_all(&ben, shape::text(&part, "cursor"), 2).await;
    all.extend(rest);
    assert_eq!(each_once(&all).len(), ROOMS.len());
    assert_eq!(global_all(&ben, &end, 100).await.0, Vec::<Value>::new());

    let page = ben.ok(SYNC, json!({"conversationId": "room"})).await;
    assert_eq!(page["position"], receipts[9]["msgId"]);
    let found = until_ok(&ben, CONVERSATION, &json!({"conversationId": "room"})).await;
    assert_eq!((&found["readMsgId"], &found["unread"]), (&receipts[4]["msgId"], &json!(25)));
    assert_eq!(offline(&ben).await, (2, 28));
    assert_eq!(settings(&ben, json!({})).await, json!({"showContent": false, "muted": ["third"]}));
    assert!(devices(&ben, None).await.contains(&"phone".to_owned()));

    // It goes on: what is new is told, and a device that had what is lost has not what is not there.
    // The connections of this function may be those to the one that was killed.
    let receipt = until_sent(&owner, &text("room", "after the loss", "after the loss")).await;
    let (changed, _) = global_all(&ben, &end, 100).await;
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(has_kind(&changed[0], "messages") && changed[0]["headMsgId"] == receipt["msgId"], "{changed:?}");
    device.until_quiet().await;
    device.has_everything().await;
    assert!(device.resets > 0, "it was told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c04_after_redis_was_wiped_devices_begin_anew_from_where_they_were() {
    after_a_loss(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c05_after_redis_was_put_back_devices_begin_anew_from_where_they_were() {
    after_a_loss(false).await;
}

/// With Redis empty, SQL has it all: nothing that was drained is asked for in vain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c04_wiped_after_all_was_drained_nothing_is_lost() {
    let Some(stage) = Stage::new(Plan { schedule: Some("24h"), ..Plan::default() }) else { return };
    let tenant = stage.tenant(0);
    let owner = tenant.user(OWNER).fresh();
    for room in ROOMS {
        group(&owner, room, &["ben"]).await;
        say_many(&owner, room, 40).await;
    }
    drain(&stage).await;
    block_in_place(|| stage.redis.flush_all());
    let mut device = ModelDevice::new(tenant.device("ben", "phone").fresh(), 7);
    until_ok(&owner, GLOBAL, &json!({})).await;
    device.until_quiet().await;
    device.has_everything().await;
    let messages: usize =
        ROOMS.iter().map(|room| device.kept(room).expect("it is there").messages.len()).sum();
    assert_eq!(messages, 120);
}
