//! Sending a file of chat: NDJSON, plain or gzip, one message a line.
//!
//! The file is read twice. The first time every line is checked and the conversations are counted
//! with their senders, so that nothing is sent of a file that has a fault. The second time its
//! messages are sent: those of one conversation in the order of their lines, several conversations
//! at once. What is held in memory grows with the number of conversations and their members, never
//! with the number of messages: of those at most [`WINDOW_BYTES_MAX`](super::limits) wait at any
//! time, all conversations together.

mod census;
mod deliver;
mod line;
mod progress;
mod run;
mod source;
mod tally;
mod window;

pub use run::{census, send};
pub use source::Source;
