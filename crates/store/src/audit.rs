//! How the audit calls what was done.

/// A conversation came under legal hold, or does not stand under it any more.
pub(crate) fn legal_hold(held: bool) -> &'static str {
    if held { "legal_hold" } else { "legal_hold_lifted" }
}
