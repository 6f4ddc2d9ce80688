//! Everything the store has of one user, taken out in parts.

use crate::conversation::Role;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::limits::EXPORT_CURSOR_CHARS_MAX;
use crate::message::Message;
use crate::msg_id::MsgId;
use crate::name::{ConversationId, DeviceId};
use crate::push::PushSettings;
use std::fmt;

/// Part of what there is of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// On the first part.
    pub profile: Option<Profile>,
    pub memberships: Vec<Membership>,
    /// What the user has sent, as it is now, in the order of conversations; not control messages.
    pub messages: Vec<(ConversationId, Message)>,
    /// What to pass next time.
    pub cursor: ExportCursor,
    /// Whether there is more; there may be nothing on this part.
    pub has_more: bool,
}

/// What is kept of a user alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub devices: Vec<Device>,
    pub push: PushSettings,
}

/// What is kept of a user in a conversation. Devices keep their positions when the user leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    pub conversation: ConversationId,
    /// None: the user is no member any more.
    pub member: Option<Member>,
    /// Up to where each device has synced, in the order of their ids.
    pub positions: Vec<(DeviceId, MsgId)>,
    /// Messages that the user has hidden, in their order.
    pub hidden: Vec<MsgId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub role: Role,
    /// The newest message when the user joined.
    pub joined_after: MsgId,
    pub read_msg_id: MsgId,
    pub muted: bool,
}

/// How far an export has come: conversations in the order of their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportCursor {
    /// The conversation that has been come to; none: it begins.
    pub conversation: Option<ConversationId>,
    /// How far it has been looked through; none: it is done.
    pub after: Option<Reached>,
}

/// How far a conversation has been looked through for what a user has sent: first in the order of [`Sent`], and then the
/// cold part in the order of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// This was the last message that was given.
    Sent(Sent),
    /// The cold part up to this message. `has_own`: something of the user was in the conversation.
    Cold { up_to: MsgId, has_own: bool },
}

/// A message by the order in which a user's own are read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    pub client_msg_id: String,
    pub msg_id: MsgId,
}

impl ExportCursor {
    pub const START: Self = Self { conversation: None, after: None };

    /// "": the start.
    pub fn parse(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::START);
        }
        let is_short = text.chars().count() <= EXPORT_CURSOR_CHARS_MAX;
        Some(text).filter(|_| is_short).and_then(Self::read).ok_or_else(Error::unknown_cursor)
    }

    /// No name holds a slash.
    fn read(text: &str) -> Option<Self> {
        let (name, after) = text.split_once('/')?;
        let after = match after {
            "" => None,
            after => {
                let (msg_id, rest) = after.split_once('/')?;
                Some(if msg_id.is_empty() { Reached::cold(rest)? } else { Reached::sent(msg_id, rest)? })
            }
        };
        Some(Self { conversation: Some(ConversationId::parse(name).ok()?), after })
    }
}

impl Reached {
    fn sent(msg_id: &str, client_msg_id: &str) -> Option<Self> {
        let msg_id = msg_id.parse().ok().and_then(MsgId::new)?;
        Some(Self::Sent(Sent { client_msg_id: client_msg_id.to_owned(), msg_id }))
    }

    fn cold(text: &str) -> Option<Self> {
        let (up_to, has_own) = text.split_once('/')?;
        let has_own = match has_own {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        Some(Self::Cold { up_to: up_to.parse().ok().and_then(MsgId::new)?, has_own })
    }
}

impl fmt::Display for ExportCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(conversation) = &self.conversation else { return Ok(()) };
        write!(f, "{conversation}/")?;
        match &self.after {
            Some(Reached::Sent(sent)) => write!(f, "{}/{}", sent.msg_id, sent.client_msg_id),
            Some(Reached::Cold { up_to, has_own }) => write!(f, "/{up_to}/{}", u8::from(*has_own)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cursors_come_back(
            name in prop::option::of("[a-z.:@-]{1,64}"),
            reached in prop::option::of(("\\PC{1,64}", 0..=MsgId::MAX.number(), 0..3)),
        ) {
            let reached = reached.map(|(client_msg_id, number, kind)| {
                let msg_id = MsgId::new(number).unwrap();
                match kind {
                    0 => Reached::Sent(Sent { client_msg_id, msg_id }),
                    kind => Reached::Cold { up_to: msg_id, has_own: kind == 1 },
                }
            });
            let conversation = name.map(|name| ConversationId::parse(name).unwrap());
            let after = reached.filter(|_| conversation.is_some());
            let cursor = ExportCursor { conversation, after };
            prop_assert_eq!(ExportCursor::parse(&cursor.to_string()), Ok(cursor));
        }

        #[test]
        fn any_other_text_is_refused_and_never_a_crash(text in "[a-c/0-9]{0,12}|.*") {
            if let Ok(cursor) = ExportCursor::parse(&text) {
                prop_assert_eq!(ExportCursor::parse(&cursor.to_string()), Ok(cursor));
            }
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "c",
            "/",
            "/1/x",
            "c/x",
            "c/x/1",
            "c/1",
            "ü/",
            "c/9223372036854775808/x",
            "c//1",
            "c//1/2",
            "c///1",
        ] {
            assert!(ExportCursor::parse(text).is_err(), "{text}");
        }
    }
}
