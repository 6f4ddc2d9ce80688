//! Values between PostgreSQL and WIT.
//!
//! Spin's dates, times, UUIDs, decimals, ranges and intervals are not converted here: a parameter or
//! a column of such a type is an error that names it. Types that Spin does not convert either come
//! as they do there, as bytes.

use std::error::Error;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::{error, wit};
use crate::limits::POSTGRES_RESULT_BYTES_MAX;

/// Parameters of a statement.
pub type Parameters = Vec<Box<dyn ToSql + Sync + Send>>;

/// Reads the parameters of a statement.
pub fn parameters(values: Vec<wit::ParameterValue>) -> Result<Parameters, wit::Error> {
    values.into_iter().map(parameter).collect()
}

fn parameter(value: wit::ParameterValue) -> Result<Box<dyn ToSql + Sync + Send>, wit::Error> {
    use wit::ParameterValue as V;
    let type_name = match value {
        V::Boolean(v) => return Ok(Box::new(v)),
        V::Int8(v) => return Ok(Box::new(v)),
        V::Int16(v) => return Ok(Box::new(v)),
        V::Int32(v) => return Ok(Box::new(v)),
        V::Int64(v) => return Ok(Box::new(v)),
        V::Floating32(v) => return Ok(Box::new(v)),
        V::Floating64(v) => return Ok(Box::new(v)),
        V::Str(v) => return Ok(Box::new(v)),
        V::Binary(v) => return Ok(Box::new(v)),
        V::Jsonb(v) => return Ok(Box::new(json(&v)?)),
        V::ArrayInt32(v) => return Ok(Box::new(v)),
        V::ArrayInt64(v) => return Ok(Box::new(v)),
        V::ArrayStr(v) => return Ok(Box::new(v)),
        V::DbNull => return Ok(Box::new(Null)),
        V::Date(_) => "date",
        V::Time(_) => "time",
        V::Datetime(_) => "datetime",
        V::Timestamp(_) => "timestamp",
        V::Uuid(_) => "uuid",
        V::Decimal(_) => "decimal",
        V::RangeInt32(_) | V::RangeInt64(_) | V::RangeDecimal(_) => "range",
        V::ArrayDecimal(_) => "array-decimal",
        V::Interval(_) => "interval",
    };
    Err(wit::Error::BadParameter(format!("parameters of type {type_name} are not supported by this host")))
}

fn json(bytes: &[u8]) -> Result<serde_json::Value, wit::Error> {
    serde_json::from_slice(bytes).map_err(|e| wit::Error::BadParameter(format!("not JSON: {e}")))
}

/// NULL of whatever type the statement wants.
#[derive(Debug)]
struct Null;

impl ToSql for Null {
    fn to_sql(&self, _: &Type, _: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(IsNull::Yes)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value of any type as the server sends it.
struct Raw(Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Names and types of a row's columns.
pub fn columns(row: &Row) -> Vec<wit::Column> {
    let columns = row.columns().iter();
    columns.map(|c| wit::Column { name: c.name().to_owned(), data_type: data_type(c.type_()) }).collect()
}

fn data_type(sql: &Type) -> wit::DbDataType {
    use wit::DbDataType as D;
    match *sql {
        Type::BOOL => D::Boolean,
        Type::BYTEA => D::Binary,
        Type::FLOAT4 => D::Floating32,
        Type::FLOAT8 => D::Floating64,
        Type::INT2 => D::Int16,
        Type::INT4 => D::Int32,
        Type::INT8 => D::Int64,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR => D::Str,
        Type::JSONB => D::Jsonb,
        Type::INT4_ARRAY => D::ArrayInt32,
        Type::INT8_ARRAY => D::ArrayInt64,
        Type::TEXT_ARRAY | Type::VARCHAR_ARRAY | Type::BPCHAR_ARRAY => D::ArrayStr,
        _ => D::Other(sql.name().to_owned()),
    }
}

/// Counts the bytes of a result.
#[derive(Default)]
pub struct Limited {
    bytes: usize,
}

impl Limited {
    fn add(&mut self, content_bytes: usize) -> Result<(), wit::Error> {
        self.bytes = self.bytes.saturating_add(size_of::<wit::DbValue>() + content_bytes);
        if self.bytes > POSTGRES_RESULT_BYTES_MAX {
            return Err(error::failed_here(format!("the result exceeds {POSTGRES_RESULT_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

/// The values of a row.
pub fn row(row: &Row, limit: &mut Limited) -> Result<wit::Row, wit::Error> {
    let mut values = Vec::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let value = value(row, index, column.type_())?;
        limit.add(content_bytes(&value))?;
        values.push(value);
    }
    Ok(values)
}

fn value(row: &Row, index: usize, sql: &Type) -> Result<wit::DbValue, wit::Error> {
    use wit::DbValue as V;
    match *sql {
        Type::BOOL => get(row, index, V::Boolean),
        Type::BYTEA => get(row, index, V::Binary),
        Type::FLOAT4 => get(row, index, V::Floating32),
        Type::FLOAT8 => get(row, index, V::Floating64),
        Type::INT2 => get(row, index, V::Int16),
        Type::INT4 => get(row, index, V::Int32),
        Type::INT8 => get(row, index, V::Int64),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR => get(row, index, V::Str),
        Type::JSONB => get(row, index, |json: serde_json::Value| V::Jsonb(json.to_string().into_bytes())),
        Type::INT4_ARRAY => get(row, index, V::ArrayInt32),
        Type::INT8_ARRAY => get(row, index, V::ArrayInt64),
        Type::TEXT_ARRAY | Type::VARCHAR_ARRAY | Type::BPCHAR_ARRAY => get(row, index, V::ArrayStr),
        _ if is_converted_by_spin(sql) => Err(wit::Error::ValueConversionFailed(format!(
            "columns of type {} are not supported by this host: cast to another in the statement",
            sql.name()
        ))),
        _ => get(row, index, |Raw(bytes)| V::Unsupported(bytes)),
    }
}

fn is_converted_by_spin(sql: &Type) -> bool {
    matches!(
        *sql,
        Type::TIMESTAMP
            | Type::TIMESTAMPTZ
            | Type::DATE
            | Type::TIME
            | Type::UUID
            | Type::NUMERIC
            | Type::INT4_RANGE
            | Type::INT8_RANGE
            | Type::NUM_RANGE
            | Type::NUMERIC_ARRAY
            | Type::INTERVAL
    )
}

fn get<'a, T: FromSql<'a>>(
    row: &'a Row,
    index: usize,
    convert: impl FnOnce(T) -> wit::DbValue,
) -> Result<wit::DbValue, wit::Error> {
    let value: Option<T> = row.try_get(index).map_err(|e| error::failed_here(e.to_string()))?;
    Ok(value.map_or(wit::DbValue::DbNull, convert))
}

/// Memory of a value apart from its own.
fn content_bytes(value: &wit::DbValue) -> usize {
    match value {
        wit::DbValue::Str(text) => text.len(),
        wit::DbValue::Binary(bytes) | wit::DbValue::Jsonb(bytes) | wit::DbValue::Unsupported(bytes) => {
            bytes.len()
        }
        wit::DbValue::ArrayInt32(items) => size_of_val(items.as_slice()),
        wit::DbValue::ArrayInt64(items) => size_of_val(items.as_slice()),
        wit::DbValue::ArrayStr(items) => {
            let texts: usize = items.iter().flatten().map(String::len).sum();
            size_of_val(items.as_slice()) + texts
        }
        _ => 0,
    }
}
