//! The form in which old messages are kept: a segment holds messages of one conversation, whose ids rise, in
//! one run of bytes. Pure: where the bytes are kept, and what is known of them beside (first and last id,
//! count), is the caller's.
//!
//! # Layout of format version 1
//!
//! Integers are little endian.
//!
//! | offset | bytes | what |
//! | --- | --- | --- |
//! | 0 | 4 | `imsg` |
//! | 4 | 2 | format version: 1 |
//! | 6 | 2 | `n`, the number of blocks: 1 to 256 |
//! | 8 | 4 | length of the whole segment in bytes |
//! | 12 | 8 | the conversation's number, `cid` |
//! | 20 | 30 `n` | the index: for each block its first id (8), its last id (8), its messages (2), its length in bytes (4), and the checksum of these bytes (8) |
//! | 20 + 30 `n` | 8 | the checksum of all before it |
//! | 28 + 30 `n` | | the blocks, one after the other |
//!
//! Checksums are XXH64 with seed 0. Ids rise within a block and from block to block. What is in a block is told
//! in `block.rs`; its columns in `columns/mod.rs`.
//!
//! # Limits
//!
//! See [`limits`]: 10,000 messages and 16 MiB of them in a segment, 512 and 256 KiB in a block, 128 KiB in a
//! message. They are checked before anything is allocated: opening a segment takes memory for its index (at most
//! 256 entries), a block at most three streams of 256 KiB and its messages.
//!
//! # Errors
//!
//! [`EncodeError`] when messages do not become a segment, [`ReadError`] when bytes do not become messages.
//! Every byte is under a checksum, so what was damaged or cut off is told, and never read as something
//! else. Bytes that were made to deceive, with fitting checksums, get the same errors or are messages.

mod block;
mod client_id;
mod columns;
mod encode;
mod error;
mod fingerprint;
mod index;
pub mod limits;
mod record;
mod segment;
mod varint;

pub use encode::{encode, fitting};
pub use error::{EncodeError, ReadError};
pub use index::VERSION;
pub use record::Record;
pub use segment::{Block, Segment};
