//! Conversations and their members.

use crate::error::{Error, Result};
use crate::limits::{LIST_CURSOR_CHARS_MAX, MEMBERS_PER_CALL_MAX};
use crate::message::{Kind, Status, spelled};
use crate::msg_id::MsgId;
use crate::name::{ConversationId, UserId};
use crate::retention::KeepFor;

spelled!(ConversationKind { Single = 1 "single", Group = 2 "group", System = 3 "system" });
spelled!(
    /// What somebody who joins later sees of what was said before.
    History { All = 0 "all", FromJoin = 1 "from_join" }
);
spelled!(Role { Owner = 1 "owner", Admin = 2 "admin", Member = 3 "member" });

impl Role {
    /// Whether this role may add and remove members.
    pub fn manages(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }
}

/// A conversation to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewConversation {
    /// Made by the store when absent.
    pub id: Option<ConversationId>,
    pub kind: ConversationKind,
    /// Without the creator, or with: it makes no difference.
    pub members: Vec<UserId>,
    pub history: History,
}

/// A change of a conversation's members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberChange {
    pub add: Vec<UserId>,
    pub remove: Vec<UserId>,
    pub roles: Vec<(UserId, Role)>,
}

impl MemberChange {
    /// Checks what types alone cannot.
    pub fn check(&self) -> Result<()> {
        let count = self.add.len() + self.remove.len() + self.roles.len();
        if count == 0 {
            return Err(Error::invalid("add", "name at least one user in add, remove or roles"));
        }
        if count > MEMBERS_PER_CALL_MAX {
            let reason = format!("one call may name at most {MEMBERS_PER_CALL_MAX} users");
            return Err(Error::too_large("add", reason));
        }
        Ok(())
    }
}

/// A change of a conversation's settings; absent: nothing changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConversationChange {
    /// The user's own setting.
    pub muted: Option<bool>,
    /// Everybody's, for those who join from now on as for those who have joined.
    pub history: Option<History>,
    /// Everybody's: for how long what is said is kept.
    pub keep_for: Option<KeepFor>,
    /// Whether nothing of it expires; for administrators of the product, who keep it to themselves.
    pub legal_hold: Option<bool>,
}

impl ConversationChange {
    /// Checks what types alone cannot.
    pub fn check(&self) -> Result<()> {
        if *self == Self::default() {
            let reason = "name what is to change: muted, history, retentionMs or legalHold";
            return Err(Error::invalid("muted", reason));
        }
        self.keep_for.map_or(Ok(()), KeepFor::check)
    }
}

/// Why settings are not changed, whoever says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsRefusal {
    /// Both users of a single chat see all of it.
    SingleHistory,
    /// The actor does not manage the conversation.
    History,
    /// The actor does not manage the group, or it is none.
    Retention,
    /// The actor is no administrator of the product.
    Hold,
}

impl From<SettingsRefusal> for Error {
    fn from(refusal: SettingsRefusal) -> Self {
        match refusal {
            SettingsRefusal::SingleHistory => {
                Self::invalid("history", "both users of a single chat see all of it")
            }
            SettingsRefusal::History => {
                Self::forbidden_value("history", "only an owner or an administrator changes it")
            }
            SettingsRefusal::Retention => {
                let reason = "only an owner or an administrator of a group changes it";
                Self::forbidden_value("retentionMs", reason)
            }
            SettingsRefusal::Hold => {
                Self::forbidden_value("legalHold", "only an administrator of the product changes it")
            }
        }
    }
}

/// The last message of a conversation, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastMessage {
    pub msg_id: MsgId,
    pub seq: u64,
    pub sender: UserId,
    pub kind: Kind,
    /// At most [`crate::limits::SUMMARY_CHARS_MAX`] characters; empty unless the status is normal.
    pub summary: String,
    pub create_time: u64,
    pub status: Status,
}

/// A conversation as one of its members sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    pub id: ConversationId,
    pub kind: ConversationKind,
    pub member_count: u64,
    /// The newest message, control messages aside, that the user may see, among the newest
    /// [`crate::limits::LAST_LOOK_MAX`] where they are fast to read and as many below.
    pub last: Option<LastMessage>,
    pub head_seq: u64,
    pub unread: u64,
    pub read_msg_id: MsgId,
    pub create_time: u64,
    pub update_time: u64,
    pub epoch: String,
    pub muted: bool,
    /// For how long it keeps its messages, in milliseconds, 0: for ever; absent: as the operator says.
    pub retention_ms: Option<u64>,
    /// Whether it is under legal hold; absent for those who are not privileged.
    pub legal_hold: Option<bool>,
}

/// Part of a user's conversations, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationList {
    pub conversations: Vec<Conversation>,
    /// What to pass for the next part.
    pub cursor: String,
    pub has_more: bool,
}

/// The place in a list after which the next part begins. "": the start.
pub fn list_cursor(cursor: &str) -> Result<MsgId> {
    if cursor.is_empty() {
        return Ok(MsgId::MAX);
    }
    Some(cursor)
        .filter(|cursor| cursor.len() <= LIST_CURSOR_CHARS_MAX)
        .and_then(|cursor| cursor.parse().ok())
        .and_then(MsgId::new)
        .ok_or_else(Error::unknown_cursor)
}
