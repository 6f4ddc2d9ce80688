//! What tests do most: make a conversation, say something, see what is there.

use crate::client::Client;
use crate::routes::{CONVERSATION, CREATE, PULL, SEND};
use crate::shape;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Makes the group `id`; the caller is its owner.
pub async fn group(owner: &Client, id: &str, members: &[&str]) -> Value {
    let body = json!({"conversationId": id, "type": "group", "members": members});
    let conversation = owner.ok(CREATE, body).await;
    shape::conversation(&conversation);
    conversation
}

/// A text message as one sends it; its `clientMsgId` is `client_msg_id`.
pub fn text(conversation: &str, client_msg_id: &str, content: &str) -> Value {
    json!({
        "conversationId": conversation, "clientMsgId": client_msg_id, "type": "text",
        "content": content,
    })
}

/// Sends one message and gives the receipt.
pub async fn send(sender: &Client, message: Value) -> Value {
    let receipt = sender.patient(SEND, message).await;
    shape::receipt(&receipt);
    receipt
}

/// Sends a text that is its own `clientMsgId`.
pub async fn say(sender: &Client, conversation: &str, content: &str) -> Value {
    send(sender, text(conversation, content, content)).await
}

/// Sends the texts `1` to `count`, in batches.
pub async fn say_many(sender: &Client, conversation: &str, count: usize) -> Vec<Value> {
    let all: Vec<Value> = (1..=count).map(|n| text(conversation, &n.to_string(), &n.to_string())).collect();
    let mut receipts = Vec::with_capacity(count);
    for batch in all.chunks(100) {
        receipts.extend(send_batch(sender, batch).await);
    }
    receipts
}

/// Sends 1 to 100 messages in one call; each must be taken.
pub async fn send_batch(sender: &Client, messages: &[Value]) -> Vec<Value> {
    let answer = sender.patient(SEND, json!({"messages": messages})).await;
    let receipts = shape::list(&answer, "results").to_vec();
    assert_eq!(receipts.len(), messages.len());
    receipts.iter().for_each(shape::receipt);
    receipts
}

/// One page as `request` asks for it.
pub async fn pull(reader: &Client, request: Value) -> Value {
    let page = reader.ok(PULL, request).await;
    shape::page(&page);
    page
}

pub async fn conversation(reader: &Client, id: &str) -> Value {
    let conversation = reader.ok(CONVERSATION, json!({"conversationId": id})).await;
    shape::conversation(&conversation);
    conversation
}

/// The newest messages' contents, newest first (at most 100).
pub async fn contents(reader: &Client, conversation: &str) -> Vec<String> {
    let page = pull(reader, json!({"conversationId": conversation, "limit": 100})).await;
    texts(shape::list(&page, "messages"))
}

/// The contents of `messages`.
pub fn texts(messages: &[Value]) -> Vec<String> {
    messages.iter().map(|message| shape::text(message, "content").to_owned()).collect()
}

/// The ids of `messages` or receipts, in order.
pub fn ids(messages: &[Value]) -> Vec<u64> {
    messages.iter().map(|message| shape::id(message, "msgId")).collect()
}

/// Expects each to be there once.
#[track_caller]
pub fn all_different(ids: &[u64]) {
    let set: BTreeSet<u64> = ids.iter().copied().collect();
    assert_eq!(set.len(), ids.len(), "an id is there twice");
}
