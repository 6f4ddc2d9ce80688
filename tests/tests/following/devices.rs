//! Several devices of one user: each has a place of its own, and what the user does on one all know.

use im_tests::follow::{conversation_ids, global_all, has_kind, read, up_to_date, update};
use im_tests::model::ModelDevice;
use im_tests::routes::SYNC;
use im_tests::seed;
use im_tests::shape;
use im_tests::talk::{conversation, group, ids, say, say_many};
use im_tests::tenant::Tenant;
use serde_json::json;
use tokio::task::JoinSet;

#[tokio::test]
async fn what_one_device_has_the_other_still_gets() {
    let tenant = Tenant::new("devices-two");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let mut devices = ["phone", "laptop"].map(|name| ModelDevice::new(tenant.device("ben", name), 10));
    for round in 0..6 {
        say(&ann, "room", &format!("round {round}")).await;
        // The phone looks each time, the laptop every third.
        devices[0].until_quiet().await;
        devices[0].has_everything().await;
        if round % 3 == 2 {
            devices[1].until_quiet().await;
            devices[1].has_everything().await;
        }
    }
}

#[tokio::test]
async fn all_devices_learn_what_the_user_does_on_one() {
    let tenant = Tenant::new("devices-learn");
    let ann = tenant.user("ann");
    let [phone, laptop, tablet] = ["phone", "laptop", "tablet"].map(|name| tenant.device("ben", name));
    group(&ann, "room", &["ben"]).await;
    let receipts = say_many(&ann, "room", 4).await;
    let cursors = [up_to_date(&laptop).await, up_to_date(&tablet).await];
    read(&phone, "room", &receipts[3]["msgId"]).await;
    update(&phone, "room", json!({"muted": true})).await;
    let own = say(&phone, "room", "from the phone").await;
    for (device, cursor) in [&laptop, &tablet].into_iter().zip(cursors) {
        let (changed, _) = global_all(device, &cursor, 100).await;
        assert_eq!(conversation_ids(&changed), ["room"]);
        for kind in ["messages", "membership", "read"] {
            assert!(has_kind(&changed[0], kind), "{kind}: {changed:?}");
        }
        assert_eq!(changed[0]["headMsgId"], own["msgId"]);
        assert_eq!((&changed[0]["unread"], &changed[0]["readMsgId"]), (&json!(0), &receipts[3]["msgId"]));
        let page = device.ok(SYNC, json!({"conversationId": "room", "limit": 100})).await;
        assert_eq!(shape::list(&page, "messages").len(), 5, "one's own message comes to one's devices too");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_positions_in_any_order_never_move_back() {
    let mut rng = seed::rng("read_positions_in_any_order_never_move_back");
    let tenant = Tenant::new("devices-read-race");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let mut order = ids(&say_many(&tenant.user("ann"), "room", 60).await);
    let all = order.clone();
    rng.shuffle(&mut order);
    let mut calls = JoinSet::new();
    for (n, id) in order.into_iter().enumerate() {
        let device = tenant.device("ben", &format!("device-{}", n % 4)).fresh();
        let above = all.iter().filter(|other| **other > id).count() as u64;
        calls.spawn(async move {
            let state = read(&device, "room", &json!(id.to_string())).await;
            assert!(shape::id(&state, "readMsgId") >= id, "behind what has just been read: {state}");
            assert!(shape::int(&state, "unread") <= above, "{state}");
        });
    }
    calls.join_all().await;
    let found = conversation(&tenant.user("ben"), "room").await;
    assert_eq!((&found["readMsgId"], &found["unread"]), (&json!(all[59].to_string()), &json!(0)));
}

/// Whatever has to be found out about a user before a first answer is found out once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_that_begin_at_once_need_not_begin_again() {
    let tenant = Tenant::new("devices-at-once");
    for n in 0..20 {
        group(&tenant.user("ann"), &format!("room-{n}"), &["ben", "cid", "dan"]).await;
    }
    for user in ["ben", "cid", "dan"] {
        let mut devices = JoinSet::new();
        for n in 0..12 {
            let client = tenant.device(user, &format!("{user}-{n}")).fresh();
            devices.spawn(async move {
                let mut device = ModelDevice::new(client, 7);
                device.until_quiet().await;
                device
            });
        }
        for mut device in devices.join_all().await {
            device.until_quiet().await;
            device.has_everything().await;
            assert_eq!(device.resets, 0, "nothing was lost");
        }
    }
}
