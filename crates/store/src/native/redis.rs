//! The Redis port over the crate redis.

use crate::redis::{Argument, Redis, RedisError, Value};
use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Client, Cmd, Value as Native};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// How long an answer is waited for: longer than any script of ours runs, shorter than a request may.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A Redis server, connected to by the first command and again by the one after a failure.
pub struct NativeRedis {
    client: Client,
    link: Mutex<Link>,
    lost: AtomicU64,
}

#[derive(Default)]
struct Link {
    open: Option<MultiplexedConnection>,
    /// How many connections have been given up: whose failure comes late must not end a newer one.
    generation: u64,
}

impl NativeRedis {
    pub fn new(url: &str) -> Result<Self, RedisError> {
        // The library's words may quote the address, and so a password.
        let client = Client::open(url)
            .map_err(|_| RedisError::Failed("this is no address of a Redis server".to_owned()))?;
        Ok(Self { client, link: Mutex::default(), lost: AtomicU64::new(0) })
    }

    async fn connection(&self) -> Result<(MultiplexedConnection, u64), RedisError> {
        let mut link = self.link.lock().await;
        let connection = match &link.open {
            Some(connection) => connection.clone(),
            None => link.open.insert(self.connect().await?).clone(),
        };
        Ok((connection, link.generation))
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(CONNECT_TIMEOUT)
            .set_response_timeout(RESPONSE_TIMEOUT);
        Ok(self.client.get_multiplexed_async_connection_with_config(&config).await?)
    }

    async fn give_up(&self, generation: u64) {
        let mut link = self.link.lock().await;
        if link.generation == generation {
            link.open = None;
            link.generation += 1;
            self.lost.store(link.generation, Ordering::SeqCst);
        }
    }
}

impl Redis for NativeRedis {
    async fn command(&self, name: &str, arguments: Vec<Argument>) -> Result<Vec<Value>, RedisError> {
        let (mut connection, generation) = self.connection().await?;
        let reply = command(name, &arguments).query_async(&mut connection).await;
        let answer = reply.map_err(RedisError::from).and_then(|reply| {
            let mut flat = Vec::new();
            flatten(reply, &mut flat)?;
            Ok(flat)
        });
        if answer.as_ref().is_err_and(RedisError::ends_connection) {
            self.give_up(generation).await;
        }
        answer
    }

    fn connections_lost(&self) -> u64 {
        self.lost.load(Ordering::SeqCst)
    }
}

fn command(name: &str, arguments: &[Argument]) -> Cmd {
    let mut command = ::redis::cmd(name);
    for argument in arguments {
        match argument {
            Argument::Integer(number) => command.arg(*number),
            Argument::Bytes(bytes) => command.arg(bytes.as_slice()),
        };
    }
    command
}

/// Arrays are flattened, as the platform does it; an error among their values is the call's.
fn flatten(reply: Native, flat: &mut Vec<Value>) -> Result<(), RedisError> {
    flat.push(match reply {
        Native::Array(values) | Native::Set(values) => {
            return values.into_iter().try_for_each(|value| flatten(value, flat));
        }
        Native::Nil => Value::Nil,
        Native::Int(number) => Value::Integer(number),
        Native::Boolean(yes) => Value::Integer(yes.into()),
        Native::BulkString(bytes) => Value::Bytes(bytes),
        Native::SimpleString(text) => Value::Bytes(text.into_bytes()),
        Native::Okay => Value::Bytes(b"OK".to_vec()),
        Native::Double(number) => Value::Bytes(number.to_string().into_bytes()),
        Native::ServerError(error) => return Err(::redis::RedisError::from(error).into()),
        _ => return Err(RedisError::Failed("a reply has a type that is not supported".to_owned())),
    });
    Ok(())
}

impl From<::redis::RedisError> for RedisError {
    fn from(error: ::redis::RedisError) -> Self {
        Self::from_message(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_arrays_are_one_list() {
        let inner = Native::Array(vec![Native::BulkString(b"a".to_vec()), Native::Nil]);
        let nested = Native::Array(vec![Native::Int(1), inner, Native::Array(vec![]), Native::Okay]);
        let mut flat = Vec::new();
        flatten(nested, &mut flat).unwrap();
        let expected =
            [Value::Integer(1), Value::Bytes(b"a".to_vec()), Value::Nil, Value::Bytes(b"OK".to_vec())];
        assert_eq!(flat, expected);
    }

    #[test]
    fn an_address_that_is_none_is_not_quoted() {
        let error = NativeRedis::new("rediss//:secret@host").err().unwrap();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
