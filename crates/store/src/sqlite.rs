//! The port to SQLite: one statement with parameters.

use crate::sql::{Row, SqlError, Value};

/// A connection to a SQLite database.
///
/// Calls are synchronous on purpose: the requests of one component instance run interleaved at
/// every await, and a transaction of one must not be open while another uses the connection. A
/// call that cannot be awaited cannot be interleaved.
pub trait Sqlite {
    /// Runs one statement to its end and gives its rows. The same text is prepared once.
    fn execute(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError>;
}
