//! Following a user over all conversations: what each answer looks like, and walks to the end.

use crate::client::Client;
use crate::routes::{DEVICES, DIGEST, GLOBAL, OFFLINE, READ, UPDATE};
use crate::shape;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What about a conversation can have changed, in the order in which it is told.
pub const KINDS: [&str; 4] = ["messages", "revisions", "membership", "read"];
/// More parts than any walk of the suite has: one that gets here does not end.
const PARTS_MAX: usize = 10_000;

/// One part of what has changed, as `request` asks for it.
pub async fn global(device: &Client, request: Value) -> Value {
    let limit = request["limit"].as_u64().unwrap_or(100);
    let part = device.patient(GLOBAL, request).await;
    changes(&part);
    assert!(shape::list(&part, "changed").len() as u64 <= limit, "more than {limit}");
    part
}

#[track_caller]
pub fn changes(part: &Value) {
    assert!(!shape::text(part, "cursor").is_empty());
    shape::list(part, "changed").iter().for_each(changed);
    shape::flag(part, "hasMore");
    if let Some(reset) = part.get("reset") {
        let reason = shape::text(reset, "reason");
        assert!(["epoch_changed", "position_ahead", "expired"].contains(&reason), "{reason}");
        shape::id(reset, "oldestMsgId");
    }
    let found: Vec<&Value> = shape::list(part, "changed").iter().map(|one| &one["conversationId"]).collect();
    let once = found.iter().all(|id| found.iter().filter(|other| other == &id).count() == 1);
    assert!(once, "one conversation twice in one part: {found:?}");
}

#[track_caller]
fn changed(one: &Value) {
    assert!(!shape::text(one, "conversationId").is_empty());
    for field in ["headMsgId", "readMsgId"] {
        shape::id(one, field);
    }
    for field in ["headSeq", "unread"] {
        shape::int(one, field);
    }
    let kinds: Vec<&str> = shape::list(one, "kinds").iter().filter_map(Value::as_str).collect();
    let known: Vec<&str> = KINDS.into_iter().filter(|kind| kinds.contains(kind)).collect();
    assert!(!kinds.is_empty() && kinds == known, "kinds, in order, each once: {one}");
    assert!(one.get("left").is_none_or(|left| *left == true), "`left` is there when it is so: {one}");
}

/// All that has changed since `cursor`, in parts of `limit`, and the cursor after it.
pub async fn global_all(device: &Client, cursor: &str, limit: usize) -> (Vec<Value>, String) {
    let (mut cursor, mut all) = (cursor.to_owned(), Vec::new());
    for _ in 0..PARTS_MAX {
        let part = global(device, json!({"cursor": cursor, "limit": limit})).await;
        let found = shape::list(&part, "changed");
        all.extend(found.iter().cloned());
        let next = shape::text(&part, "cursor").to_owned();
        if part["hasMore"] == false {
            return (all, next);
        }
        assert!(!found.is_empty(), "hasMore and nothing changed: the walk would never end");
        assert_ne!(next, cursor, "the cursor moves");
        cursor = next;
    }
    panic!("more than {PARTS_MAX} parts of changes");
}

/// The cursor of a device that knows everything there is.
pub async fn up_to_date(device: &Client) -> String {
    global_all(device, "", 100).await.1
}

/// The ids of the conversations in `items`, in order.
pub fn conversation_ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| shape::text(item, "conversationId")).collect()
}

/// Expects each conversation to be there once, and gives their ids.
#[track_caller]
pub fn each_once(items: &[Value]) -> BTreeSet<&str> {
    let ids = conversation_ids(items);
    let set: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(set.len(), ids.len(), "a conversation is there twice");
    set
}

#[track_caller]
pub fn has_kind(one: &Value, kind: &str) -> bool {
    shape::list(one, "kinds").iter().any(|found| found == kind)
}

/// One part of a digest, as `request` asks for it.
pub async fn digest(device: &Client, request: Value) -> Value {
    let limit = request["limit"].as_u64().unwrap_or(50);
    let latest_max = request["latest"].as_u64().unwrap_or(1);
    let part = device.patient(DIGEST, request).await;
    shape::text(&part, "cursor");
    shape::flag(&part, "hasMore");
    let found = shape::list(&part, "conversations");
    assert!(found.len() as u64 <= limit, "{} conversations, limit {limit}", found.len());
    for one in found {
        shape::conversation(one);
        let latest = shape::list(one, "latest");
        latest.iter().for_each(shape::message);
        assert!(latest.len() as u64 <= latest_max, "{} messages, {latest_max} at the most", latest.len());
    }
    part
}

/// A user's whole digest, in parts of `limit`.
pub async fn digest_all(device: &Client, limit: usize) -> Vec<Value> {
    let (mut cursor, mut all) = (String::new(), Vec::new());
    for _ in 0..PARTS_MAX {
        let part = digest(device, json!({"cursor": cursor, "limit": limit})).await;
        let found = shape::list(&part, "conversations");
        all.extend(found.iter().cloned());
        if part["hasMore"] == false {
            return all;
        }
        assert!(!found.is_empty(), "hasMore and no conversation: the walk would never end");
        let next = shape::text(&part, "cursor").to_owned();
        assert_ne!(next, cursor, "the cursor moves");
        cursor = next;
    }
    panic!("more than {PARTS_MAX} parts of a digest");
}

/// Reads up to a message, and gives what is read and unread then.
pub async fn read(user: &Client, conversation: &str, msg_id: &Value) -> Value {
    let state = user.patient(READ, json!({"conversationId": conversation, "msgId": msg_id})).await;
    shape::id(&state, "readMsgId");
    shape::int(&state, "unread");
    state
}

/// Conversations with unread messages, and the messages.
pub async fn offline(user: &Client) -> (u64, u64) {
    let totals = user.patient(OFFLINE, json!({})).await;
    (shape::int(&totals, "conversations"), shape::int(&totals, "messages"))
}

/// The ids of the user's devices, the one seen last first; forgets one before.
pub async fn devices(user: &Client, forget: Option<&str>) -> Vec<String> {
    let request = forget.map_or(json!({}), |device| json!({"forget": device}));
    let answer = user.patient(DEVICES, request).await;
    let found = shape::list(&answer, "devices");
    assert!(found.iter().all(|device| shape::int(device, "lastSeen") > 0));
    found.iter().map(|device| shape::text(device, "deviceId").to_owned()).collect()
}

/// Changes settings of a conversation.
pub async fn update(user: &Client, conversation: &str, what: Value) -> Value {
    let mut request = what;
    request["conversationId"] = conversation.into();
    let conversation = user.patient(UPDATE, request).await;
    shape::conversation(&conversation);
    conversation
}
