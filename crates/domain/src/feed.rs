//! The feed of a tenant's changes, from which indexes are built: everything that is kept, and then what comes.

use crate::error::{Error, Result};
use crate::limits::FEED_CURSOR_CHARS_MAX;
use crate::message::{Action, Message, spelled};
use crate::msg_id::MsgId;
use crate::name::ConversationId;
use std::fmt;

spelled!(
    /// What has happened.
    EventKind {
        /// A message was stored.
        Append = 0 "append",
        /// A message was revised, as its control message tells.
        Recall = 1 "recall",
        Edit = 2 "edit",
        Delete = 3 "delete",
        /// Its sender was erased, and with it what it said.
        Erase = 4 "erase",
    }
);

impl From<Action> for EventKind {
    fn from(action: Action) -> Self {
        match action {
            Action::Recall => Self::Recall,
            Action::Edit => Self::Edit,
            Action::Delete => Self::Delete,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The same of an event that is given once more.
    pub id: String,
    pub kind: EventKind,
    pub conversation: ConversationId,
    /// As it is now; a control message, when another was revised.
    pub message: Message,
    /// The message that was revised, as it is now; none when it is not kept.
    pub target: Option<Message>,
}

/// Part of the feed. Each event at least once, those of a conversation in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    pub events: Vec<Event>,
    /// What to pass next time.
    pub cursor: FeedCursor,
    /// Whether there is more now; there may be none on this part.
    pub has_more: bool,
}

/// How far the feed has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedCursor {
    Walk(Walk),
    /// Everything up to here has been read.
    Tail(FeedPlace),
}

/// What was kept when the walk began, conversation by conversation in the order of their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// What was taken in after this stamp; none: everything.
    pub above: MsgId,
    /// Up to where what was kept then goes; what is above comes after the walk.
    pub up_to: MsgId,
    /// The conversation that has been come to; none: the walk begins.
    pub conversation: Option<ConversationId>,
    /// The last message of it that has been read.
    pub after: MsgId,
}

/// A place in the feed, by which events are in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedPlace {
    /// When the store took it in: a number of its own that rises.
    pub stamp: MsgId,
    pub msg_id: MsgId,
}

impl FeedPlace {
    /// After everything that was taken in up to `stamp`.
    pub fn after(stamp: MsgId) -> Self {
        Self { stamp, msg_id: MsgId::MAX }
    }
}

impl FeedCursor {
    /// "": the start.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        let cursor = Some(text).filter(|text| text.len() <= FEED_CURSOR_CHARS_MAX).and_then(Self::read);
        cursor.ok_or_else(Error::unknown_cursor).map(Some)
    }

    fn read(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('.')?;
        let (first, rest) = rest.split_once('.')?;
        let first = number(first)?;
        match kind {
            "t" => Some(Self::Tail(FeedPlace { stamp: first, msg_id: number(rest)? })),
            "w" => {
                let (after, name) = rest.split_once('.')?;
                let conversation = match name {
                    "" => None,
                    name => Some(ConversationId::parse(name).ok()?),
                };
                Some(Self::Walk(Walk {
                    above: MsgId::NONE,
                    up_to: first,
                    conversation,
                    after: number(after)?,
                }))
            }
            "c" => match Self::read(&format!("w.{rest}"))? {
                Self::Walk(walk) if !first.is_none() => Some(Self::Walk(Walk { above: first, ..walk })),
                _ => None,
            },
            _ => None,
        }
    }
}

fn number(text: &str) -> Option<MsgId> {
    text.parse().ok().and_then(MsgId::new)
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tail(place) => write!(f, "t.{}.{}", place.stamp, place.msg_id),
            Self::Walk(walk) => {
                let name = walk.conversation.as_ref().map_or("", ConversationId::as_str);
                match walk.above.is_none() {
                    true => write!(f, "w.")?,
                    false => write!(f, "c.{}.", walk.above)?,
                }
                write!(f, "{}.{}.{name}", walk.up_to, walk.after)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id() -> impl Strategy<Value = MsgId> {
        (0..=MsgId::MAX.number()).prop_map(|number| MsgId::new(number).unwrap())
    }

    fn cursor() -> impl Strategy<Value = FeedCursor> {
        let name = prop::option::of("[a-z.:@-]{1,64}");
        prop_oneof![
            (id(), id()).prop_map(|(stamp, msg_id)| FeedCursor::Tail(FeedPlace { stamp, msg_id })),
            (prop_oneof![Just(MsgId::NONE), id()], id(), id(), name).prop_map(
                |(above, up_to, after, name)| {
                    let conversation = name.map(|name| ConversationId::parse(name).unwrap());
                    FeedCursor::Walk(Walk { above, up_to, conversation, after })
                }
            ),
        ]
    }

    proptest! {
        #[test]
        fn cursors_come_back(cursor in cursor()) {
            prop_assert_eq!(FeedCursor::parse(&cursor.to_string()), Ok(Some(cursor)));
        }

        #[test]
        fn any_other_text_is_refused_and_never_a_crash(text in "[wtc.0-9a-c]{0,30}|.*") {
            if let Ok(Some(cursor)) = FeedCursor::parse(&text) {
                prop_assert_eq!(FeedCursor::parse(&cursor.to_string()), Ok(Some(cursor)));
            }
        }
    }

    #[test]
    fn the_longest_cursor_fits_and_what_is_none_is_refused() {
        let name = "x".repeat(crate::limits::NAME_CHARS_MAX);
        let longest = format!("c.{0}.{0}.{0}.{name}", MsgId::MAX);
        assert!(matches!(FeedCursor::parse(&longest), Ok(Some(FeedCursor::Walk(_)))));
        assert_eq!(FeedCursor::parse(""), Ok(None));
        for text in [
            "t",
            "t.1",
            "t.1.x",
            "t.1.2.3",
            "w.1.2",
            "w.1.x.c",
            "w.1.2.ü",
            "c.0.1.2.",
            "c.1.2.x.",
            "c.1.t.2",
            "x.1.2",
            "t.9223372036854775808.1",
        ] {
            assert!(FeedCursor::parse(text).is_err(), "{text}");
        }
    }
}
