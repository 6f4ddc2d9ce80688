//! What is done to messages after they were sent.

use super::scalar::{IdIn, IdOut};
use super::text::Text;
use crate::problem::Problem;
use im_domain::limits::REASON_CHARS_MAX;
use im_domain::revision::{Recall, Revised};
use im_domain::{ConversationId, UserId};
use schemars::JsonSchema;
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
    pub fn recall(self) -> Result<Recall, Problem> {
        let recall =
            Recall { conversation: self.conversation_id.0, msg_id: self.msg_id.0, reason: self.reason };
        recall.check()?;
        Ok(recall)
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Revised")]
pub struct RevisedOut {
    msg_id: IdOut,
    /// The control message that tells devices of it, and its place in the conversation.
    control_msg_id: IdOut,
    seq: u64,
}

impl From<Revised> for RevisedOut {
    fn from(revised: Revised) -> Self {
        Self {
            msg_id: IdOut(revised.msg_id),
            control_msg_id: IdOut(revised.control_msg_id),
            seq: revised.seq,
        }
    }
}
