//! Every limit and default of the client commands, with its unit and its reason, in one place.

use std::time::Duration;

use crate::limits::REQUEST_DEADLINE;

// ---- Calls ----

/// The server that is called unless another is named: where `im up` listens by default.
pub const URL_DEFAULT: &str = "http://127.0.0.1:3000";

/// How long connecting may take: a server that is there answers within one lost packet or two.
pub const CONNECT_MAX: Duration = Duration::from_secs(5);

/// How long one attempt may take, from connecting to the end of the answer. Longer than the
/// server's own deadline, so that its answer says what happened, not our impatience.
pub const ATTEMPT_MAX: Duration = Duration::from_secs(REQUEST_DEADLINE.as_secs() + 10);

/// Largest answer read: a page's content (4 MiB) with every byte escaped, and some more.
pub const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long a connection without work is kept. Shorter than the server keeps it, so that a call
/// hardly ever meets a connection that is being closed.
pub const CONNECTION_IDLE_MAX: Duration = Duration::from_secs(20);

/// Life of a token made for one attempt: longer than the attempt, and than clocks differ.
pub const TOKEN_LIFE: Duration = Duration::from_secs(300);

/// Longest text of an answer that is no problem document, in characters, in an error line.
pub const ANSWER_QUOTE_CHARS_MAX: usize = 200;

// ---- Trying again ----

/// The wait before the second attempt of a call; it doubles from attempt to attempt.
pub const RETRY_WAIT_MIN: Duration = Duration::from_millis(100);

/// The longest wait of our own choice between two attempts.
pub const RETRY_WAIT_MAX: Duration = Duration::from_secs(5);

/// The longest wait that a server's `Retry-After` may ask for; beyond it the call has failed.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// Attempts of a call for which a person waits: under a second of waiting in all.
pub const ATTEMPTS_PERSON: u32 = 4;

/// Attempts of a call of a replay: half a minute in all, enough for a server to be started again.
pub const ATTEMPTS_REPLAY: u32 = 12;

// ---- Replay ----

/// Longest line of a file, in bytes: the longest text (65,536 bytes) with every byte escaped as
/// `\u00XX`, the ids, and some space.
pub const LINE_BYTES_MAX: usize = 512 * 1024;

/// JSON of one batch, in bytes. Small enough to leave the server's limit (8 MiB) far away and to
/// be quick to send again; ordinary batches of 100 are a tenth of it.
pub const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// JSON of the messages that wait to be sent, in bytes, all conversations together. Large enough
/// that batches are full though the lines of many conversations are mixed.
pub const WINDOW_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Lines between the thread that reads and the task that sends: enough to keep both busy.
pub const LINES_AHEAD_MAX: usize = 256;

/// Conversations that are sent at once unless told otherwise, each on a connection of its own.
pub const CONCURRENCY_DEFAULT: u16 = 8;

/// Most conversations at once that may be asked for: a client is no load test.
pub const CONCURRENCY_MAX: u16 = 256;

/// Time between two lines of progress where stderr is no terminal.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Refused lines that are told one by one; more are counted.
pub const REFUSALS_TOLD_MAX: u64 = 20;
