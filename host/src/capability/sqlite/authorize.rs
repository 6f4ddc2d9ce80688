//! What a statement may reach: the database it was opened on, and nothing else.

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// Settings of SQLite that hold for the whole process, and so for other components too.
const PRAGMAS_OF_PROCESS: [&str; 4] =
    ["temp_store_directory", "data_store_directory", "soft_heap_limit", "hard_heap_limit"];

/// No attaching of files, and no `VACUUM INTO`, which attaches its target. The empty name and
/// `:memory:` are temporary and SQLite's own need. A file name that is no literal comes as an action
/// that rusqlite does not know.
pub fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { filename: "" | ":memory:" } => Authorization::Allow,
        AuthAction::Attach { .. } | AuthAction::Unknown { .. } => Authorization::Deny,
        AuthAction::Pragma { pragma_name, .. } if is_of_process(pragma_name) => Authorization::Deny,
        _ => Authorization::Allow,
    }
}

fn is_of_process(pragma: &str) -> bool {
    PRAGMAS_OF_PROCESS.iter().any(|name| name.eq_ignore_ascii_case(pragma))
}
