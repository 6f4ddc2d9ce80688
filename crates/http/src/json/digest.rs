//! A user's conversations with the newest messages of each, in requests and answers.

use super::conversation::{ConversationOut, list_cursor};
use super::message::MessageOut;
use super::page::messages;
use super::scalar::LimitIn;
use super::text::Text;
use crate::problem::Problem;
use im_domain::device::{Digest, Digested};
use im_domain::limits::{
    DIGEST_ITEMS_DEFAULT, DIGEST_LATEST_DEFAULT, DIGEST_LATEST_MAX, LIST_CURSOR_CHARS_MAX,
};
use im_domain::{DeviceId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Part of a user's conversations, newest first, with the newest messages of each.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SyncDigest")]
pub struct DigestIn {
    /// Who asks, where a service syncs for a user.
    pub user_id: Option<Text<UserId>>,
    /// The device, where a service syncs for it. Without one in the body or the token no device has been seen.
    pub device_id: Option<Text<DeviceId>>,
    /// The cursor of the part before; empty or not given: from the newest on. What moves to the top while a list is
    /// walked is not named further down: `sync/global` tells of it.
    #[schemars(length(max = LIST_CURSOR_CHARS_MAX))]
    cursor: Option<String>,
    /// How many conversations at the most.
    #[schemars(extend("default" = DIGEST_ITEMS_DEFAULT))]
    limit: Option<LimitIn>,
    /// How many messages of each at the most.
    #[schemars(extend("default" = DIGEST_LATEST_DEFAULT))]
    latest: Option<LimitIn<DIGEST_LATEST_MAX>>,
}

impl DigestIn {
    /// How many conversations, and how many messages of each.
    pub fn counts(&self) -> (u32, u32) {
        let limit = self.limit.as_ref().map_or(DIGEST_ITEMS_DEFAULT, |limit| limit.0);
        (limit, self.latest.as_ref().map_or(DIGEST_LATEST_DEFAULT, |latest| latest.0))
    }

    /// Where to read on.
    pub fn cursor(self) -> Result<String, Problem> {
        list_cursor(self.cursor)
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Digest")]
pub struct DigestOut<'a> {
    conversations: Vec<DigestedOut<'a>>,
    /// What to pass for the next part.
    cursor: &'a str,
    has_more: bool,
}

impl<'a> From<&'a Digest> for DigestOut<'a> {
    fn from(digest: &'a Digest) -> Self {
        Self {
            conversations: digest.conversations.iter().map(DigestedOut::from).collect(),
            cursor: &digest.cursor,
            has_more: digest.has_more,
        }
    }
}

/// A conversation and the newest that was said in it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DigestedConversation")]
struct DigestedOut<'a> {
    #[serde(flatten)]
    conversation: ConversationOut<'a>,
    /// Newest first.
    latest: Vec<MessageOut<'a>>,
}

impl<'a> From<&'a Digested> for DigestedOut<'a> {
    fn from(digested: &'a Digested) -> Self {
        Self {
            conversation: ConversationOut::from(&digested.conversation),
            latest: messages(&digested.conversation.id, &digested.latest),
        }
    }
}
