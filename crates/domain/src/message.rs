//! Messages: what a client drafts, what the store keeps, what a reader sees.

use crate::error::{Error, Result};
use crate::ext::Ext;
use crate::limits::{CONTENT_BYTES_MAX, SUMMARY_CHARS_MAX};
use crate::msg_id::MsgId;
use crate::name::{ClientMsgId, ConversationId, UserId};
use sha2::{Digest, Sha256};

/// Defines an enum whose cases have a fixed spelling in the API and a fixed number in SQL.
macro_rules! spelled {
    ($(#[$doc:meta])* $type:ident { $($(#[$case_doc:meta])* $case:ident = $number:literal $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type { $($(#[$case_doc])* $case),+ }

        impl $type {
            pub const ALL: &'static [$type] = &[$(Self::$case),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$case => $text),+ }
            }

            /// The number that stands for this case in SQL; never reused.
            pub fn number(self) -> i64 {
                match self { $(Self::$case => $number),+ }
            }

            pub fn from_number(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$case),)+ _ => None }
            }

            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$case),)+ _ => None }
            }
        }
    };
}
pub(crate) use spelled;

spelled!(
    /// What a message holds. The store keeps `content` as it is, whatever the type.
    Kind {
        Text = 1 "text",
        Image = 2 "image",
        Voice = 3 "voice",
        Video = 4 "video",
        File = 5 "file",
        System = 6 "system",
        /// A control message: it tells devices that a message below was recalled, edited or deleted.
        /// Only the store makes these.
        Recall = 7 "recall",
        Custom = 8 "custom",
    }
);

impl Kind {
    /// The types a client may send, in the order of the API document.
    pub const SENDABLE: [Kind; 7] =
        [Kind::Text, Kind::Image, Kind::Voice, Kind::Video, Kind::File, Kind::System, Kind::Custom];
}

spelled!(Status { Normal = 0 "normal", Recalled = 1 "recalled", Deleted = 2 "deleted" });
spelled!(QuoteStatus {
    Normal = 0 "normal", Recalled = 1 "recalled", Deleted = 2 "deleted", Expired = 3 "expired"
});
impl From<Status> for QuoteStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Normal => Self::Normal,
            Status::Recalled => Self::Recalled,
            Status::Deleted => Self::Deleted,
        }
    }
}

spelled!(
    /// What an acknowledgement promises.
    Ack {
        /// The message is in the store and survives the death of any process of the product.
        Accepted = 0 "accepted",
        /// The message is in SQL and on disk.
        Persisted = 1 "persisted",
    }
);
spelled!(Action { Recall = 1 "recall", Edit = 2 "edit", Delete = 3 "delete" });

impl Action {
    /// The status that a message has after it.
    pub fn status(self) -> Status {
        match self {
            Self::Recall => Status::Recalled,
            Self::Edit => Status::Normal,
            Self::Delete => Status::Deleted,
        }
    }
}

/// Where a draft goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Conversation(ConversationId),
    /// The single chat with this user, made on first use.
    Peer(UserId),
}

/// A message as its sender hands it in, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub sender: UserId,
    pub target: Target,
    pub client_msg_id: ClientMsgId,
    /// When the client made the message, in milliseconds since 1970.
    pub client_time: Option<u64>,
    pub kind: Kind,
    pub content: String,
    pub reply_to: Option<MsgId>,
    pub ext: Option<Ext>,
    /// Not counted as unread.
    pub silent: bool,
}

/// Checks what a message is to say, when it is sent and when it is edited.
pub fn check_content(content: &str) -> Result<()> {
    if content.len() > CONTENT_BYTES_MAX {
        let reason = format!("must have at most {CONTENT_BYTES_MAX} bytes of UTF-8");
        return Err(Error::too_large("content", reason));
    }
    Ok(())
}

/// Bytes of [`Draft::fingerprint`].
pub const FINGERPRINT_BYTES: usize = 16;

impl Draft {
    /// Checks what types alone cannot.
    pub fn check(&self) -> Result<()> {
        check_content(&self.content)?;
        if self.kind == Kind::Recall {
            return Err(Error::invalid("type", "messages of this type are made by the store"));
        }
        if matches!(&self.target, Target::Peer(peer) if *peer == self.sender) {
            return Err(Error::invalid("toUserId", "must be another user than the sender"));
        }
        Ok(())
    }

    /// Tells a retry (same fingerprint) from another message under the same `clientMsgId`: the
    /// first 128 bits of SHA-256 over everything a reader will see. Each part is preceded by its
    /// length, so that no two drafts are hashed alike by construction.
    pub fn fingerprint(&self) -> [u8; FINGERPRINT_BYTES] {
        let ext = self.ext.as_ref().map(Ext::canonical).unwrap_or_default();
        let reply_to = self.reply_to.unwrap_or_default().number().to_le_bytes();
        let marks = [self.kind.number() as u8, u8::from(self.silent), u8::from(self.ext.is_some())];
        let mut hash = Sha256::new();
        for part in [&marks[..], &reply_to[..], ext.as_bytes(), self.content.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut print = [0; FINGERPRINT_BYTES];
        print.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        print
    }
}

/// The store's answer to one draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub msg_id: MsgId,
    /// Place in the conversation: 1, 2, 3 …
    pub seq: u64,
    pub conversation: ConversationId,
    /// Milliseconds since 1970.
    pub create_time: u64,
    pub epoch: String,
    /// This draft had been stored before; the other fields are those of the first time.
    pub duplicate: bool,
    pub ack: Ack,
}

/// The message that a message replies to, as its reader may see it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    pub msg_id: MsgId,
    pub sender: Option<UserId>,
    /// At most [`SUMMARY_CHARS_MAX`] characters of the quoted content.
    pub preview: Option<String>,
    pub status: QuoteStatus,
}

/// What a control message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlRef {
    pub msg_id: MsgId,
    pub action: Action,
}

/// A message as a reader sees it. `content` is empty unless the status is normal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub msg_id: MsgId,
    pub seq: u64,
    pub sender: UserId,
    pub kind: Kind,
    pub content: String,
    pub client_msg_id: String,
    pub create_time: u64,
    pub status: Status,
    pub edit_time: Option<u64>,
    pub reply_to: Option<Quote>,
    pub ext: Option<Ext>,
    pub control: Option<ControlRef>,
}

/// The first [`SUMMARY_CHARS_MAX`] characters of `content`.
pub fn summary_of(content: &str) -> &str {
    match content.char_indices().nth(SUMMARY_CHARS_MAX) {
        Some((end, _)) => content.get(..end).unwrap_or(content),
        None => content,
    }
}

/// Bytes of content that surely hold a summary: UTF-8 has at most four bytes a character.
pub const SUMMARY_BYTES: usize = SUMMARY_CHARS_MAX * 4;

/// The summary of a content of which at least the first [`SUMMARY_BYTES`] are given.
pub fn summary_of_bytes(start: &[u8]) -> String {
    let whole = match std::str::from_utf8(start) {
        Ok(text) => text,
        // The last character was cut.
        Err(error) => start
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    };
    summary_of(whole).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Draft {
        Draft {
            sender: UserId::parse("a").unwrap(),
            target: Target::Peer(UserId::parse("b").unwrap()),
            client_msg_id: ClientMsgId::parse("1").unwrap(),
            client_time: None,
            kind: Kind::Text,
            content: "hello".into(),
            reply_to: None,
            ext: None,
            silent: false,
        }
    }

    #[test]
    fn spellings_and_numbers_come_back() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_text(kind.as_str()), Some(*kind));
            assert_eq!(Kind::from_number(kind.number()), Some(*kind));
        }
        assert_eq!(Kind::from_text("typing"), None);
    }

    #[test]
    fn everything_a_reader_sees_is_in_the_fingerprint() {
        let first = draft().fingerprint();
        let mut others = [draft(), draft(), draft(), draft(), draft()];
        others[0].content.push('!');
        others[1].kind = Kind::Custom;
        others[2].reply_to = MsgId::new(5);
        others[3].ext = Some(Ext::parse("{}").unwrap());
        others[4].silent = true;
        assert!(others.iter().all(|d| d.fingerprint() != first));
        let mut retry = draft();
        retry.client_time = Some(9);
        assert_eq!(retry.fingerprint(), first);
    }

    #[test]
    fn content_at_the_limit_passes_and_one_byte_more_does_not() {
        let mut d = draft();
        d.content = "x".repeat(CONTENT_BYTES_MAX);
        assert_eq!(d.check(), Ok(()));
        d.content.push('x');
        assert!(matches!(d.check(), Err(Error::TooLarge { field, .. }) if field == "content"));
    }

    #[test]
    fn a_summary_is_cut_between_characters() {
        let long = "\u{1f600}".repeat(SUMMARY_CHARS_MAX + 1);
        assert_eq!(summary_of(&long).chars().count(), SUMMARY_CHARS_MAX);
        assert_eq!(summary_of("short"), "short");
    }
}
