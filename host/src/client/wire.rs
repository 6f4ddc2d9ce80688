//! The API as the client commands speak it. Answers may have more fields than are read here.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::fault::Refusal;

pub const SEND: &str = "/api/msg/send";
pub const PULL: &str = "/api/msg/pull";
pub const SYNC: &str = "/api/msg/sync";
pub const CREATE: &str = "/api/conversation/create";
pub const MEMBERS: &str = "/api/conversation/members";
pub const STATUS: &str = "/api/archive/status";

/// A message to send; the sender is the token's user unless a service names one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_user_id: Option<&'a str>,
    pub client_msg_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_time: Option<u64>,
    pub r#type: &'a str,
    pub content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<&'a str>,
}

/// Several messages, each of them the JSON of a [`Draft`].
#[derive(Serialize)]
pub struct Batch<'a> {
    pub messages: Vec<&'a RawValue>,
}

/// The answer to a [`Batch`], in its order.
#[derive(Deserialize)]
pub struct Results {
    pub results: Vec<Outcome>,
}

/// A receipt or a refusal.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    Receipt { duplicate: bool },
    Refused { error: Refusal },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Create<'a> {
    pub user_id: &'a str,
    pub conversation_id: &'a str,
    pub r#type: &'static str,
    pub members: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AddMembers<'a> {
    pub user_id: &'a str,
    pub conversation_id: &'a str,
    pub add: &'a [String],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    pub member_count: u64,
    pub head_seq: u64,
}

/// What `pull` and `sync` are asked; each has fields that the other has not.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageRequest<'a> {
    pub conversation_id: &'a str,
    pub limit: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_msg_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// As the server wrote them, so that nothing is lost when they are passed on.
    pub messages: Vec<Box<RawValue>>,
    pub has_more: bool,
    pub cursor: String,
    pub epoch: String,
    pub reset: Option<Reset>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reset {
    pub reason: String,
    pub oldest_msg_id: String,
}

/// What a person wants to see of a message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub sender_id: String,
    pub r#type: String,
    pub content: String,
    pub create_time: u64,
    pub status: String,
}

/// What a person wants to see of the store.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub backlog: u64,
    pub oldest_unpersisted_ms: u64,
    pub dead_letters: u64,
    pub partitions: Vec<Partition>,
    pub tiers: Tiers,
    pub epochs: Vec<Epoch>,
    pub last_run: Option<LastRun>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Partition {
    pub partition: u32,
    pub backlog: u64,
    pub oldest_unpersisted_ms: u64,
}

#[derive(Deserialize)]
pub struct Tiers {
    pub hot: u64,
    pub sql: u64,
    pub cold: u64,
}

#[derive(Deserialize)]
pub struct Epoch {
    pub epoch: String,
    pub since: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    pub at: u64,
    pub drained: u64,
    pub tiered: u64,
    pub expired: u64,
    pub dead_lettered: u64,
    pub took_ms: u64,
}
