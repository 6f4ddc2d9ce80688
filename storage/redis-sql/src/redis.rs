//! The port to Redis over `spin:redis`.

use crate::kept::Kept;
use crate::log;
use crate::time::within;
use im_store::redis::{Argument, Redis, RedisError, Value};
use im_store::tiered::config::ServerUrl;
use spin_sdk::redis::wit::redis as spin;
use std::rc::Rc;
use std::time::Duration;

/// How long connecting or a command may take. Commands and scripts take milliseconds; this is for a
/// server that is cut off, and leaves the request time to say so.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// One server; connected to by its first command, and anew after it could not be reached.
pub struct SpinRedis {
    url: ServerUrl,
    connection: Kept<spin::Connection>,
}

impl SpinRedis {
    pub fn new(url: ServerUrl) -> Self {
        Self { url, connection: Kept::none() }
    }

    async fn connection(&self) -> Result<Rc<spin::Connection>, RedisError> {
        if let Some(kept) = self.connection.get() {
            return Ok(kept);
        }
        let opened = match within(ANSWER_MAX, spin::Connection::open(self.url.as_str().to_owned())).await {
            Some(Ok(opened)) => Ok(self.connection.keep(opened)),
            Some(Err(why)) => Err(self.explain(why)),
            None => Err(silent()),
        };
        if let Err(why) = &opened {
            log::error(self.url.name(), why);
        }
        opened
    }

    fn explain(&self, error: spin::Error) -> RedisError {
        match error {
            spin::Error::InvalidAddress => RedisError::Unreachable(
                "its address is refused: allowed_outbound_hosts does not cover it, or it is of a kind \
                 that this host does not speak"
                    .to_owned(),
            ),
            spin::Error::TooManyConnections => {
                RedisError::Unreachable("the instance has too many connections".to_owned())
            }
            spin::Error::TypeError => RedisError::Failed("a reply of another type".to_owned()),
            spin::Error::Other(text) => RedisError::from_message(self.url.clean(&text)),
        }
    }
}

impl Redis for SpinRedis {
    async fn command(&self, name: &str, arguments: Vec<Argument>) -> Result<Vec<Value>, RedisError> {
        let connection = self.connection().await?;
        let arguments = arguments.into_iter().map(to_spin).collect();
        let error = match within(ANSWER_MAX, connection.execute(name.to_owned(), arguments)).await {
            Some(Ok(reply)) => return Ok(reply.into_iter().map(from_spin).collect()),
            Some(Err(error)) => self.explain(error),
            None => silent(),
        };
        if error.ends_connection() && self.connection.forget(&connection) {
            log::error(self.url.name(), &error);
        }
        Err(error)
    }

    fn connections_lost(&self) -> u64 {
        self.connection.forgotten()
    }
}

fn silent() -> RedisError {
    RedisError::Unreachable(format!("no answer within {} s", ANSWER_MAX.as_secs()))
}

fn to_spin(argument: Argument) -> spin::RedisParameter {
    match argument {
        Argument::Integer(number) => spin::RedisParameter::Int64(number),
        Argument::Bytes(bytes) => spin::RedisParameter::Binary(bytes),
    }
}

fn from_spin(value: spin::RedisResult) -> Value {
    match value {
        spin::RedisResult::Nil => Value::Nil,
        spin::RedisResult::Int64(number) => Value::Integer(number),
        spin::RedisResult::Binary(bytes) => Value::Bytes(bytes),
        spin::RedisResult::Status(text) => Value::Bytes(text.into_bytes()),
    }
}
