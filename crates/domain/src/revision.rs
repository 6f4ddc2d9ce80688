//! What is done to a message after it was sent.

use crate::error::{Error, Result};
use crate::limits::REASON_CHARS_MAX;
use crate::msg_id::MsgId;
use crate::name::ConversationId;

/// A message is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recall {
    pub conversation: ConversationId,
    pub msg_id: MsgId,
    /// Kept for audit, shown to nobody else.
    pub reason: Option<String>,
}

impl Recall {
    /// Checks what types alone cannot.
    pub fn check(&self) -> Result<()> {
        let length = self.reason.as_ref().map_or(0, |reason| reason.chars().count());
        if length > REASON_CHARS_MAX {
            let reason = format!("must have at most {REASON_CHARS_MAX} characters");
            return Err(Error::too_large("reason", reason));
        }
        Ok(())
    }
}

/// A message was revised; devices that have it learn of it from a control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revised {
    pub msg_id: MsgId,
    /// The control message, and its `seq`.
    pub control_msg_id: MsgId,
    pub seq: u64,
}
