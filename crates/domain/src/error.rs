//! What can go wrong in the store. One case per fact a caller can act on; the WIT contract has the
//! same cases, and the HTTP edge maps each to one problem document.

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{field}: {reason}")]
    Invalid { field: String, reason: String },
    #[error("{field}: {reason}")]
    TooLarge { field: String, reason: String },
    #[error("{reason}")]
    Forbidden { field: Option<String>, reason: String },
    #[error("the user is not a member of the conversation")]
    NotMember,
    #[error("there is no such conversation")]
    ConversationNotFound,
    /// `field`: which of the request's ids named the message.
    #[error("{field}: there is no such message")]
    MessageNotFound { field: String },
    #[error("{field}: {reason}")]
    Conflict { field: String, reason: String },
    #[error("too many requests")]
    RateLimited { retry_after_ms: u64 },
    #[error("the store is overloaded")]
    Overloaded { retry_after_ms: u64 },
    #[error("the hot store is not reachable")]
    HotUnavailable { retry_after_ms: u64 },
    #[error("the SQL store is not reachable")]
    SqlUnavailable { retry_after_ms: u64 },
    /// Something that should not happen; the reason is for logs and never shown to clients.
    #[error("{reason}")]
    Internal { reason: String },
}

impl Error {
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), reason: reason.into() }
    }

    pub fn too_large(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::TooLarge { field: field.into(), reason: reason.into() }
    }

    pub fn forbidden(reason: impl Into<String>) -> Self {
        Self::Forbidden { field: None, reason: reason.into() }
    }

    /// As [`Self::forbidden`], where one value of the request is to blame.
    pub fn forbidden_value(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Forbidden { field: Some(field.into()), reason: reason.into() }
    }

    /// A `cursor` that no answer gave.
    pub fn unknown_cursor() -> Self {
        Self::invalid("cursor", "must be empty or a cursor from an earlier answer")
    }

    pub fn conflict(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Conflict { field: field.into(), reason: reason.into() }
    }

    pub fn internal(reason: impl Into<String>) -> Self {
        Self::Internal { reason: reason.into() }
    }

    /// Whether the whole call failed, not just the item it was met at: the others would fail too.
    pub fn is_systemic(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Overloaded { .. }
                | Self::HotUnavailable { .. }
                | Self::SqlUnavailable { .. }
                | Self::Internal { .. }
        )
    }
}
