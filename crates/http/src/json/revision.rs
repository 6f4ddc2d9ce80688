//! What is done to messages after they were sent.

use super::list::List;
use super::scalar::{IdIn, IdOut};
use super::text::{Spelled, Text, one_of};
use crate::problem::Problem;
use im_domain::limits::{CONTENT_BYTES_MAX, DELETE_IDS_MAX, REASON_CHARS_MAX};
use im_domain::revision::{Change, Revised, Revision};
use im_domain::{ConversationId, Error, MsgId, UserId};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

/// A message that is taken back.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Recall")]
pub struct RecallIn {
    /// Who takes it back, where a service does so for a user.
    pub user_id: Option<Text<UserId>>,
    conversation_id: Text<ConversationId>,
    msg_id: IdIn,
    /// For who reads the trace; shown to nobody else.
    #[schemars(length(max = REASON_CHARS_MAX))]
    reason: Option<String>,
}

impl RecallIn {
    pub fn revision(self) -> Result<Revision, Problem> {
        revision(self.conversation_id.0, self.msg_id.0, Change::Recall, self.reason)
    }
}

/// A message that gets another content.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Edit")]
pub struct EditIn {
    /// The sender, where a service edits for a user.
    pub user_id: Option<Text<UserId>>,
    conversation_id: Text<ConversationId>,
    msg_id: IdIn,
    /// At most 65,536 bytes of UTF-8; kept byte for byte.
    #[schemars(length(max = CONTENT_BYTES_MAX))]
    content: String,
}

impl EditIn {
    pub fn revision(self) -> Result<Revision, Problem> {
        let change = Change::Edit { content: self.content };
        revision(self.conversation_id.0, self.msg_id.0, change, None)
    }
}

/// Messages that are deleted, each on its own: for all, or hidden from the user alone. Devices of a user learn of
/// what was hidden from `sync/global`, which names the conversation with the kind `revisions`: they read anew what
/// they keep of it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Delete")]
pub struct DeleteIn {
    /// Who deletes them, where a service does so for a user.
    pub user_id: Option<Text<UserId>>,
    conversation_id: Text<ConversationId>,
    msg_ids: List<IdIn, 1, DELETE_IDS_MAX>,
    /// For whom.
    scope: Text<Whose>,
    /// Of what is deleted for all, for who reads the trace; shown to nobody else.
    #[schemars(length(max = REASON_CHARS_MAX))]
    reason: Option<String>,
}

/// What a deletion comes to.
pub enum Deletion {
    /// One for each message, in order.
    ForAll(Vec<Revision>),
    ForMe {
        conversation: ConversationId,
        ids: Vec<MsgId>,
    },
}

impl DeleteIn {
    pub fn deletion(self) -> Result<Deletion, Problem> {
        let conversation = self.conversation_id.0;
        let ids = self.msg_ids.0.into_iter().map(|IdIn(msg_id)| msg_id);
        match self.scope.0 {
            Whose::Mine if self.reason.is_some() => {
                Err(Error::invalid("reason", "what is deleted for oneself alone leaves no trace").into())
            }
            Whose::Mine => Ok(Deletion::ForMe { conversation, ids: ids.collect() }),
            Whose::All => {
                let one = |id| revision(conversation.clone(), id, Change::Delete, self.reason.clone());
                Ok(Deletion::ForAll(ids.map(one).collect::<Result<_, _>>()?))
            }
        }
    }
}

/// For whom messages are deleted.
pub enum Whose {
    Mine,
    All,
}

impl Spelled for Whose {
    const NAME: &'static str = "DeleteScope";

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "me" => Ok(Self::Mine),
            "all" => Ok(Self::All),
            _ => Err(one_of(["me", "all"].into_iter())),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "enum": ["me", "all"] })
    }
}

fn revision(
    conversation: ConversationId,
    msg_id: MsgId,
    change: Change,
    reason: Option<String>,
) -> Result<Revision, Problem> {
    let revision = Revision { conversation, msg_id, change, reason };
    revision.check()?;
    Ok(revision)
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Revised")]
pub struct RevisedOut {
    msg_id: IdOut,
    /// The control message that tells devices of it, and its place in the conversation; absent: an edit that
    /// changes nothing of a message that was never edited, and what was deleted for oneself.
    #[serde(skip_serializing_if = "Option::is_none")]
    control_msg_id: Option<IdOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
}

impl From<Revised> for RevisedOut {
    fn from(revised: Revised) -> Self {
        Self {
            msg_id: IdOut(revised.msg_id),
            control_msg_id: revised.told.map(|told| IdOut(told.msg_id)),
            seq: revised.told.map(|told| told.seq),
        }
    }
}
