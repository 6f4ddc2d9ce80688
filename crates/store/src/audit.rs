//! How the audit calls what was done.

/// Former versions of a message were read.
pub(crate) const VERSIONS: &str = "versions";

/// A conversation came under legal hold, or does not stand under it any more.
pub(crate) fn legal_hold(held: bool) -> &'static str {
    if held { "legal_hold" } else { "legal_hold_lifted" }
}
