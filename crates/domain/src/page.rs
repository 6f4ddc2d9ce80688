//! Pages of a conversation's history.

use crate::error::{Error, Result};
use crate::limits::PAGE_ITEMS_MAX;
use crate::message::{Kind, Message, spelled};
use crate::msg_id::MsgId;
use crate::name::ConversationId;

spelled!(Direction {
    /// Older than the cursor, newest first.
    Up = 0 "up",
    /// Newer than the cursor, oldest first.
    Down = 1 "down",
});

/// Checks a page's number of items.
pub fn check_limit(limit: u32) -> Result<u32> {
    if (1..=PAGE_ITEMS_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::invalid("limit", format!("must be 1 to {PAGE_ITEMS_MAX}")))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    pub conversation: ConversationId,
    /// [`MsgId::NONE`]: from the newest (`up`) or the oldest (`down`) message on.
    pub cursor: MsgId,
    /// 1 to [`PAGE_ITEMS_MAX`].
    pub limit: u32,
    pub direction: Direction,
    /// Only messages with `from_ms <= createTime < to_ms`.
    pub from_ms: Option<u64>,
    pub to_ms: Option<u64>,
    /// Only these types; empty: all.
    pub kinds: Vec<Kind>,
}

spelled!(ResetReason {
    EpochChanged = 1 "epoch_changed",
    PositionAhead = 2 "position_ahead",
    Expired = 3 "expired",
});

/// The caller's place in the conversation is not good any more; it has to start again from
/// `oldest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    pub reason: ResetReason,
    /// Oldest message that is still served, or none.
    pub oldest: MsgId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub conversation: ConversationId,
    pub messages: Vec<Message>,
    pub has_more: bool,
    /// The last message's id; with no message the cursor that was given.
    pub cursor: MsgId,
    pub epoch: String,
    pub head_seq: u64,
    pub reset: Option<Reset>,
}

/// Messages by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub messages: Vec<Message>,
    pub missing: Vec<MsgId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncQuery {
    pub conversation: ConversationId,
    /// Where to read on, and what the device has stored; absent: the device's position.
    pub last_msg_id: Option<MsgId>,
    /// 1 to [`PAGE_ITEMS_MAX`].
    pub limit: u32,
    /// The epoch the device last saw.
    pub epoch: Option<String>,
    /// Moves the position as the page is served, without waiting for a confirmation.
    pub auto_advance: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncPage {
    pub page: Page,
    /// The device's position after this call.
    pub position: MsgId,
}
