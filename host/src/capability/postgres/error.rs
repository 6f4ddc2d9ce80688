//! Errors as the interface tells them.

use tokio_postgres::Error;
use tokio_postgres::error::DbError;

use super::wit;

/// No connection.
pub fn connection_failed(why: impl Into<String>) -> wit::Error {
    wit::Error::ConnectionFailed(why.into())
}

/// No connection, for the reason and what is behind it.
pub fn cannot_connect(error: &dyn std::error::Error) -> wit::Error {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind {
        // Some errors repeat what is behind them.
        let why = error.to_string();
        if !text.ends_with(&why) {
            text = format!("{text}: {why}");
        }
        behind = error.source();
    }
    wit::Error::ConnectionFailed(text)
}

/// A statement that failed, in the words that Spin's guests get. What the server said comes in parts
/// from every function; Spin's plain `query` has it as text when it failed while it ran.
pub fn query_failed(error: &Error) -> wit::Error {
    let text = format!("{error:?}");
    wit::Error::QueryFailed(match error.as_db_error() {
        None => wit::QueryError::Text(text),
        Some(said) => wit::QueryError::DbError(wit::DbError {
            as_text: text,
            severity: said.severity().to_owned(),
            code: said.code().code().to_owned(),
            message: said.message().to_owned(),
            detail: said.detail().map(str::to_owned),
            extras: extras(said),
        }),
    })
}

/// A failure on this side of the connection.
pub fn failed_here(why: impl Into<String>) -> wit::Error {
    wit::Error::QueryFailed(wit::QueryError::Text(why.into()))
}

/// What else the server said, by the names that Spin gives it.
fn extras(said: &DbError) -> Vec<(String, String)> {
    let line = said.line().map(|line| line.to_string());
    [
        ("column", said.column()),
        ("constraint", said.constraint()),
        ("routine", said.routine()),
        ("hint", said.hint()),
        ("table", said.table()),
        ("datatype", said.datatype()),
        ("schema", said.schema()),
        ("file", said.file()),
        ("line", line.as_deref()),
        ("where_", said.where_()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
    .collect()
}
