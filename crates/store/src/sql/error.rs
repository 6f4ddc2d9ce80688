//! What can go wrong with a statement.

use im_domain::Error;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// Another writer held the database for longer than the busy timeout.
    #[error("the database is locked")]
    Busy,
    /// The database cannot be reached, opened, read or written for now.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// What the statement was given cannot be stored; the same again would be refused again.
    #[error("the statement's data were refused: {0}")]
    Refused(String),
    #[error("the statement failed: {0}")]
    Failed(String),
}

impl SqlError {
    /// SQLite's message of an error tells its kind: that is all the platform passes on.
    pub fn from_message(message: String) -> Self {
        const BUSY: [&str; 2] = ["database is locked", "database table is locked"];
        const UNAVAILABLE: [&str; 5] = [
            "unable to open database",
            "disk I/O error",
            "database or disk is full",
            "attempt to write a readonly database",
            "malformed",
        ];
        if BUSY.iter().any(|text| message.contains(text)) {
            Self::Busy
        } else if UNAVAILABLE.iter().any(|text| message.contains(text)) {
            Self::Unavailable(message)
        } else {
            Self::Failed(message)
        }
    }

    /// PostgreSQL's code of an error tells its kind.
    pub fn from_state(sqlstate: &str, message: String) -> Self {
        // Each stands for the codes that begin with it.
        const UNAVAILABLE: [&str; 10] = [
            "08",    // the connection
            "25006", // a server that only reads: another has taken over
            "40",    // lost against another transaction
            "53",    // memory, disk or connections have run out
            "55P03", // a lock was not got in time
            "57014", // the statement took too long
            "57P01", // the server stops,
            "57P02", // has crashed,
            "57P03", // or starts
            "57P05", // an idle session was ended
        ];
        // A value, a constraint, a size.
        const REFUSED: [&str; 3] = ["22", "23", "54"];
        let begins = |codes: &[&str]| codes.iter().any(|code| sqlstate.starts_with(code));
        let text = format!("{sqlstate}: {message}");
        if begins(&UNAVAILABLE) {
            Self::Unavailable(text)
        } else if begins(&REFUSED) {
            Self::Refused(text)
        } else {
            Self::Failed(text)
        }
    }
}

impl From<SqlError> for Error {
    fn from(error: SqlError) -> Self {
        let retry_after_ms = im_domain::limits::RETRY_AFTER_MS;
        match error {
            SqlError::Busy => Self::Overloaded { retry_after_ms },
            SqlError::Unavailable(_) => Self::SqlUnavailable { retry_after_ms },
            SqlError::Refused(_) | SqlError::Failed(_) => Self::internal(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_an_error_tells_its_kind() {
        let kind = |code: &str| match SqlError::from_state(code, "text".into()) {
            SqlError::Busy => "busy",
            SqlError::Unavailable(_) => "unavailable",
            SqlError::Refused(_) => "refused",
            SqlError::Failed(_) => "failed",
        };
        let known = [
            ("unavailable", &["08006", "08P01", "57P01", "57P02", "57P03", "53300", "53100"][..]),
            ("unavailable", &["55P03", "25006", "40001", "40P01", "57014", "57P05"]),
            ("refused", &["22021", "22P03", "23505", "23502", "54000"]),
            ("failed", &["42601", "42P01", "25001", "55000", "57P04", "28P01", "3D000", "XX000", ""]),
        ];
        for (expected, codes) in known {
            assert!(codes.iter().all(|code| kind(code) == expected), "{expected}: {codes:?}");
        }
    }

    #[test]
    fn only_what_may_pass_is_worth_another_try() {
        let error = |code| Error::from(SqlError::from_state(code, String::new()));
        assert!(matches!(error("57P01"), Error::SqlUnavailable { .. }));
        assert!(matches!(error("23505"), Error::Internal { .. }));
        assert!(matches!(error("42601"), Error::Internal { .. }));
    }
}
