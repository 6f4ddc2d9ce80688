//! Revising messages: the calls, what becomes of a message, and every way on which it could show.

use crate::client::Client;
use crate::follow::{digest, global};
use crate::routes::{CONVERSATION, DELETE, EDIT, GET, LIST, PULL, RECALL, SYNC};
use crate::shape;
use crate::talk::pull;
use serde_json::{Value, json};

/// The body of the call.
pub fn recall_of(conversation: &str, msg_id: &Value) -> Value {
    json!({"conversationId": conversation, "msgId": msg_id})
}

/// Takes a message back, and gives the answer.
pub async fn recall(by: &Client, conversation: &str, msg_id: &Value) -> Value {
    let revised = by.patient(RECALL, recall_of(conversation, msg_id)).await;
    shape::revised(&revised);
    assert_eq!(&revised["msgId"], msg_id, "the message that was named");
    revised
}

/// The body of the call.
pub fn edit_of(conversation: &str, msg_id: &Value, content: &str) -> Value {
    json!({"conversationId": conversation, "msgId": msg_id, "content": content})
}

/// Gives a message another content, and gives the answer.
pub async fn edit(by: &Client, conversation: &str, msg_id: &Value, content: &str) -> Value {
    let revised = by.patient(EDIT, edit_of(conversation, msg_id, content)).await;
    shape::revised(&revised);
    assert_eq!(&revised["msgId"], msg_id, "the message that was named");
    revised
}

/// The body of the call.
pub fn delete_of(conversation: &str, msg_ids: &[&Value]) -> Value {
    json!({"conversationId": conversation, "msgIds": msg_ids, "scope": "all"})
}

/// Deletes a message for all, and gives the answer, or the error.
pub async fn try_delete(by: &Client, conversation: &str, msg_id: &Value) -> Value {
    let answer = by.patient(DELETE, delete_of(conversation, &[msg_id])).await;
    let [result] = shape::list(&answer, "results") else { panic!("not one result: {answer}") };
    result.clone()
}

/// Deletes a message for all, and gives the answer.
pub async fn delete(by: &Client, conversation: &str, msg_id: &Value) -> Value {
    let revised = try_delete(by, conversation, msg_id).await;
    shape::revised(&revised);
    assert_eq!(&revised["msgId"], msg_id, "the message that was named");
    revised
}

/// The body of the call that deletes messages for the caller alone.
pub fn hide_of(conversation: &str, msg_ids: &[&Value]) -> Value {
    json!({"conversationId": conversation, "msgIds": msg_ids, "scope": "me"})
}

/// Deletes messages for the caller alone, and gives the answer.
pub async fn hide(by: &Client, conversation: &str, msg_ids: &[&Value]) -> Value {
    let answer = by.patient(DELETE, hide_of(conversation, msg_ids)).await;
    assert_eq!(shape::list(&answer, "results").len(), msg_ids.len());
    answer
}

/// Expects nothing but the place of `sent`, as it was read before it was taken back.
#[track_caller]
pub fn placeholder(found: &Value, sent: &Value) {
    gone(found, sent, "recalled");
}

/// Expects nothing but the place of `sent`.
#[track_caller]
pub fn gone(found: &Value, sent: &Value, status: &str) {
    shape::message(found);
    assert_eq!((&found["status"], &found["content"]), (&json!(status), &json!("")));
    assert_eq!(found.get("ext"), None, "what the sender added is content too");
    for field in ["msgId", "seq", "conversationId", "senderId", "type", "clientMsgId", "createTime"] {
        assert_eq!(found[field], sent[field], "{field}");
    }
}

/// Expects the control message of `revised`, made by `sender`.
#[track_caller]
pub fn control(found: &Value, revised: &Value, sender: &str) {
    control_of(found, revised, sender, "recall");
}

/// As [`control`], of any action.
#[track_caller]
pub fn control_of(found: &Value, revised: &Value, sender: &str, action: &str) {
    shape::message(found);
    assert_eq!((&found["type"], &found["senderId"]), (&json!("recall"), &json!(sender)));
    assert_eq!((&found["status"], &found["content"]), (&json!("normal"), &json!("")));
    assert_eq!((&found["msgId"], &found["seq"]), (&revised["controlMsgId"], &revised["seq"]));
    assert_eq!(found["ref"], json!({"msgId": revised["msgId"], "action": action}));
}

/// One message, by its id.
pub async fn get_one(reader: &Client, conversation: &str, msg_id: &Value) -> Value {
    let found = reader.ok(GET, json!({"conversationId": conversation, "msgIds": [msg_id]})).await;
    assert_eq!(found["missing"], json!([]));
    found["messages"][0].clone()
}

/// What a member of a conversation of at most a hundred messages gets to see of it: the answers of every
/// way to read, each with the name of the way.
pub async fn every_way(reader: &Client, conversation: &str) -> Vec<(&'static str, Value)> {
    let of = |more: Value| {
        let mut request = more;
        request["conversationId"] = conversation.into();
        request
    };
    let up = pull(reader, of(json!({"limit": 100}))).await;
    let msg_ids: Vec<&Value> = shape::list(&up, "messages").iter().map(|one| &one["msgId"]).collect();
    let get = reader.ok(GET, of(json!({"msgIds": msg_ids}))).await;
    assert_eq!(get["missing"], json!([]));
    let several = json!({"requests": [of(json!({"limit": 100})), of(json!({"direction": "down"}))]});
    vec![
        ("pull down", pull(reader, of(json!({"limit": 100, "direction": "down"}))).await),
        ("pull of several", reader.ok(PULL, several).await),
        ("pull of texts", pull(reader, of(json!({"limit": 100, "types": ["text"]}))).await),
        ("pull up", up),
        ("get", get),
        ("sync", reader.ok(SYNC, of(json!({"lastMsgId": 0}))).await),
        ("conversation", reader.ok(CONVERSATION, of(json!({}))).await),
        ("list", reader.ok(LIST, json!({"limit": 100})).await),
        ("digest", digest(reader, json!({"limit": 100, "latest": 5})).await),
        ("global", global(reader, json!({})).await),
    ]
}

/// Expects `text` on none of them.
#[track_caller]
pub fn shown_nowhere(answers: &[(&'static str, Value)], text: &str) {
    for (way, answer) in answers {
        assert!(!answer.to_string().contains(text), "{way} shows what was taken back: {answer}");
    }
}
