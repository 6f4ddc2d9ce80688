//! The port to Redis: one command, a flat reply.

use im_domain::Error;
use im_domain::limits::RETRY_AFTER_MS;

/// An argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    Integer(i64),
    Bytes(Vec<u8>),
}

impl From<&str> for Argument {
    fn from(value: &str) -> Self {
        Self::Bytes(value.as_bytes().to_vec())
    }
}

impl From<String> for Argument {
    fn from(value: String) -> Self {
        Self::Bytes(value.into_bytes())
    }
}

impl From<Vec<u8>> for Argument {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<u64> for Argument {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Argument {
    fn from(value: bool) -> Self {
        Self::Integer(value.into())
    }
}

/// Arguments of a command, each converted to an [`Argument`].
#[macro_export]
macro_rules! arguments {
    ($($value:expr),* $(,)?) => { vec![$($crate::redis::Argument::from($value)),*] };
}

/// A value of a reply. Arrays within a reply are flattened by the platform, so scripts give flat
/// lists that they count themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Nil,
    Integer(i64),
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedisError {
    /// The server cannot be reached, or did not answer in time.
    #[error("the hot store cannot be reached: {0}")]
    Unreachable(String),
    /// The server is there and refuses to write for now: memory, loading, replica.
    #[error("the hot store refuses for now: {0}")]
    Busy(String),
    #[error("NOSCRIPT")]
    NoScript,
    #[error("the hot store failed: {0}")]
    Failed(String),
}

impl RedisError {
    /// Whether another connection may do better: this one is broken, or leads to a server that has been
    /// demoted.
    pub fn ends_connection(&self) -> bool {
        const DEMOTED: [&str; 4] = ["READONLY", "ReadOnly", "MASTERDOWN", "MasterDown"];
        match self {
            Self::Unreachable(_) => true,
            Self::Busy(text) => DEMOTED.iter().any(|code| text.contains(code)),
            _ => false,
        }
    }

    /// The text of an error tells its kind: that is all the platform passes on. An error of the
    /// server begins with its code and a colon, or with [`SIGNALLED`] and the client library's name of
    /// the code; any other is one of the connection.
    pub fn from_message(message: String) -> Self {
        match code(&message) {
            Some("NOSCRIPT" | "NoScriptError") => Self::NoScript,
            Some(code) if BUSY.contains(&code) => Self::Busy(message),
            Some(_) => Self::Failed(message),
            None => Self::Unreachable(message),
        }
    }
}

/// How the client library begins the text of an error whose code it knows.
const SIGNALLED: &str = "An error was signalled by the server";

/// Codes of a server that refuses to write, or to answer at all, for now.
const BUSY: [&str; 14] = [
    "BUSY",
    "BusyLoadingError",
    "CLUSTERDOWN",
    "ClusterDown",
    "LOADING",
    "MASTERDOWN",
    "MasterDown",
    "MISCONF",
    "NOREPLICAS",
    "OOM",
    "READONLY",
    "ReadOnly",
    "TRYAGAIN",
    "TryAgain",
];

/// The server's code in the text of an error, if it is one of the server's.
fn code(message: &str) -> Option<&str> {
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    if let Some(rest) = message.strip_prefix(SIGNALLED) {
        return rest.trim_start_matches([' ', '-']).split(is_end).next();
    }
    let (word, _) = message.split_once(": ")?;
    (!word.is_empty() && !word.contains(|c| is_end(c) || c.is_ascii_lowercase())).then_some(word)
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        match error {
            RedisError::Unreachable(_) | RedisError::Busy(_) => {
                Self::HotUnavailable { retry_after_ms: RETRY_AFTER_MS }
            }
            RedisError::NoScript | RedisError::Failed(_) => Self::internal(error.to_string()),
        }
    }
}

/// A connection to a Redis server.
///
/// Several commands may be under way at once: the connection is multiplexed, and each waits for
/// nothing but its own reply. Commands that block the server's side of a connection are not used.
#[allow(async_fn_in_trait)] // Futures of a component are not `Send`.
pub trait Redis {
    /// Runs a command on the connection, which is opened first where there is none.
    async fn command(&self, name: &str, arguments: Vec<Argument>) -> Result<Vec<Value>, RedisError>;

    /// How many connections have been lost so far. What was learned of the server holds as long as this
    /// number does: the next connection may lead to a server that was restarted.
    fn connections_lost(&self) -> u64;
}

/// A reply, taken value by value from the front.
pub struct Reply(std::vec::IntoIter<Value>);

impl Reply {
    pub fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// How many values are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    pub fn bytes(&mut self) -> Result<Vec<u8>, RedisError> {
        match self.0.next() {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            Some(Value::Integer(number)) => Ok(number.to_string().into_bytes()),
            other => Err(RedisError::Failed(format!("expected bytes in a reply, found {other:?}"))),
        }
    }

    pub fn text(&mut self) -> Result<String, RedisError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes).map_err(|_| RedisError::Failed("expected UTF-8 in a reply".to_owned()))
    }

    /// A number, as Redis gives it or as text.
    pub fn number(&mut self) -> Result<u64, RedisError> {
        let text = self.text()?;
        text.parse().map_err(|_| RedisError::Failed(format!("expected a number in a reply, found {text}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts as the client library makes them from what a server says.
    #[test]
    fn the_text_of_an_error_tells_its_kind() {
        let kind = |text: &str| match RedisError::from_message(text.to_owned()) {
            RedisError::Unreachable(_) => "unreachable",
            RedisError::Busy(_) => "busy",
            RedisError::NoScript => "no script",
            RedisError::Failed(_) => "failed",
        };
        let signalled = |rest: &str| format!("An error was signalled by the server{rest}");
        let known = [
            ("no script", signalled(" - NoScriptError: No matching script. Please use EVAL.")),
            ("no script", signalled("- NoScriptError")),
            ("busy", signalled(" - ReadOnly: You can't write against a read only replica.")),
            ("busy", signalled(" - BusyLoadingError: Redis is loading the dataset in memory")),
            ("busy", signalled(" - MasterDown: Link with MASTER is down")),
            ("busy", "OOM: command not allowed when used memory > 'maxmemory'.".into()),
            ("busy", "MISCONF: Redis is configured to save RDB snapshots".into()),
            ("busy", "BUSY: Redis is busy running a script.".into()),
            ("busy", "NOREPLICAS: Not enough good replicas to write.".into()),
            ("failed", signalled(" - ResponseError: unknown command 'NOSCRIPT', with OOM READONLY")),
            ("failed", signalled("- ResponseError")),
            ("failed", signalled(" - ExecAbortError: Transaction discarded")),
            ("failed", "WRONGTYPE: Operation against a key holding the wrong kind of value".into()),
            ("failed", "NOAUTH: Authentication required.".into()),
            ("failed", "ERR: LOADING".into()),
            ("unreachable", "Connection refused (os error 111)".into()),
            ("unreachable", "broken pipe".into()),
            ("unreachable", "timed out".into()),
            ("unreachable", "Multiplexed connection driver unexpectedly terminated- IoError".into()),
            ("unreachable", "I/O error: TLS".into()),
            ("unreachable", "failed to lookup address information: OOM: no".into()),
            ("unreachable", String::new()),
        ];
        for (expected, text) in known {
            assert_eq!(kind(&text), expected, "{text}");
        }
    }
}
