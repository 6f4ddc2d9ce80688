//! Values between SQLite and WIT.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{ErrorCode, Row};

use super::wit;
use crate::limits::SQLITE_RESULT_BYTES_MAX;

/// Memory of one value apart from its bytes.
const VALUE_BYTES: usize = size_of::<wit::Value>();

/// Counts the bytes of a result.
#[derive(Default)]
pub struct Limited {
    bytes: usize,
}

impl Limited {
    fn add(&mut self, content_bytes: usize) -> Result<(), wit::Error> {
        self.bytes = self.bytes.saturating_add(VALUE_BYTES + content_bytes);
        if self.bytes > SQLITE_RESULT_BYTES_MAX {
            return Err(wit::Error::Io(format!("the result exceeds {SQLITE_RESULT_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

/// One row.
pub fn from_sqlite(row: &Row<'_>, width: usize, limit: &mut Limited) -> Result<wit::RowResult, wit::Error> {
    let mut values = Vec::with_capacity(width);
    for column in 0..width {
        let value = row.get_ref(column).map_err(|e| error(&e))?;
        limit.add(content_bytes(value))?;
        values.push(value_from_sqlite(value, column)?);
    }
    Ok(wit::RowResult { values })
}

fn content_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        _ => 0,
    }
}

fn value_from_sqlite(value: ValueRef<'_>, column: usize) -> Result<wit::Value, wit::Error> {
    Ok(match value {
        ValueRef::Null => wit::Value::Null,
        ValueRef::Integer(number) => wit::Value::Integer(number),
        ValueRef::Real(number) => wit::Value::Real(number),
        ValueRef::Blob(bytes) => wit::Value::Blob(bytes.to_vec()),
        // SQLite stores any bytes as text when told so.
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => wit::Value::Text(text.to_owned()),
            Err(_) => {
                return Err(wit::Error::Io(format!("the text in column {column} is not UTF-8")));
            }
        },
    })
}

/// A parameter of a statement.
pub fn to_sqlite(value: wit::Value) -> Value {
    match value {
        wit::Value::Null => Value::Null,
        wit::Value::Integer(number) => Value::Integer(number),
        wit::Value::Real(number) => Value::Real(number),
        wit::Value::Text(text) => Value::Text(text),
        wit::Value::Blob(bytes) => Value::Blob(bytes),
    }
}

/// An error of SQLite as the interface tells it.
pub fn error(error: &rusqlite::Error) -> wit::Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => wit::Error::DatabaseFull,
        _ => wit::Error::Io(error.to_string()),
    }
}
