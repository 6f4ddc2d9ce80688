//! The SQLite port over the crate rusqlite.

use crate::sql::{Row, SqlError, Value};
use crate::sqlite::Sqlite;
use rusqlite::config::DbConfig;
use rusqlite::types::{Value as Native, ValueRef};
use std::path::Path;

/// Statements kept prepared: more than the engine has.
const STATEMENTS_KEPT: usize = 128;

/// A connection to a database file.
pub struct NativeSqlite(rusqlite::Connection);

impl NativeSqlite {
    pub fn open(path: &Path) -> Result<Self, SqlError> {
        let connection = rusqlite::Connection::open(path)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        // Otherwise SQLite prepares a statement anew for each value bound to its LIMIT.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(Self(connection))
    }
}

impl From<rusqlite::Error> for SqlError {
    fn from(error: rusqlite::Error) -> Self {
        Self::from_message(error.to_string())
    }
}

impl Sqlite for NativeSqlite {
    fn execute(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        let mut prepared = self.0.prepare_cached(statement)?;
        let columns = prepared.column_count();
        let parameters = rusqlite::params_from_iter(parameters.into_iter().map(to_native));
        let mut rows = prepared.query(parameters)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|i| Ok(from_native(row.get_ref(i)?)));
            found.push(Row::new(values.collect::<Result<_, SqlError>>()?));
        }
        Ok(found)
    }
}

fn to_native(value: Value) -> Native {
    match value {
        Value::Null => Native::Null,
        Value::Integer(value) => Native::Integer(value),
        Value::Real(value) => Native::Real(value),
        Value::Text(value) => Native::Text(value),
        Value::Blob(value) => Native::Blob(value),
        // SQLite has no arrays; the embedded engine makes none.
        Value::Integers(_) | Value::Texts(_) => Native::Null,
    }
}

fn from_native(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Value::Blob(value.to_vec()),
    }
}
