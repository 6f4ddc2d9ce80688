//! Messages into segments.

use super::{bit, is_shown};
use im_domain::{Error, MsgId, Result};
use im_segment::{Record, Segment, encode, fitting};

/// A segment that is to be stored.
pub(crate) struct Packed {
    pub first_id: MsgId,
    pub last_id: MsgId,
    /// Those that are shown.
    pub messages: u64,
    /// Of the last message.
    pub last_seq: u64,
    pub last_countable: u64,
    /// See [`super::mask`].
    pub kinds: i64,
    pub blob: Vec<u8>,
}

/// Packs messages of a conversation, oldest first, into as few segments as they fit into. Each was read again, and
/// is what was packed.
pub(crate) fn pack(cid: MsgId, mut records: &[Record]) -> Result<Vec<Packed>> {
    let mut packed = Vec::new();
    while !records.is_empty() {
        let fitting = fitting(records).max(1);
        // Two halves take more of what comes late than a full one and a rest.
        let count = if fitting < records.len() { fitting.min(records.len().div_ceil(2)) } else { fitting };
        let (part, rest) = records.split_at_checked(count).unwrap_or((records, &[]));
        packed.push(pack_one(cid, part)?);
        records = rest;
    }
    Ok(packed)
}

fn pack_one(cid: MsgId, records: &[Record]) -> Result<Packed> {
    let failed = |why: String| Error::internal(format!("conversation number {cid} cannot be packed: {why}"));
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return Err(failed("it has no messages".to_owned()));
    };
    let blob = encode(cid, records).map_err(|error| failed(error.to_string()))?;
    let read = Segment::open(&blob).and_then(|segment| segment.read());
    if read.map_err(|error| failed(error.to_string()))? != records {
        return Err(failed("what was packed is not what is read".to_owned()));
    }
    Ok(Packed {
        first_id: first.msg_id,
        last_id: last.msg_id,
        messages: records.iter().filter(|record| is_shown(record)).count() as u64,
        last_seq: last.seq,
        last_countable: last.countable,
        kinds: records.iter().fold(0, |kinds, record| kinds | bit(record.kind.into())),
        blob,
    })
}
