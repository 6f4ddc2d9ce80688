//! The hand-off to a push service, in requests and answers.

use super::list::List;
use super::message::MessageOut;
use super::scalar::LimitIn;
use super::text::{Spelled, Text};
use im_domain::limits::{
    LEASE_ID_CHARS_MAX, MUTED_MAX, PUSH_CONFIRM_MAX, PUSH_DUE_DEFAULT, PUSH_PREVIEW_MAX,
};
use im_domain::message::Message;
use im_domain::push::{Due, PushSettings, PushSettingsChange};
use im_domain::{ConversationId, UserId};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

/// What is to change; nothing: the answer says how things stand.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ChangePushSettings")]
pub struct SettingsIn {
    /// Whose settings, where a service acts for a user.
    pub user_id: Option<Text<UserId>>,
    /// Whether a push may show what was said.
    show_content: Option<bool>,
    /// All conversations that wake nobody from now on; others do.
    muted: Option<List<Text<ConversationId>, 0, MUTED_MAX>>,
}

impl SettingsIn {
    pub fn change(self) -> PushSettingsChange {
        let ids =
            |list: List<Text<ConversationId>, 0, MUTED_MAX>| list.0.into_iter().map(|id| id.0).collect();
        PushSettingsChange { show_content: self.show_content, muted: self.muted.map(ids) }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PushSettings")]
pub struct SettingsOut<'a> {
    /// True at first.
    show_content: bool,
    #[schemars(with = "Vec<Text<ConversationId>>")]
    muted: Vec<&'a str>,
}

impl<'a> From<&'a PushSettings> for SettingsOut<'a> {
    fn from(settings: &'a PushSettings) -> Self {
        Self {
            show_content: settings.show_content,
            muted: settings.muted.iter().map(ConversationId::as_str).collect(),
        }
    }
}

/// Asks for users to wake, and says which of those that were given have been woken.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "TakePushDue")]
pub struct DueIn {
    /// How many users at the most.
    #[schemars(extend("default" = PUSH_DUE_DEFAULT))]
    limit: Option<LimitIn>,
    /// Leases that are done; one that has run out or is unknown changes nothing.
    confirm: Option<List<Text<LeaseId>, 0, PUSH_CONFIRM_MAX>>,
}

impl DueIn {
    /// How many users, and the leases that are done.
    pub fn parts(self) -> (u32, Vec<String>) {
        let confirm = self.confirm.unwrap_or_default().0.into_iter();
        let limit = self.limit.map_or(PUSH_DUE_DEFAULT, |limit| limit.0);
        (limit, confirm.map(|lease| lease.0.0).collect())
    }
}

/// A name the store has given to a lease.
pub struct LeaseId(String);

impl Spelled for LeaseId {
    const NAME: &'static str = "LeaseId";

    fn read(text: &str) -> Result<Self, String> {
        if (1..=LEASE_ID_CHARS_MAX).contains(&text.chars().count()) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("must have 1 to {LEASE_ID_CHARS_MAX} characters"))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": LEASE_ID_CHARS_MAX })
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PushDue")]
pub struct DueOut<'a> {
    due: Vec<DueUserOut<'a>>,
}

impl<'a> From<&'a [Due]> for DueOut<'a> {
    fn from(due: &'a [Due]) -> Self {
        Self { due: due.iter().map(DueUserOut::from).collect() }
    }
}

/// A user to wake; nobody else is given the same one until the lease is confirmed or has run out.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DueUser")]
struct DueUserOut<'a> {
    #[schemars(with = "Text<LeaseId>")]
    lease_id: &'a str,
    #[schemars(with = "Text<UserId>")]
    user_id: &'a str,
    /// Unread messages since the last push, and the conversations they are in.
    messages: u64,
    conversations: u64,
    /// When the oldest of them was sent.
    oldest_time: u64,
    /// The newest of them, newest first; absent unless the user allows to show them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = PUSH_PREVIEW_MAX))]
    preview: Option<Vec<MessageOut<'a>>>,
}

impl<'a> From<&'a Due> for DueUserOut<'a> {
    fn from(due: &'a Due) -> Self {
        let shown = |preview: &'a Vec<(ConversationId, Message)>| {
            preview.iter().map(|(conversation, message)| MessageOut::new(conversation, message)).collect()
        };
        Self {
            lease_id: &due.lease_id,
            user_id: due.user.as_str(),
            messages: due.messages,
            conversations: due.conversations,
            oldest_time: due.oldest_time_ms,
            preview: due.preview.as_ref().map(shown),
        }
    }
}
