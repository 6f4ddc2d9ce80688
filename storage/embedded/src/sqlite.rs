//! The SQLite port over `spin:sqlite`.

use im_store::sql::{Row, SqlError, Value};
use im_store::sqlite::Sqlite;
use std::io::Write;
// The SDK wraps only the async calls; the engine needs the sync ones (see `im_store::sqlite`).
use spin_sdk::sqlite::wit::sqlite as spin;

/// The database's label in `spin.toml`.
const DATABASE: &str = "default";

pub struct SpinSqlite(spin::Connection);

impl SpinSqlite {
    pub fn open() -> Result<Self, SqlError> {
        spin::Connection::open(DATABASE).map(Self).map_err(error)
    }
}

impl Sqlite for SpinSqlite {
    fn execute(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        let parameters: Vec<_> = parameters.into_iter().map(to_spin).collect();
        let result = self.0.execute(statement, &parameters).map_err(error)?;
        Ok(result.rows.into_iter().map(row).collect())
    }
}

fn row(row: spin::RowResult) -> Row {
    Row::new(row.values.into_iter().map(from_spin).collect())
}

fn to_spin(value: Value) -> spin::Value {
    match value {
        Value::Null => spin::Value::Null,
        Value::Integer(value) => spin::Value::Integer(value),
        Value::Real(value) => spin::Value::Real(value),
        Value::Text(value) => spin::Value::Text(value),
        Value::Blob(value) => spin::Value::Blob(value),
        // SQLite has no arrays; the embedded engine makes none.
        Value::Integers(_) | Value::Texts(_) => spin::Value::Null,
    }
}

fn from_spin(value: spin::Value) -> Value {
    match value {
        spin::Value::Null => Value::Null,
        spin::Value::Integer(value) => Value::Integer(value),
        spin::Value::Real(value) => Value::Real(value),
        spin::Value::Text(value) => Value::Text(value),
        spin::Value::Blob(value) => Value::Blob(value),
    }
}

fn error(error: spin::Error) -> SqlError {
    let error = match error {
        spin::Error::Io(message) => SqlError::from_message(message),
        spin::Error::DatabaseFull => SqlError::Unavailable("the database is full".to_owned()),
        other => SqlError::Failed(format!("{other:?}")),
    };
    // Clients are told that the store is away; the log is told why.
    if let SqlError::Unavailable(_) = error {
        let _written = writeln!(std::io::stderr(), "error: {error}");
    }
    error
}
