//! Bounds of what both engines do with cold segments.

use im_segment::limits::{SEGMENT_BYTES_MAX, SEGMENT_MESSAGES_MAX};

/// Conversations that one statement finds which may have something to move to cold segments.
pub(crate) const CONVERSATIONS_MAX: u64 = 100;
/// Rows that move to cold segments at once: as many as a segment holds.
pub(crate) const ROWS_MAX: u64 = SEGMENT_MESSAGES_MAX as u64;
/// Bytes of content that move at once, after which a batch is cut: half of what a segment holds, so that there is
/// room for what stands beside content.
pub(crate) const BYTES_MAX: u64 = SEGMENT_BYTES_MAX as u64 / 2;
/// Messages of a segment up to which further ones come into the same one: a conversation in which little is said
/// gets no crowd of small ones.
pub(crate) const GROWS_MAX: u64 = 1_000;
/// How much a client's clock may be ahead, in milliseconds, for a message to be found by the time it tells.
pub(crate) const CLOCK_SKEW_MS: u64 = 600_000;
/// Segments in which a message is looked for, from the time on that its client tells: some days of a busy
/// conversation.
pub(crate) const EARLIER_SEGMENTS_MAX: u64 = 2;
