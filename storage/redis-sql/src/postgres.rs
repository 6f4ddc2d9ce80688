//! The port to PostgreSQL over `spin:postgres`.
//!
//! The async forms alone are used: the others make the whole instance wait, and under Spin their
//! errors come without the SQLSTATE.

use crate::kept::Kept;
use crate::log;
use crate::time::within;
use im_store::postgres::Postgres;
use im_store::sql::{Row, SqlError, Value};
use im_store::tiered::config::ServerUrl;
use spin_sdk::pg::wit::postgres as spin;
use std::rc::Rc;
use std::time::Duration;

/// How long connecting or a statement may take. Statements are bounded by their pages and batches;
/// this is for a server that is cut off, and leaves the request time to say so.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// One database; connected to by its first statement, and anew after the connection broke.
pub struct SpinPostgres {
    url: ServerUrl,
    connection: Kept<spin::Connection>,
}

impl SpinPostgres {
    pub fn new(url: ServerUrl) -> Self {
        Self { url, connection: Kept::none() }
    }

    async fn connection(&self) -> Result<Rc<spin::Connection>, SqlError> {
        if let Some(kept) = self.connection.get() {
            return Ok(kept);
        }
        let opening = spin::Connection::open_async(self.url.as_str().to_owned());
        let opened = match within(ANSWER_MAX, opening).await {
            Some(Ok(opened)) => Ok(self.connection.keep(opened)),
            // Whatever the reason: there is no connection.
            Some(Err(why)) => Err(SqlError::Unavailable(self.url.clean(&reason(why)))),
            None => Err(silent()),
        };
        if let Err(why) = &opened {
            log::error(self.url.name(), why);
        }
        opened
    }

    fn explain(&self, error: spin::Error) -> SqlError {
        match error {
            spin::Error::QueryFailed(spin::QueryError::DbError(said)) => {
                SqlError::from_state(&said.code, self.url.clean(&said.message))
            }
            // Nothing that the server said: the connection is broken.
            spin::Error::ConnectionFailed(text) | spin::Error::QueryFailed(spin::QueryError::Text(text)) => {
                SqlError::Unavailable(self.url.clean(&text))
            }
            other => SqlError::Failed(self.url.clean(&reason(other))),
        }
    }
}

impl Postgres for SpinPostgres {
    async fn query(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        let connection = self.connection().await?;
        let parameters = parameters.into_iter().map(to_spin).collect();
        let (broken, error) =
            match within(ANSWER_MAX, rows(&connection, statement.to_owned(), parameters)).await {
                Some(Ok(rows)) => return rows.into_iter().map(row).collect(),
                Some(Err(error)) => (is_broken(&error), self.explain(error)),
                None => (true, silent()),
            };
        if broken && self.connection.forget(&connection) {
            log::error(self.url.name(), &error);
        }
        Err(error)
    }
}

/// All rows of a statement; they have come whole when the end has.
async fn rows(
    connection: &spin::Connection,
    statement: String,
    parameters: Vec<spin::ParameterValue>,
) -> Result<Vec<Vec<spin::DbValue>>, spin::Error> {
    let (_columns, rows, end) = connection.query_async(statement, parameters).await?;
    let rows = rows.collect().await;
    end.await?;
    Ok(rows)
}

/// Whether the connection is of no more use after an error.
fn is_broken(error: &spin::Error) -> bool {
    // The connection has failed, the server ends or only reads by now.
    const STATES: [&str; 3] = ["08", "57P", "25006"];
    match error {
        spin::Error::ConnectionFailed(_) | spin::Error::QueryFailed(spin::QueryError::Text(_)) => true,
        spin::Error::QueryFailed(spin::QueryError::DbError(said)) => {
            STATES.iter().any(|state| said.code.starts_with(state))
        }
        _ => false,
    }
}

fn silent() -> SqlError {
    SqlError::Unavailable(format!("no answer within {} s", ANSWER_MAX.as_secs()))
}

fn reason(error: spin::Error) -> String {
    match error {
        spin::Error::ConnectionFailed(text)
        | spin::Error::BadParameter(text)
        | spin::Error::ValueConversionFailed(text)
        | spin::Error::Other(text)
        | spin::Error::QueryFailed(spin::QueryError::Text(text)) => text,
        spin::Error::QueryFailed(spin::QueryError::DbError(said)) => said.message,
    }
}

fn to_spin(value: Value) -> spin::ParameterValue {
    match value {
        Value::Null => spin::ParameterValue::DbNull,
        Value::Integer(value) => spin::ParameterValue::Int64(value),
        Value::Real(value) => spin::ParameterValue::Floating64(value),
        Value::Text(value) => spin::ParameterValue::Str(value),
        Value::Blob(value) => spin::ParameterValue::Binary(value),
        Value::Integers(values) => spin::ParameterValue::ArrayInt64(values),
        Value::Texts(values) => spin::ParameterValue::ArrayStr(values),
    }
}

fn row(values: Vec<spin::DbValue>) -> Result<Row, SqlError> {
    Ok(Row::new(values.into_iter().map(from_spin).collect::<Result<_, _>>()?))
}

fn from_spin(value: spin::DbValue) -> Result<Value, SqlError> {
    Ok(match value {
        spin::DbValue::DbNull => Value::Null,
        spin::DbValue::Boolean(value) => value.into(),
        spin::DbValue::Int16(value) => Value::Integer(value.into()),
        spin::DbValue::Int32(value) => Value::Integer(value.into()),
        spin::DbValue::Int64(value) => Value::Integer(value),
        spin::DbValue::Floating64(value) => Value::Real(value),
        spin::DbValue::Str(value) => Value::Text(value),
        spin::DbValue::Binary(value) => Value::Blob(value),
        spin::DbValue::ArrayInt64(values) => Value::Integers(values),
        spin::DbValue::ArrayStr(values) => Value::Texts(values),
        // Statements cast what they select; this is a mistake in one.
        _ => return Err(SqlError::Failed("a column of a type that is not used here".to_owned())),
    })
}
