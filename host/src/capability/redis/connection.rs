//! A connection: opening it, and running one command on it.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind, FromRedisValue, RedisError};

use super::reply::{self, Reply};
use super::wit;
use crate::capability::outbound::Slot;
use crate::limits::REDIS_CONNECT_MAX;

/// A connection that a guest holds. Commands share it: they are sent as they come, and answered in
/// that order. It closes with the last handle.
#[derive(Clone)]
pub struct Connection {
    link: MultiplexedConnection,
    _slot: Arc<Slot>,
}

impl Connection {
    /// Connects. As in Spin an answer is waited for without end: the deadline of the request is what
    /// ends it.
    pub async fn open(address: ConnectionInfo, slot: Slot) -> Result<Self, wit::Error> {
        let client = Client::open(address).map_err(|_| wit::Error::InvalidAddress)?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(REDIS_CONNECT_MAX)
            .set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let link =
            client.get_multiplexed_async_connection_with_config(&config).await.map_err(|e| other(&e))?;
        Ok(Self { link, _slot: Arc::new(slot) })
    }

    /// Runs a command whose answer has one type.
    pub async fn run<T: FromRedisValue>(mut self, command: Cmd) -> Result<T, RedisError> {
        command.query_async(&mut self.link).await
    }

    /// Runs any command, and flattens its answer.
    pub async fn execute(
        self,
        command: &str,
        arguments: Vec<wit::RedisParameter>,
    ) -> Result<Vec<wit::RedisResult>, wit::Error> {
        let mut command = redis::cmd(command);
        for argument in &arguments {
            match argument {
                wit::RedisParameter::Int64(number) => command.arg(*number),
                wit::RedisParameter::Binary(bytes) => command.arg(bytes.as_slice()),
            };
        }
        let Reply(values) = self.run(command).await.map_err(|e| other(&e))?;
        reply::check_size(&values)?;
        Ok(values)
    }
}

/// An error in the words that Spin's guests get: the crate's, which hold the server's.
pub fn other(error: &RedisError) -> wit::Error {
    wit::Error::Other(error.to_string())
}

/// As [`other`], for the one command where Spin tells a wrong type apart.
pub fn other_or_type(error: &RedisError) -> wit::Error {
    match error.kind() {
        ErrorKind::TypeError => wit::Error::TypeError,
        _ => other(error),
    }
}
