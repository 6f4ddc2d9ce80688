//! The port to PostgreSQL: one statement with parameters, which is one transaction.

use crate::sql::{Row, SqlError, Value};

/// A connection, or a pool of them, to a PostgreSQL database.
///
/// A statement is atomic by itself and is never part of a transaction of several: requests of one
/// instance run interleaved, and a transaction left open would swallow those of others. Parameters
/// are typed by a cast in the statement's text (`$1::bigint`).
#[allow(async_fn_in_trait)] // Futures of a component are not `Send`.
pub trait Postgres {
    async fn query(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError>;
}
