//! What hot messages have become, as scripts give it: their streams keep what they were.

use super::stamp;
use im_domain::message::{Action, Message, Status};
use im_domain::{Error, MsgId, Result};

/// A message was revised.
pub(super) enum Become {
    /// It was recalled or deleted.
    Gone(Status),
    Edited {
        /// When, in milliseconds since 1970.
        at_ms: u64,
        /// Perhaps only the start of it.
        content: Vec<u8>,
    },
}

impl Become {
    /// Reads a line `action control` and the content that an edit gave; empty: the message is what it was.
    pub fn parse(mut value: Vec<u8>) -> Result<Option<Self>> {
        let Some(end) = value.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let content = value.split_off(end + 1);
        let (action, control) = std::str::from_utf8(&value).ok().and_then(revision).ok_or_else(malformed)?;
        Ok(Some(match action {
            Action::Recall | Action::Delete => Self::Gone(action.status()),
            Action::Edit => Self::Edited { at_ms: control.time_ms(), content },
        }))
    }

    /// The message, as its readers see it.
    pub fn apply(self, message: Message) -> Result<Message> {
        match self {
            Self::Gone(status) => Ok(Message { status, content: String::new(), ext: None, ..message }),
            Self::Edited { at_ms, content } => {
                let content = String::from_utf8(content).map_err(|_| malformed())?;
                Ok(Message { content, edit_time: Some(at_ms), ..message })
            }
        }
    }
}

fn malformed() -> Error {
    Error::internal("a revision in the hot store is malformed")
}

fn revision(line: &str) -> Option<(Action, MsgId)> {
    let (action, control) = line.trim_end().split_once(' ')?;
    Some((Action::from_number(action.parse().ok()?)?, stamp::parse(control)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Become>> {
        Become::parse(text.as_bytes().to_vec())
    }

    #[test]
    fn what_a_script_gives_is_read() {
        assert!(parse("").unwrap().is_none());
        assert!(matches!(parse("1 5-0\n").unwrap(), Some(Become::Gone(Status::Recalled))));
        assert!(matches!(parse("3 5-0\n").unwrap(), Some(Become::Gone(Status::Deleted))));
        let Some(Become::Edited { at_ms, content }) = parse("2 5-0\none\ntwo").unwrap() else {
            panic!("not an edit")
        };
        assert_eq!((at_ms, content.as_slice()), (im_domain::msg_id::ID_EPOCH_MS + 5, &b"one\ntwo"[..]));
        assert!(parse("9 5-0\n").is_err() && parse("2\n").is_err());
    }
}
