//! What is done to a message after it was sent.

use crate::error::{Error, Result};
use crate::limits::{EDIT_MS_DEFAULT, EDITS_MAX, REASON_CHARS_MAX, RECALL_MS_DEFAULT};
use crate::message::{Action, ControlRef, check_content, spelled};
use crate::msg_id::MsgId;
use crate::name::{ConversationId, Tenant, UserId};
use crate::per_tenant::PerTenant;

/// What becomes of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is taken back.
    Recall,
    /// It has another content from now on, within the same limits.
    Edit { content: String },
    /// It is deleted for everybody.
    Delete,
}

impl Change {
    pub fn action(&self) -> Action {
        match self {
            Self::Recall => Action::Recall,
            Self::Edit { .. } => Action::Edit,
            Self::Delete => Action::Delete,
        }
    }

    /// The content that the message has from now on.
    pub fn content(&self) -> &str {
        match self {
            Self::Edit { content } => content,
            Self::Recall | Self::Delete => "",
        }
    }
}

/// A message is revised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    pub conversation: ConversationId,
    pub msg_id: MsgId,
    pub change: Change,
    /// Kept for audit, shown to nobody else.
    pub reason: Option<String>,
}

impl Revision {
    /// Checks what types alone cannot.
    pub fn check(&self) -> Result<()> {
        let length = self.reason.as_ref().map_or(0, |reason| reason.chars().count());
        if length > REASON_CHARS_MAX {
            let reason = format!("must have at most {REASON_CHARS_MAX} characters");
            return Err(Error::too_large("reason", reason));
        }
        check_content(self.change.content())
    }

    /// What the control message is about.
    pub fn control(&self) -> ControlRef {
        ControlRef { msg_id: self.msg_id, action: self.change.action() }
    }
}

/// How long senders can revise what they said; a tenant can have rules of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionRules {
    recall_ms: PerTenant,
    edit_ms: PerTenant,
}

impl RevisionRules {
    /// Reads the variables `recall_ms`, from 1 on, and `edit_ms`, from 0 on: never. See [`PerTenant::parse`].
    pub fn parse(recall_ms: &str, edit_ms: &str) -> Result<Self> {
        Ok(Self {
            recall_ms: PerTenant::parse("recall_ms", recall_ms)?,
            edit_ms: PerTenant::parse_from("edit_ms", 0, edit_ms)?,
        })
    }

    /// The id from which on senders can do so with their messages. `now_ms`: milliseconds since 1970.
    pub fn from(&self, tenant: &Tenant, action: Action, now_ms: u64) -> MsgId {
        let window_ms = match action {
            Action::Edit => self.edit_ms.of(tenant),
            Action::Recall | Action::Delete => self.recall_ms.of(tenant),
        };
        match window_ms {
            0 => MsgId::MAX,
            _ => MsgId::floor_of(now_ms.saturating_sub(window_ms)),
        }
    }
}

impl Default for RevisionRules {
    fn default() -> Self {
        Self { recall_ms: PerTenant::all(RECALL_MS_DEFAULT), edit_ms: PerTenant::all(EDIT_MS_DEFAULT) }
    }
}

/// How the store names the control message of a revision in the place of a `clientMsgId`. Of edits a message
/// can have several: `mark` (at most 32 characters) tells one from another.
pub fn control_name(control: ControlRef, mark: &str) -> String {
    let ControlRef { msg_id, action } = control;
    match action {
        Action::Edit => format!("{}:{msg_id}:{mark}", action.as_str()),
        Action::Recall | Action::Delete => format!("{}:{msg_id}", action.as_str()),
    }
}

/// A message was revised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revised {
    pub msg_id: MsgId,
    /// Absent: an edit that changes nothing of a message that was never edited.
    pub told: Option<Told>,
}

/// The control message from which devices that have the message learn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub msg_id: MsgId,
    pub seq: u64,
}

/// Why a message cannot be revised, whoever says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is a control message.
    Control,
    /// Somebody else said it.
    Others(Action),
    /// The time in which its sender may do so has passed.
    Late(Action),
    /// It was recalled or deleted.
    Final,
    /// It was edited [`EDITS_MAX`] times.
    Edits,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Control => Self::invalid("msgId", "a control message stays as it is"),
            Refusal::Others(Action::Edit) => Self::forbidden("nobody but its sender edits a message"),
            Refusal::Others(Action::Recall | Action::Delete) => {
                Self::forbidden("only an owner or an administrator takes back what others said")
            }
            Refusal::Late(Action::Edit) => Self::forbidden("the time in which it could be edited has passed"),
            Refusal::Late(Action::Recall | Action::Delete) => {
                Self::forbidden("the time in which it could be taken back has passed")
            }
            Refusal::Final => Self::conflict("msgId", "the message was recalled or deleted"),
            Refusal::Edits => Self::conflict(
                "msgId",
                format!("the message was edited {EDITS_MAX} times, and no more it can be"),
            ),
        }
    }
}

spelled!(
    /// As whom somebody revised a message.
    Capacity {
        /// A service or an administrator of the product.
        Operator = 0 "operator",
        Owner = 1 "owner",
        Admin = 2 "admin",
        Sender = 3 "sender",
    }
);

spelled!(
    /// How a version of a message came about.
    Origin { Send = 0 "send", Recall = 1 "recall", Edit = 2 "edit", Delete = 3 "delete" }
);

/// A message as it was from some time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Empty once it was recalled or deleted.
    pub content: String,
    /// Since when, in milliseconds since 1970.
    pub edit_time: u64,
    pub by: UserId,
    pub origin: Origin,
    /// Absent of the first version.
    pub capacity: Option<Capacity>,
    pub reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{CLIENT_MSG_ID_CHARS_MAX, CONTENT_BYTES_MAX};

    fn edit(content: String) -> Revision {
        let conversation = ConversationId::parse("c").unwrap();
        Revision { conversation, msg_id: MsgId::MAX, change: Change::Edit { content }, reason: None }
    }

    #[test]
    fn an_edit_has_the_limit_of_what_is_sent() {
        assert_eq!(edit("x".repeat(CONTENT_BYTES_MAX)).check(), Ok(()));
        let refused = edit("x".repeat(CONTENT_BYTES_MAX + 1)).check();
        assert!(matches!(refused, Err(Error::TooLarge { field, .. }) if field == "content"));
    }

    #[test]
    fn control_messages_have_names_of_their_own_and_short_enough_ones() {
        let mark = "f".repeat(32);
        let name = control_name(edit(String::new()).control(), &mark);
        assert!(name.len() <= CLIENT_MSG_ID_CHARS_MAX, "{name}");
        assert_ne!(name, control_name(edit(String::new()).control(), "another"));
    }

    #[test]
    fn each_tenant_has_its_window_and_none_at_all_is_one() {
        let rules = RevisionRules::parse("60000,acme=5", "0,acme=7").unwrap();
        let [acme, other] = ["acme", "other"].map(|name| Tenant::parse(name).unwrap());
        let now_ms = crate::msg_id::ID_EPOCH_MS + 100_000;
        let first = |tenant, action| rules.from(tenant, action, now_ms);
        assert_eq!(first(&acme, Action::Delete), MsgId::floor_of(now_ms - 5));
        assert_eq!(first(&acme, Action::Edit), MsgId::floor_of(now_ms - 7));
        assert_eq!(first(&other, Action::Recall), MsgId::floor_of(now_ms - 60_000));
        assert_eq!(first(&other, Action::Edit), MsgId::MAX);
        for (recall_ms, edit_ms) in [("0", "1"), ("1", "-1"), ("1", "1,acme=x"), ("", "1")] {
            assert!(RevisionRules::parse(recall_ms, edit_ms).is_err(), "{recall_ms} {edit_ms}");
        }
    }

    #[test]
    fn every_action_is_the_origin_of_a_version() {
        for action in Action::ALL {
            let origin = Origin::from_number(action.number()).unwrap();
            assert_eq!(origin.as_str(), action.as_str());
        }
    }
}
