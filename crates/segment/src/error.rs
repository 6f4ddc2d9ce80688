//! What can go wrong with a segment.

/// Why messages do not become a segment. The same ones would be refused again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("a segment has at least one message")]
    Empty,
    /// The id of the message at this place is not above that of the one before it.
    #[error("message {at} is out of order")]
    Unsorted { at: usize },
    /// See [`crate::limits`].
    #[error("too large: {what}")]
    TooLarge { what: &'static str },
}

/// Why a segment, or a block of it, cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not those that were written.
    #[error("damaged: {what}")]
    Damaged { what: &'static str },
    /// Written by a later version of the product, or damaged in its fifth or sixth byte.
    #[error("format version {found} is not known")]
    Version { found: u16 },
    /// It asks for more than any segment may; nothing was allocated for it. See [`crate::limits`].
    #[error("too large: {what}")]
    TooLarge { what: &'static str },
}

pub(crate) type Read<T> = Result<T, ReadError>;

pub(crate) fn damaged(what: &'static str) -> ReadError {
    ReadError::Damaged { what }
}
