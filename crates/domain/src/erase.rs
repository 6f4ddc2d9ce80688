//! Erasing what there is of a user.

use crate::error::Error;
use crate::export::ExportCursor;
use crate::name::ConversationId;

/// What one part has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// Messages that have no content any more; those of a part that is repeated count again.
    pub messages: u64,
    /// Conversations under legal hold: what there is of the user in them stays.
    pub held: Vec<ConversationId>,
    /// What to pass next time.
    pub cursor: ExportCursor,
    pub has_more: bool,
}

/// What is said where all of a tenant is under legal hold.
pub fn tenant_is_held() -> Error {
    Error::conflict("userId", "the tenant is under legal hold: nothing of it is erased")
}
