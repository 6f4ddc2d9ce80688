//! Values of the port as PostgreSQL takes and gives them.

use crate::sql::{Row, SqlError, Value};
use std::error::Error;
use tokio_postgres::Row as Native;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// A parameter, whose type has to be the one that the statement's cast names; NULL is of every type.
#[derive(Debug)]
pub struct Parameter(pub Value);

impl ToSql for Parameter {
    fn to_sql(&self, wanted: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(value) => value.to_sql_checked(wanted, out),
            Value::Real(value) => value.to_sql_checked(wanted, out),
            Value::Text(value) => value.to_sql_checked(wanted, out),
            Value::Blob(value) => value.to_sql_checked(wanted, out),
            Value::Integers(values) => values.to_sql_checked(wanted, out),
            Value::Texts(values) => values.to_sql_checked(wanted, out),
        }
    }

    /// The value decides, when it is written.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

pub fn row(row: &Native) -> Result<Row, SqlError> {
    let columns = row.columns().iter().enumerate();
    columns.map(|(at, column)| value(row, at, column.type_())).collect::<Result<_, _>>().map(Row::new)
}

fn value(row: &Native, at: usize, found: &Type) -> Result<Value, SqlError> {
    match *found {
        Type::BOOL => get(row, at, |value: bool| value.into()),
        Type::INT2 => get(row, at, |value: i16| Value::Integer(value.into())),
        Type::INT4 => get(row, at, |value: i32| Value::Integer(value.into())),
        Type::INT8 => get(row, at, Value::Integer),
        Type::FLOAT4 => get(row, at, |value: f32| Value::Real(value.into())),
        Type::FLOAT8 => get(row, at, Value::Real),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => get(row, at, Value::Text),
        Type::BYTEA => get(row, at, Value::Blob),
        Type::INT8_ARRAY => get(row, at, Value::Integers),
        Type::TEXT_ARRAY | Type::VARCHAR_ARRAY => get(row, at, Value::Texts),
        // What a function without a result gives.
        Type::VOID => Ok(Value::Null),
        _ => Err(SqlError::Failed(format!("columns of type {found} are not supported"))),
    }
}

fn get<'a, T: FromSql<'a>>(
    row: &'a Native,
    at: usize,
    convert: impl FnOnce(T) -> Value,
) -> Result<Value, SqlError> {
    Ok(row.try_get::<_, Option<T>>(at)?.map_or(Value::Null, convert))
}
