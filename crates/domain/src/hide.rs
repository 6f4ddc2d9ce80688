//! Messages that a user hides from oneself.

use crate::error::Error;
use crate::limits::HIDDEN_MAX;
use crate::revision::Refusal;

/// Why a message cannot be hidden, whoever says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unhidable {
    /// The user sees no such message.
    Missing,
    /// It is a control message.
    Control,
    /// [`HIDDEN_MAX`] messages of the conversation are hidden already.
    TooMany,
}

impl From<Unhidable> for Error {
    fn from(why: Unhidable) -> Self {
        match why {
            Unhidable::Missing => Self::MessageNotFound { field: "msgIds".into() },
            Unhidable::Control => Refusal::Control.into(),
            Unhidable::TooMany => Self::conflict(
                "msgIds",
                format!(
                    "{HIDDEN_MAX} messages of the conversation are hidden from the user, and no more can be"
                ),
            ),
        }
    }
}
