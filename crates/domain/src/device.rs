//! A user's devices, and what the user has read.

use crate::conversation::Conversation;
use crate::message::Message;
use crate::msg_id::MsgId;
use crate::name::DeviceId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub id: DeviceId,
    /// When it last synced, in milliseconds since 1970; kept to within
    /// [`crate::limits::DEVICE_SEEN_STEP_MS`].
    pub last_seen_ms: u64,
}

/// How far a user has read in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadState {
    pub read_msg_id: MsgId,
    pub unread: u64,
}

/// What a user has not read, over all conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Conversations with unread messages.
    pub conversations: u64,
    pub messages: u64,
}

/// A conversation and the newest that was said in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digested {
    pub conversation: Conversation,
    /// Newest first.
    pub latest: Vec<Message>,
}

/// Part of a user's conversations, newest first, with the newest messages of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub conversations: Vec<Digested>,
    /// What to pass for the next part.
    pub cursor: String,
    pub has_more: bool,
}
