//! Proves that a batch has 1 to 100 messages, and that in a partly bad one the good are stored and
//! the bad are named, each on its own and in order.

use super::Room;
use im_tests::routes::SEND;
use im_tests::shape;
use im_tests::talk::{contents, ids, text};
use serde_json::{Value, json};

/// Sends `bad` between two good messages; expects these to be stored and `bad` to be refused.
async fn bad_between_good(room: &Room, bad: Value, code: &str, field: Option<&str>) {
    let key = fastrand::u64(..).to_string();
    let before = contents(&room.ann, "room").await.len();
    let (first, last) = (text("room", &format!("{key}-1"), "a"), text("room", &format!("{key}-2"), "b"));
    let answer = room.ann.ok(SEND, json!({"messages": [first, bad, last]})).await;
    let results = shape::list(&answer, "results");
    assert_eq!(results.len(), 3, "{answer}");
    shape::receipt(&results[0]);
    shape::receipt(&results[2]);
    assert_eq!(shape::int(&results[2], "seq"), shape::int(&results[0], "seq") + 1);
    shape::problem(&results[1]["error"], SEND);
    assert_eq!(results[1]["error"]["code"], code, "{bad}: {answer}");
    if let Some(field) = field {
        assert_eq!(results[1]["error"]["field"], field, "{bad}: {answer}");
    }
    assert_eq!(contents(&room.ann, "room").await.len(), before + 2);
}

#[tokio::test]
async fn empty_batch() {
    let room = Room::new("batch-empty").await;
    let answer = room.ann.post(SEND, json!({"messages": []})).await;
    answer.refused("invalid_request").naming("messages");
    room.untouched().await;
}

#[tokio::test]
async fn batch_of_101() {
    let room = Room::new("batch-101").await;
    let batch: Vec<Value> = (0..101).map(|n| text("room", &n.to_string(), "x")).collect();
    let answer = room.ann.post(SEND, json!({"messages": batch})).await;
    answer.refused("invalid_request").naming("messages");
    room.untouched().await;
}

#[tokio::test]
async fn no_list() {
    let room = Room::new("batch-no-list").await;
    for messages in [json!("x"), json!({}), json!(1), text("room", "1", "x")] {
        let answer = room.ann.post(SEND, json!({"messages": messages})).await;
        answer.refused("invalid_request").naming("messages");
    }
    room.untouched().await;
}

#[tokio::test]
async fn items_that_break_a_rule() {
    let room = Room::new("batch-rules").await;
    im_tests::talk::group(&room.tenant.user("cid"), "secret", &[]).await;
    let large = "x".repeat(65_537);
    let to_self = json!({"toUserId": "ann", "clientMsgId": "1", "type": "text", "content": "x"});
    let mut reply = text("room", "1", "x");
    reply["replyTo"] = json!({"msgId": "1"});
    for (bad, code, field) in [
        (text("secret", "1", "x"), "not_member", None),
        (text("nowhere", "1", "x"), "conversation_not_found", None),
        (text("room", "1", &large), "too_large", Some("content")),
        (text("room", "first", "other"), "conflict", Some("clientMsgId")),
        (text("room", "", "x"), "invalid_request", Some("clientMsgId")),
        (text("a b", "1", "x"), "invalid_request", Some("conversationId")),
        (to_self, "invalid_request", Some("toUserId")),
        (reply, "message_not_found", Some("replyTo.msgId")),
    ] {
        bad_between_good(&room, bad, code, field).await;
    }
}

#[tokio::test]
async fn items_of_another_form() {
    let room = Room::new("batch-forms").await;
    let mut surprise = text("room", "1", "x");
    surprise["surprise"] = 1.into();
    let mut number = text("room", "1", "x");
    number["content"] = 5.into();
    let mut typing = text("room", "1", "x");
    typing["type"] = "typing".into();
    let mut recall = text("room", "1", "x");
    recall["type"] = "recall".into();
    let missing = json!({"conversationId": "room", "clientMsgId": "1", "type": "text"});
    for (bad, field) in [
        (surprise, "surprise"),
        (number, "content"),
        (typing, "type"),
        (recall, "type"),
        (missing, "content"),
    ] {
        bad_between_good(&room, bad, "invalid_request", Some(field)).await;
    }
}

#[tokio::test]
async fn a_batch_that_is_bad_throughout_stores_nothing() {
    let room = Room::new("batch-all-bad").await;
    let batch: Vec<Value> = (0..100).map(|n| text("nowhere", &n.to_string(), "x")).collect();
    let answer = room.ann.ok(SEND, json!({"messages": batch})).await;
    for result in shape::list(&answer, "results") {
        assert_eq!(result["error"]["code"], "conversation_not_found");
    }
    room.untouched().await;
}

#[tokio::test]
async fn the_same_id_twice_in_a_batch_is_one_message() {
    let room = Room::new("batch-twice").await;
    let same = text("room", "1", "x");
    let batch = json!({"messages": [same, same, text("room", "1", "y")]});
    let answer = room.ann.ok(SEND, batch).await;
    let results = shape::list(&answer, "results");
    assert_eq!(results[0]["duplicate"], false);
    assert_eq!(results[1]["duplicate"], true);
    assert_eq!(ids(&results[..1]), ids(&results[1..2]));
    assert_eq!(results[2]["error"]["code"], "conflict");
    assert_eq!(contents(&room.ann, "room").await, ["x", "first"]);
}
