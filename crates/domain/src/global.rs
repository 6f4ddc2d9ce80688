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
        /// Something that was said before was recalled, edited or deleted, or the user has hidden something.
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
    pub known: Known,
    /// Where the walk began of which the device has had a part; none: it has had all.
    pub walk: Option<WalkStart>,
}

/// Numbers of the last changes of which a device knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Of those that are noted for each user.
    pub noted: u64,
    /// The same for each server's large groups, which are looked up.
    pub looked_up: Vec<LookedUp>,
}

/// Number of the last change of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookedUp {
    pub number: u64,
    /// What the server calls the life in which it gave the number: after a loss numbers may come again. 0: it has
    /// no name.
    pub life: u32,
}

/// A walk over what has changed, in several parts, as it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkStart {
    /// The last change there was, where the device knew nothing; else 0.
    pub last: u64,
    pub known: Known,
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
        let (text, walk) = match text.split_once('~') {
            Some((text, walk)) => (text, Some(WalkStart::read(walk)?)),
            None => (text, None),
        };
        let (epoch, known) = text.split_once('.')?;
        let is_epoch = epoch.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_epoch.then_some(Self { epoch: epoch.to_owned(), known: Known::read(known)?, walk })
    }
}

impl Known {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let noted = parts.next()?.parse().ok()?;
        Some(Self { noted, looked_up: parts.map(LookedUp::read).collect::<Option<_>>()? })
    }
}

impl LookedUp {
    /// Up to which number of a server's present life a device knows all; 0: of none.
    pub fn number_in(self, life: u32) -> u64 {
        if self.life == life { self.number } else { 0 }
    }

    fn read(text: &str) -> Option<Self> {
        let (number, life) = text.split_once('-').unwrap_or((text, "0"));
        Some(Self { number: number.parse().ok()?, life: life.parse().ok()? })
    }
}

impl WalkStart {
    fn read(text: &str) -> Option<Self> {
        let (last, known) = text.split_once('.')?;
        Some(Self { last: last.parse().ok()?, known: Known::read(known)? })
    }
}

impl fmt::Display for GlobalCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.known)?;
        match &self.walk {
            Some(walk) => write!(f, "~{}.{}", walk.last, walk.known),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.noted)?;
        self.looked_up.iter().try_for_each(|looked_up| write!(f, ".{looked_up}"))
    }
}

impl fmt::Display for LookedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.life {
            0 => write!(f, "{}", self.number),
            life => write!(f, "{}-{life}", self.number),
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
            epoch in "[0-9a-f]{32}",
            numbers: [u64; 3],
            looked_up in prop::collection::vec(any::<(u64, u32)>(), 0..=64),
            is_part: bool,
        ) {
            let [noted, last, before] = numbers;
            let looked_up: Vec<_> =
                looked_up.into_iter().map(|(number, life)| LookedUp { number, life }).collect();
            let walk = WalkStart { last, known: Known { noted: before, looked_up: looked_up.clone() } };
            let known = Known { noted, looked_up };
            let cursor = GlobalCursor { epoch, known, walk: is_part.then_some(walk) };
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
        for text in [
            "x",
            "e.",
            "e.1.",
            "e.1.x",
            "é.1",
            ".1.-2",
            "e.1~",
            "e.1~2",
            "e.1~2.3~4.5",
            "~1.2",
            "e.1.2-",
            "e.1.2-3-4",
            "e.1-2",
        ] {
            assert!(GlobalCursor::parse(text).is_err(), "{text}");
        }
    }
}
