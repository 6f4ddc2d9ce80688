//! Erasing what there is of a user.

use crate::export::ExportCursor;

/// What one part has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// Messages that have no content any more; those of a part that is repeated count again.
    pub messages: u64,
    /// What to pass next time.
    pub cursor: ExportCursor,
    pub has_more: bool,
}
