//! What has changed for a user since a device last asked, over all conversations.

use crate::error::{Error, Result};
use crate::limits::GLOBAL_CURSOR_CHARS_MAX;
use crate::message::spelled;
use crate::msg_id::MsgId;
use crate::name::ConversationId;
use crate::page::Reset;
use std::fmt;

spelled!(
    /// What about a conversation has changed.
    ChangeKind {
        /// Something was said.
        Messages = 1 "messages",
        /// Something that was said before was recalled, edited or deleted.
        Revisions = 2 "revisions",
        /// Its members, their roles, its settings, or the user's own.
        Membership = 3 "membership",
        /// The user's read position.
        Read = 4 "read",
    }
);

/// A conversation in which something has changed, as it stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub conversation: ConversationId,
    /// The newest message; none when there is none, and when the user is no member any more.
    pub head_msg_id: MsgId,
    pub head_seq: u64,
    pub unread: u64,
    pub read_msg_id: MsgId,
    /// In the order of [`ChangeKind`], each once, at least one. A hint: what stands here may be more than
    /// what has changed, and is never less.
    pub kinds: Vec<ChangeKind>,
    /// The user is no member any more; the other fields then say nothing.
    pub left: bool,
}

/// Part of what has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// What to pass next time.
    pub cursor: String,
    pub changed: Vec<Changed>,
    pub has_more: bool,
    /// The cursor that was given cannot be gone on from. The answer begins from the start: what is
    /// not named until `has_more` is false is no conversation of the user any more.
    pub reset: Option<Reset>,
}

/// How far a device has asked. What it counts is the store's business; it rises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalCursor {
    /// Under which it is good.
    pub epoch: String,
    /// Changes up to this one, of those that are noted for each user.
    pub noted: u64,
    /// The same for each server's large groups, which are looked up.
    pub looked_up: Vec<u64>,
}

impl GlobalCursor {
    /// "": the start.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        let cursor = Some(text).filter(|text| text.len() <= GLOBAL_CURSOR_CHARS_MAX).and_then(Self::read);
        cursor.ok_or_else(Error::unknown_cursor).map(Some)
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let epoch = parts.next().filter(|epoch| epoch.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
        let noted = parts.next()?.parse().ok()?;
        let looked_up = parts.map(|part| part.parse().ok()).collect::<Option<_>>()?;
        Some(Self { epoch: epoch.to_owned(), noted, looked_up })
    }
}

impl fmt::Display for GlobalCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.noted)?;
        self.looked_up.iter().try_for_each(|number| write!(f, ".{number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cursors_come_back(epoch in "[0-9a-f]{32}", noted: u64, looked_up: Vec<u64>) {
            let cursor = GlobalCursor { epoch, noted, looked_up: looked_up.into_iter().take(40).collect() };
            prop_assert_eq!(GlobalCursor::parse(&cursor.to_string()), Ok(Some(cursor)));
        }

        #[test]
        fn any_other_text_is_refused_and_never_a_crash(text: String) {
            if let Ok(Some(cursor)) = GlobalCursor::parse(&text) {
                // Leading zeros and signs are all that may differ.
                prop_assert_eq!(GlobalCursor::parse(&cursor.to_string()), Ok(Some(cursor)));
            }
        }
    }

    #[test]
    fn the_start_is_empty() {
        assert_eq!(GlobalCursor::parse(""), Ok(None));
        for text in ["x", "e.", "e.1.", "e.1.x", "é.1", ".1.-2"] {
            assert!(GlobalCursor::parse(text).is_err(), "{text}");
        }
    }
}
