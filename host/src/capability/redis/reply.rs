//! What a command answered, as one flat list.

use redis::{ErrorKind, FromRedisValue, RedisError, RedisResult, Value};

use super::wit;
use crate::limits::REDIS_REPLY_BYTES_MAX;

/// An answer with its arrays flattened, as Spin does it: the guest cannot tell where one ended.
pub struct Reply(pub Vec<wit::RedisResult>);

impl FromRedisValue for Reply {
    fn from_redis_value(value: &Value) -> RedisResult<Self> {
        Self::from_owned_redis_value(value.clone())
    }

    fn from_owned_redis_value(value: Value) -> RedisResult<Self> {
        let mut flat = Vec::new();
        flatten(value, &mut flat)?;
        Ok(Self(flat))
    }
}

fn flatten(value: Value, flat: &mut Vec<wit::RedisResult>) -> RedisResult<()> {
    flat.push(match value {
        Value::Array(values) | Value::Set(values) => {
            return values.into_iter().try_for_each(|value| flatten(value, flat));
        }
        Value::Nil => wit::RedisResult::Nil,
        Value::Int(number) => wit::RedisResult::Int64(number),
        Value::BulkString(bytes) => wit::RedisResult::Binary(bytes),
        Value::SimpleString(text) => wit::RedisResult::Status(text),
        Value::Okay => wit::RedisResult::Status("OK".into()),
        Value::Double(number) => wit::RedisResult::Binary(number.to_string().into_bytes()),
        Value::Boolean(yes) => wit::RedisResult::Int64(yes.into()),
        Value::Map(_) => return Err(refused("maps")),
        Value::Attribute { .. } => return Err(refused("attributes")),
        Value::VerbatimString { .. } => return Err(refused("strings with a format")),
        Value::Push { .. } => return Err(refused("pushed messages")),
        Value::ServerError(error) => return Err(error.into()),
        _ => return Err(refused("this type")),
    });
    Ok(())
}

fn refused(what: &str) -> RedisError {
    (ErrorKind::TypeError, "the answer has a type that is not supported", what.to_owned()).into()
}

/// The answer is in memory already; the guest's memory is what this saves.
pub fn check_size(values: &[wit::RedisResult]) -> Result<(), wit::Error> {
    let bytes = values.iter().map(|value| size_of::<wit::RedisResult>() + content_bytes(value)).sum();
    check_bytes(bytes)
}

fn content_bytes(value: &wit::RedisResult) -> usize {
    match value {
        wit::RedisResult::Nil | wit::RedisResult::Int64(_) => 0,
        wit::RedisResult::Status(text) => text.len(),
        wit::RedisResult::Binary(bytes) => bytes.len(),
    }
}

/// Refuses an answer of so many bytes if those are too many.
pub fn check_bytes(bytes: usize) -> Result<(), wit::Error> {
    if bytes > REDIS_REPLY_BYTES_MAX {
        return Err(wit::Error::Other(format!("the answer exceeds {REDIS_REPLY_BYTES_MAX} bytes")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::BulkString(value.into())
    }

    #[test]
    fn nested_arrays_are_one_list() {
        let nested = Value::Array(vec![
            Value::Int(1),
            Value::Array(vec![text("a"), Value::Array(vec![]), Value::Nil]),
            Value::Okay,
        ]);
        let Reply(flat) = Reply::from_owned_redis_value(nested).unwrap();
        assert!(
            matches!(
                flat.as_slice(),
                [wit::RedisResult::Int64(1), wit::RedisResult::Binary(a), wit::RedisResult::Nil, wit::RedisResult::Status(ok)]
                    if a == b"a" && ok == "OK"
            ),
            "{flat:?}"
        );
    }

    #[test]
    fn maps_are_refused() {
        assert!(Reply::from_owned_redis_value(Value::Map(vec![])).is_err());
    }

    #[test]
    fn too_much_is_refused() {
        assert!(check_bytes(REDIS_REPLY_BYTES_MAX).is_ok());
        assert!(check_bytes(REDIS_REPLY_BYTES_MAX + 1).is_err());
        check_size(&[wit::RedisResult::Status("x".into())]).unwrap();
    }
}
