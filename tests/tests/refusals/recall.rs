//! Proves what cannot be taken back: what is not there, what only the store makes, what was said too long ago.
//! The tests of the time are on servers of the suite's own, set up for it; skipped where `IM_URL` is set.

use super::Room;
use im_tests::recall::{get_one, recall, recall_of};
use im_tests::routes::RECALL;
use im_tests::server::{Server, Setup};
use im_tests::shape;
use im_tests::talk::{group, say};
use im_tests::tenant::Tenant;
use serde_json::json;
use std::time::Duration;

/// How long a sender can take a message back, where it is short, in milliseconds.
const SHORT_MS: u64 = 1_000;

#[tokio::test]
async fn a_message_that_is_not_there() {
    let room = Room::new("recall-missing").await;
    let first = shape::id(&room.first, "msgId");
    group(&room.ben, "other", &[]).await;
    tokio::time::sleep(Duration::from_millis(2)).await;
    let elsewhere = say(&room.ben, "other", "elsewhere").await["msgId"].clone();
    let tenant = Tenant::new("recall-missing-other");
    group(&tenant.user("ann"), "room", &[]).await;
    tokio::time::sleep(Duration::from_millis(2)).await;
    let foreign = say(&tenant.user("ann"), "room", "foreign").await["msgId"].clone();
    let beyond = [first + 1, first - 1, 1, 0, i64::MAX as u64].map(|id| json!(id.to_string()));
    for id in beyond.iter().chain([&elsewhere, &foreign]) {
        for by in [&room.ann, &room.ben, &room.tenant.admin(), &room.tenant.service()] {
            let answer = by.post(RECALL, recall_of("room", id)).await;
            answer.refused("message_not_found").naming("msgId");
        }
    }
    room.ben.ok("/api/conversation/members", json!({"conversationId": "other", "remove": ["ben"]})).await;
    room.untouched().await;
}

#[tokio::test]
async fn a_control_message() {
    let room = Room::new("recall-control").await;
    let second = say(&room.ann, "room", "second").await;
    let control = recall(&room.ann, "room", &second["msgId"]).await["controlMsgId"].clone();
    for by in [&room.ann, &room.tenant.admin()] {
        let answer = by.post(RECALL, recall_of("room", &control)).await;
        answer.refused("invalid_request").naming("msgId");
    }
    assert_eq!(get_one(&room.ben, "room", &control).await["status"], "normal");
}

#[tokio::test]
async fn reasons_of_the_limit_and_one_character_more() {
    let room = Room::new("recall-reason").await;
    for unit in ["x", "あ", "😀"] {
        let mut body = recall_of("room", &room.first["msgId"]);
        body["reason"] = unit.repeat(201).into();
        room.ann.post(RECALL, body).await.refused("too_large").naming("reason");
    }
    room.untouched().await;
    for (n, reason) in
        ["x".repeat(200), "😀".repeat(200), String::new(), "\0".to_owned()].into_iter().enumerate()
    {
        let receipt = say(&room.ann, "room", &n.to_string()).await;
        let mut body = recall_of("room", &receipt["msgId"]);
        body["reason"] = reason.into();
        shape::revised(&room.ann.ok(RECALL, body).await);
    }
}

/// A server on which the tenant of this label has a short time, and all others the usual one.
fn server(label: &str) -> Option<Server> {
    let rule = format!("recall_ms=120000,{}={SHORT_MS}", Tenant::new(label).name);
    Server::own(Setup { args: vec!["--var".to_owned(), rule], ..Setup::default() })
}

#[tokio::test]
async fn what_was_said_too_long_ago() {
    let label = "recall-late";
    let Some(server) = server(label) else { return };
    let (hasty, patient) = (Tenant::on(&server, label), Tenant::on(&server, "recall-patient"));
    let mut slips = Vec::new();
    for tenant in [&hasty, &patient] {
        let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
        group(&ann, "room", &["ben"]).await;
        slips.push([say(&ben, "room", "one").await, say(&ben, "room", "two").await]);
    }
    tokio::time::sleep(Duration::from_millis(SHORT_MS + 200)).await;
    let late = recall_of("room", &slips[0][0]["msgId"]);
    hasty.user("ben").post(RECALL, late.clone()).await.refused("forbidden");
    let mut named = late.clone();
    named["userId"] = "ben".into();
    assert_eq!(get_one(&hasty.user("ann"), "room", &slips[0][0]["msgId"]).await["content"], "one");
    // Another tenant has more time, and who rules has all there is.
    recall(&patient.user("ben"), "room", &slips[1][0]["msgId"]).await;
    let answer = recall(&hasty.user("ann"), "room", &slips[0][0]["msgId"]).await;
    recall(&hasty.admin(), "room", &slips[0][1]["msgId"]).await;
    // To say again what is done is never too late.
    assert_eq!(hasty.user("ben").ok(RECALL, late).await, answer);
    assert_eq!(hasty.service().ok(RECALL, named).await, answer);
}

#[tokio::test]
async fn one_time_for_all_tenants() {
    let args = vec!["--var".to_owned(), format!("recall_ms={SHORT_MS}")];
    let Some(server) = Server::own(Setup { args, ..Setup::default() }) else { return };
    let tenant = Tenant::on(&server, "recall-short");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let slip = say(&ben, "room", "a slip").await;
    tokio::time::sleep(Duration::from_millis(SHORT_MS + 200)).await;
    ben.post(RECALL, recall_of("room", &slip["msgId"])).await.refused("forbidden");
    let own = say(&ann, "room", "the owner's own").await;
    tokio::time::sleep(Duration::from_millis(SHORT_MS + 200)).await;
    recall(&ann, "room", &own["msgId"]).await;
}
