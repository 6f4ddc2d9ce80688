//! What statements take and give, in any dialect.

mod error;

pub use error::SqlError;

use im_domain::MsgId;

/// What a statement takes and gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
    /// Arrays are parameters of PostgreSQL alone.
    Integers(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u64> for Value {
    /// Numbers of the product fit into 63 bits: ids by construction, counts and times by nature.
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Integer(value.into())
    }
}

impl From<MsgId> for Value {
    fn from(value: MsgId) -> Self {
        Self::Integer(value.to_sql())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Blob(value.to_vec())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row of a result; its columns are taken from left to right.
#[derive(Debug)]
pub struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    fn wrong(expected: &str, found: Option<Value>) -> SqlError {
        SqlError::Failed(format!("expected {expected} in a column, found {found:?}"))
    }

    pub fn int(&mut self) -> Result<i64, SqlError> {
        self.opt_int()?.ok_or_else(|| Self::wrong("a number", None))
    }

    pub fn opt_int(&mut self) -> Result<Option<i64>, SqlError> {
        match self.0.next() {
            Some(Value::Integer(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(Self::wrong("a number", other)),
        }
    }

    /// A number that is never negative.
    pub fn count(&mut self) -> Result<u64, SqlError> {
        let value = self.int()?;
        u64::try_from(value).map_err(|_| Self::wrong("a count", Some(value.into())))
    }

    pub fn flag(&mut self) -> Result<bool, SqlError> {
        Ok(self.int()? != 0)
    }

    pub fn msg_id(&mut self) -> Result<MsgId, SqlError> {
        Ok(MsgId::from_sql(self.int()?))
    }

    pub fn opt_msg_id(&mut self) -> Result<Option<MsgId>, SqlError> {
        Ok(self.opt_int()?.map(MsgId::from_sql))
    }

    pub fn text(&mut self) -> Result<String, SqlError> {
        self.opt_text()?.ok_or_else(|| Self::wrong("text", None))
    }

    pub fn opt_text(&mut self) -> Result<Option<String>, SqlError> {
        match self.0.next() {
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(Self::wrong("text", other)),
        }
    }

    pub fn opt_blob(&mut self) -> Result<Option<Vec<u8>>, SqlError> {
        match self.0.next() {
            Some(Value::Blob(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(Self::wrong("bytes", other)),
        }
    }

    /// Bytes that were stored from text.
    pub fn utf8(&mut self) -> Result<String, SqlError> {
        let bytes = self.opt_blob()?.ok_or_else(|| Self::wrong("bytes", None))?;
        String::from_utf8(bytes).map_err(|_| Self::wrong("UTF-8", None))
    }

    /// A column as it came; None after the last.
    pub fn value(&mut self) -> Option<Value> {
        self.0.next()
    }

    /// A case of an enum, by its number.
    pub fn case<T>(&mut self, from: impl Fn(i64) -> Option<T>) -> Result<T, SqlError> {
        let number = self.int()?;
        from(number).ok_or_else(|| SqlError::Failed(format!("the number {number} stands for nothing known")))
    }

    /// Passes over a column.
    pub fn skip(&mut self) {
        self.0.next();
    }
}

/// Parameters of a statement, each converted to a [`Value`].
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$($crate::sql::Value::from($value)),*] };
}
