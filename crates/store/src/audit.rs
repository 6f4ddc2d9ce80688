//! How the audit calls what was done.

use im_domain::{ConversationId, MsgId, UserId};

/// Former versions of a message were read.
pub(crate) const VERSIONS: &str = "versions";

/// What there is of a user was taken out.
const EXPORT: &str = "export";

/// A user was erased.
const ERASE: &str = "erase";

/// A conversation came under legal hold, or does not stand under it any more.
pub(crate) fn legal_hold(held: bool) -> &'static str {
    if held { "legal_hold" } else { "legal_hold_lifted" }
}

/// What was done, and to what.
#[derive(Clone, Copy)]
pub(crate) struct Deed<'a> {
    pub action: &'a str,
    /// "": none alone.
    pub conversation: &'a str,
    /// None: to no message alone.
    pub msg_id: MsgId,
    /// The user whom it was about; "": none.
    pub subject: &'a str,
}

impl<'a> Deed<'a> {
    pub fn to_message(action: &'a str, conversation: &'a ConversationId, msg_id: MsgId) -> Self {
        Self { action, conversation: conversation.as_str(), msg_id, subject: "" }
    }

    pub fn to_conversation(action: &'a str, conversation: &'a ConversationId) -> Self {
        Self::to_message(action, conversation, MsgId::NONE)
    }

    pub fn export_of(user: &'a UserId) -> Self {
        Self::to_user(EXPORT, user)
    }

    pub fn erasure_of(user: &'a UserId) -> Self {
        Self::to_user(ERASE, user)
    }

    fn to_user(action: &'a str, user: &'a UserId) -> Self {
        Self { action, conversation: "", msg_id: MsgId::NONE, subject: user.as_str() }
    }
}
