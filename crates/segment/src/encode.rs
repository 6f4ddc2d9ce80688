//! Messages into a segment.

use crate::block::pack;
use crate::error::EncodeError;
use crate::index::{self, Entry, checksum};
use crate::limits::{
    BLOCK_BYTES_MAX, BLOCK_MESSAGES_MAX, NAME_BYTES_MAX, RECORD_BYTES_MAX, SEGMENT_BYTES_MAX,
    SEGMENT_MESSAGES_MAX,
};
use crate::record::Record;
use im_domain::MsgId;

/// A segment of these messages of the conversation `cid`. Their ids rise; there is at least one, and no more
/// than [`fitting`] says.
///
/// # Errors
/// [`EncodeError`]; the messages are the reason.
pub fn encode(cid: MsgId, records: &[Record]) -> Result<Vec<u8>, EncodeError> {
    check(records)?;
    let blocks: Vec<_> = blocks(records).map(|records| (records, pack(records))).collect();
    let entries: Vec<Entry> = blocks.iter().filter_map(|(records, block)| entry(records, block)).collect();
    let mut segment = index::write(cid, &entries);
    blocks.iter().for_each(|(_, block)| segment.extend_from_slice(block));
    Ok(segment)
}

/// How many messages from the start of `records` fit into one segment.
pub fn fitting(records: &[Record]) -> usize {
    leading(records, SEGMENT_MESSAGES_MAX, SEGMENT_BYTES_MAX)
}

fn check(records: &[Record]) -> Result<(), EncodeError> {
    if records.is_empty() {
        return Err(EncodeError::Empty);
    }
    let next_rises = |pair: &[Record]| matches!(pair, [a, b] if a.msg_id < b.msg_id);
    if let Some(at) = records.windows(2).position(|pair| !next_rises(pair)) {
        return Err(EncodeError::Unsorted { at: at + 1 });
    }
    records.iter().try_for_each(check_one)?;
    match fitting(records) == records.len() {
        true => Ok(()),
        false => Err(EncodeError::TooLarge { what: "segment" }),
    }
}

fn check_one(record: &Record) -> Result<(), EncodeError> {
    let names = [&record.sender, &record.client_msg_id];
    if names.iter().any(|name| name.len() > NAME_BYTES_MAX) {
        return Err(EncodeError::TooLarge { what: "sender or clientMsgId" });
    }
    match record.bytes() > RECORD_BYTES_MAX {
        true => Err(EncodeError::TooLarge { what: "message" }),
        false => Ok(()),
    }
}

/// The messages block by block, each as large as may be.
fn blocks(mut records: &[Record]) -> impl Iterator<Item = &[Record]> {
    std::iter::from_fn(move || {
        // A message always fits into a block.
        let count = leading(records, BLOCK_MESSAGES_MAX, BLOCK_BYTES_MAX).max(1);
        let (block, rest) = records.split_at_checked(count)?;
        records = rest;
        Some(block)
    })
}

/// How many from the start have at most so many bytes.
fn leading(records: &[Record], messages_max: usize, bytes_max: usize) -> usize {
    let mut bytes = 0;
    let fits = |record: &&Record| {
        bytes += record.bytes();
        bytes <= bytes_max
    };
    records.iter().take(messages_max).take_while(fits).count()
}

fn entry(records: &[Record], block: &[u8]) -> Option<Entry> {
    Some(Entry {
        first_id: records.first()?.msg_id,
        last_id: records.last()?.msg_id,
        messages: records.len() as u16,
        bytes: block.len() as u32,
        checksum: checksum(block),
    })
}
