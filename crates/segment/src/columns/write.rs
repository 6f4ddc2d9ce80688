//! Messages into columns. What is written here is read in the same order by [`super::read`].

use super::{PLACE_BITS, PLACE_MASK, Streams, presence};
use crate::client_id::{self, pack};
use crate::fingerprint;
use crate::record::Record;
use crate::varint::{put, put_from};
use im_domain::MsgId;
use std::collections::HashMap;

pub(crate) fn write(records: &[Record]) -> Streams {
    let mut streams = Streams::default();
    let numbers = &mut streams.numbers;
    from_before(numbers, records.iter().map(|r| r.msg_id.number() >> PLACE_BITS));
    from_before(numbers, records.iter().map(|r| r.msg_id.number() & PLACE_MASK));
    from_before(numbers, records.iter().map(|r| r.seq));
    from_before(numbers, records.iter().map(|r| r.countable));
    senders(numbers, &mut streams.texts, records);
    records.iter().for_each(|r| put_from(numbers, 0, wide(r.kind)));
    records.iter().for_each(|r| put_from(numbers, 0, wide(r.status)));
    records.iter().for_each(|r| put(numbers, presence::of(r)));
    optional(numbers, records);
    own(numbers, records);
    fingerprints(&mut streams, records);
    client_ids(&mut streams, records);
    texts(&mut streams, records);
    streams
}

/// With its sign, as reading gets it back.
fn wide(number: i16) -> u64 {
    i64::from(number).cast_unsigned()
}

fn from_before(numbers: &mut Vec<u8>, column: impl Iterator<Item = u64>) {
    column.fold(0, |before, number| {
        put_from(numbers, before, number);
        number
    });
}

fn senders(numbers: &mut Vec<u8>, texts: &mut Vec<u8>, records: &[Record]) {
    let mut places = HashMap::new();
    let mut names = Vec::new();
    let mut column = Vec::new();
    for record in records {
        let place = *places.entry(record.sender.as_str()).or_insert(names.len());
        if place == names.len() {
            names.push(&record.sender);
        }
        put(&mut column, place as u64);
    }
    put(numbers, names.len() as u64);
    for name in names {
        put(numbers, name.len() as u64);
        texts.extend_from_slice(name.as_bytes());
    }
    numbers.append(&mut column);
}

fn optional(numbers: &mut Vec<u8>, records: &[Record]) {
    let ids: [fn(&Record) -> Option<MsgId>; 3] = [|r| r.reply_to, |r| r.control_msg_id, |r| r.copy_of];
    for field in ids {
        for record in records {
            field(record).into_iter().for_each(|id| put_from(numbers, record.msg_id.number(), id.number()));
        }
    }
    for record in records {
        record.edit_time.into_iter().for_each(|time| put_from(numbers, record.msg_id.time_ms(), time));
    }
    for record in records {
        record.control_action.into_iter().for_each(|action| put_from(numbers, 0, wide(action)));
    }
}

fn own(numbers: &mut Vec<u8>, records: &[Record]) {
    let mut next = HashMap::new();
    for record in records {
        let Some(own) = record.own else { continue };
        let expected = next.entry(record.sender.as_str()).or_insert(1);
        put_from(numbers, *expected, own);
        *expected = own.wrapping_add(1);
    }
}

fn fingerprints(streams: &mut Streams, records: &[Record]) {
    for record in records {
        let form = fingerprint::Form::of(record);
        put(&mut streams.numbers, form as u64);
        if form == fingerprint::Form::Kept {
            streams.binary.extend_from_slice(&record.fingerprint);
        }
    }
}

fn client_ids(streams: &mut Streams, records: &[Record]) {
    let mut packed = Vec::new();
    for record in records {
        if let Some((form, bits)) = pack(&record.client_msg_id) {
            put(&mut streams.numbers, form as u64);
            packed.push(bits.to_be_bytes());
        } else {
            put(&mut streams.numbers, client_id::Form::Text as u64);
            put(&mut streams.numbers, record.client_msg_id.len() as u64);
            streams.texts.extend_from_slice(record.client_msg_id.as_bytes());
        }
    }
    for byte in 0..client_id::PACKED_BYTES {
        streams.binary.extend(packed.iter().filter_map(|bytes| bytes.get(byte)));
    }
}

fn texts(streams: &mut Streams, records: &[Record]) {
    for ext in records.iter().filter_map(|r| r.ext.as_ref()) {
        put(&mut streams.numbers, ext.len() as u64);
        streams.texts.extend_from_slice(ext.as_bytes());
    }
    for record in records {
        put(&mut streams.numbers, record.content.len() as u64);
        streams.texts.extend_from_slice(&record.content);
    }
}
