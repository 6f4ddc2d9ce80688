//! The head of a segment: what it is, and where its blocks are.

use crate::error::{Read, ReadError, damaged};
use crate::limits::{BLOCK_MESSAGES_MAX, BLOCKS_MAX, SEGMENT_MESSAGES_MAX};
use crate::varint::Cursor;
use im_domain::MsgId;
use xxhash_rust::xxh64::xxh64;

const MAGIC: [u8; 4] = *b"imsg";
/// The format written here. A change of any byte's meaning is a new one, and all are read for ever.
pub const VERSION: u16 = 1;
/// Before the index: magic, version, number of blocks, length, conversation.
const FIXED_BYTES: usize = 20;
const ENTRY_BYTES: usize = 30;
const CHECKSUM_BYTES: usize = 8;

/// One block, as the index has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub first_id: MsgId,
    pub last_id: MsgId,
    pub messages: u16,
    pub bytes: u32,
    pub checksum: u64,
}

pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    xxh64(bytes, 0)
}

/// Everything before the blocks.
pub(crate) fn write(cid: MsgId, entries: &[Entry]) -> Vec<u8> {
    let blocks: u32 = entries.iter().map(|entry| entry.bytes).sum();
    let head = FIXED_BYTES + entries.len() * ENTRY_BYTES + CHECKSUM_BYTES;
    let mut out = Vec::with_capacity(head + blocks as usize);
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend((entries.len() as u16).to_le_bytes());
    out.extend((head as u32 + blocks).to_le_bytes());
    out.extend(cid.number().to_le_bytes());
    for entry in entries {
        out.extend(entry.first_id.number().to_le_bytes());
        out.extend(entry.last_id.number().to_le_bytes());
        out.extend(entry.messages.to_le_bytes());
        out.extend(entry.bytes.to_le_bytes());
        out.extend(entry.checksum.to_le_bytes());
    }
    let sum = checksum(&out);
    out.extend(sum.to_le_bytes());
    out
}

/// The conversation, the index, and the blocks' bytes in one run. Everything but what is within the blocks
/// has been checked.
pub(crate) fn read(blob: &[u8]) -> Read<(MsgId, Vec<Entry>, &[u8])> {
    let mut cursor = Cursor::new(blob, "head");
    if cursor.array()? != MAGIC {
        return Err(damaged("magic"));
    }
    let version = u16::from_le_bytes(cursor.array()?);
    if version != VERSION {
        return Err(ReadError::Version { found: version });
    }
    let count = usize::from(u16::from_le_bytes(cursor.array()?));
    if count > BLOCKS_MAX {
        return Err(ReadError::TooLarge { what: "blocks of a segment" });
    }
    let length = u32::from_le_bytes(cursor.array()?);
    if usize::try_from(length) != Ok(blob.len()) {
        return Err(damaged("length"));
    }
    let cid = id(&mut cursor)?;
    let entries = (0..count).map(|_| entry(&mut cursor)).collect::<Read<Vec<_>>>()?;
    let summed = blob.get(..FIXED_BYTES + count * ENTRY_BYTES).ok_or(damaged("head"))?;
    if u64::from_le_bytes(cursor.array()?) != checksum(summed) {
        return Err(damaged("checksum of the head"));
    }
    check(&entries, cursor.rest().len())?;
    Ok((cid, entries, cursor.rest()))
}

fn entry(cursor: &mut Cursor<'_>) -> Read<Entry> {
    Ok(Entry {
        first_id: id(cursor)?,
        last_id: id(cursor)?,
        messages: u16::from_le_bytes(cursor.array()?),
        bytes: u32::from_le_bytes(cursor.array()?),
        checksum: u64::from_le_bytes(cursor.array()?),
    })
}

fn id(cursor: &mut Cursor<'_>) -> Read<MsgId> {
    MsgId::new(u64::from_le_bytes(cursor.array()?)).ok_or(damaged("head"))
}

/// Blocks follow each other, none is empty or too large, and together they are the rest of the segment.
fn check(entries: &[Entry], rest: usize) -> Read<()> {
    let messages: usize = entries.iter().map(|entry| usize::from(entry.messages)).sum();
    if messages > SEGMENT_MESSAGES_MAX {
        return Err(ReadError::TooLarge { what: "messages of a segment" });
    }
    if entries.iter().any(|entry| usize::from(entry.messages) > BLOCK_MESSAGES_MAX) {
        return Err(ReadError::TooLarge { what: "messages of a block" });
    }
    let rises = entries.is_sorted_by(|a, b| a.last_id < b.first_id);
    let is_range = |entry: &Entry| entry.messages > 0 && entry.first_id <= entry.last_id;
    let bytes: u64 = entries.iter().map(|entry| u64::from(entry.bytes)).sum();
    let is_whole = !entries.is_empty() && entries.iter().all(is_range) && rises && bytes == rest as u64;
    if is_whole { Ok(()) } else { Err(damaged("index")) }
}
