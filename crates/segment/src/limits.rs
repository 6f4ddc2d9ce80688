//! Limits of segments. Readers refuse what is above them, so a later version may raise but never lower them.

/// Most messages in one segment: a batch of the cold move.
pub const SEGMENT_MESSAGES_MAX: usize = 10_000;
/// Most bytes of messages in one segment, as [`crate::Record::bytes`] counts: bounds the memory of who
/// reads or writes a whole one.
pub const SEGMENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most messages in one block: what is unpacked for one page (ADR 0015).
pub const BLOCK_MESSAGES_MAX: usize = 512;
/// Most bytes of messages in one block, as [`crate::Record::bytes`] counts, and most of each of its streams,
/// unpacked.
pub const BLOCK_BYTES_MAX: usize = 256 * 1024;
/// Most blocks in one segment. A block that is closed for its bytes has more than half of
/// [`BLOCK_BYTES_MAX`], so there can be 128 of these and 19 that are closed for their messages.
pub const BLOCKS_MAX: usize = 256;
/// Largest message, as [`crate::Record::bytes`] counts: twice the largest content of the domain.
pub const RECORD_BYTES_MAX: usize = 128 * 1024;
/// What is counted for a message beside its texts, in bytes.
pub const RECORD_FIXED_BYTES: usize = 64;
/// Longest sender or `clientMsgId`, in bytes: a sender stands once in a block, so its length is bounded by
/// itself.
pub const NAME_BYTES_MAX: usize = 256;
