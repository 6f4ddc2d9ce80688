//! Devices that were away, and answers that were lost.

use im_tests::follow::{global_all, offline, read, up_to_date};
use im_tests::model::ModelDevice;
use im_tests::raw;
use im_tests::routes::{GLOBAL, SYNC};
use im_tests::shape;
use im_tests::talk::{all_different, conversation, group, ids, say_many, texts};
use im_tests::tenant::Tenant;
use im_tests::walk::sync_all;
use serde_json::{Value, json};

#[tokio::test]
async fn five_thousand_messages_to_a_device_that_was_away_all_the_time() {
    let tenant = Tenant::new("away-5000");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let cursor = up_to_date(&ben).await;
    let sent = ids(&say_many(&ann, "room", 5_000).await);
    let (changed, _) = global_all(&ben, &cursor, 100).await;
    assert_eq!(changed.len(), 1);
    assert_eq!((&changed[0]["headSeq"], &changed[0]["unread"]), (&json!(5_000), &json!(5_000)));
    assert_eq!(offline(&ben).await, (1, 5_000));
    let walked = sync_all(&ben, json!({"conversationId": "room", "limit": 100})).await;
    let found = ids(&walked);
    all_different(&found);
    assert_eq!(found, sent);
    assert!(walked.iter().enumerate().all(|(n, message)| message["seq"] == n + 1));
    let page = ben.ok(SYNC, json!({"conversationId": "room"})).await;
    assert_eq!(page["position"], sent[4_999].to_string());
    assert_eq!(conversation(&ben, "room").await["unread"], 5_000, "to have is not to have read");
    let state = read(&ben, "room", &page["position"]).await;
    assert_eq!(state["unread"], 0);
}

/// Posts, and cuts the connection as the answer begins.
async fn cut(device: &im_tests::client::Client, route: &'static str, body: &Value) {
    let (base, token, body) = (device.base().to_owned(), device.token().to_owned(), body.to_string());
    let call = move || raw::post_and_hang_up(&base, route, &token, body.as_bytes());
    tokio::task::spawn_blocking(call).await.expect("no panic").expect("the answer begins");
}

#[tokio::test]
async fn a_lost_answer_loses_nothing() {
    let tenant = Tenant::new("away-lost");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let sent = ids(&say_many(&ann, "room", 95).await);
    let mut have: Vec<Value> = Vec::new();
    let mut request = json!({"conversationId": "room", "limit": 10});
    loop {
        // Each question is asked twice in vain; what it confirms is confirmed all the same.
        for _ in 0..2 {
            cut(&ben, SYNC, &request).await;
        }
        let page = ben.ok(SYNC, request.clone()).await;
        let last = have.last().map_or("0".to_owned(), |last| shape::text(last, "msgId").to_owned());
        assert_eq!(page["position"], last);
        let found = shape::list(&page, "messages");
        if found.is_empty() {
            break;
        }
        have.extend(found.iter().cloned());
        request["lastMsgId"] = page["cursor"].clone();
    }
    assert_eq!(ids(&have), sent);
}

#[tokio::test]
async fn a_lost_answer_of_global_is_given_again() {
    let tenant = Tenant::new("away-lost-global");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    for n in 0..7 {
        group(&ann, &format!("room-{n}"), &["ben"]).await;
        say_many(&ann, &format!("room-{n}"), n).await;
    }
    let mut device = ModelDevice::new(ben.clone(), 3);
    loop {
        device.step_in_vain().await;
        cut(&ben, GLOBAL, &json!({"limit": 3})).await;
        if !device.step().await {
            break;
        }
    }
    device.has_everything().await;
}

#[tokio::test]
async fn auto_advance_gives_each_page_once_and_a_confirmation_is_not_needed() {
    let tenant = Tenant::new("away-auto");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    say_many(&ann, "room", 25).await;
    let request = json!({"conversationId": "room", "limit": 10, "autoAdvance": true});
    let mut have = Vec::new();
    loop {
        let page = ben.ok(SYNC, request.clone()).await;
        let found = texts(shape::list(&page, "messages"));
        assert_eq!(page["position"], page["cursor"]);
        if found.is_empty() {
            break;
        }
        have.extend(found);
    }
    assert_eq!(have, (1..=25).map(|n| n.to_string()).collect::<Vec<_>>());
    // What it cost to opt in: a page that is lost is lost for this device.
    let more: Vec<Value> =
        (0..10).map(|n| im_tests::talk::text("room", &format!("lost-{n}"), "lost")).collect();
    im_tests::talk::send_batch(&ann, &more).await;
    cut(&ben, SYNC, &request).await;
    assert_eq!(ben.ok(SYNC, request.clone()).await["messages"], json!([]));
    let again = json!({"conversationId": "room", "lastMsgId": 0, "limit": 100});
    assert_eq!(shape::list(&ben.ok(SYNC, again).await, "messages").len(), 35, "and can be read again");
}
