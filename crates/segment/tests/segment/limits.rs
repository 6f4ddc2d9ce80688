//! Limits of segments, blocks and messages.

use im_domain::MsgId;
use im_domain::limits::{CLIENT_MSG_ID_CHARS_MAX, CONTENT_BYTES_MAX, EXT_BYTES_MAX, NAME_CHARS_MAX};
use im_segment::limits::{
    BLOCK_BYTES_MAX, BLOCK_MESSAGES_MAX, BLOCKS_MAX, NAME_BYTES_MAX, RECORD_BYTES_MAX, RECORD_FIXED_BYTES,
    SEGMENT_BYTES_MAX, SEGMENT_MESSAGES_MAX,
};
use im_segment::{EncodeError, Record, Segment, encode, fitting};

const LARGEST_CONTENT: usize = RECORD_BYTES_MAX - RECORD_FIXED_BYTES;

/// Messages with the ids 1, 2, 3 … and contents of these lengths.
fn of_lengths(lengths: impl IntoIterator<Item = usize>) -> Vec<Record> {
    let one = |(n, length)| Record {
        msg_id: MsgId::new(n).unwrap(),
        content: vec![7; length],
        ..Record::default()
    };
    (1..).zip(lengths).map(one).collect()
}

fn blocks(records: &[Record]) -> Vec<usize> {
    let blob = encode(MsgId::NONE, records).unwrap();
    let segment = Segment::open(&blob).unwrap();
    assert_eq!(segment.read().unwrap(), records);
    segment.blocks().iter().map(im_segment::Block::messages).collect()
}

#[test]
fn every_message_of_the_domain_fits() {
    let largest = Record {
        sender: "x".repeat(NAME_CHARS_MAX),
        client_msg_id: "\u{1f600}".repeat(CLIENT_MSG_ID_CHARS_MAX),
        content: vec![b'x'; CONTENT_BYTES_MAX],
        ext: Some("x".repeat(EXT_BYTES_MAX)),
        ..Record::default()
    };
    assert_eq!(fitting(std::slice::from_ref(&largest)), 1);
    assert_eq!(blocks(&[largest]), [1]);
}

#[test]
fn a_block_ends_with_its_messages_or_its_bytes() {
    let full = BLOCK_MESSAGES_MAX;
    assert_eq!(blocks(&of_lengths(vec![0; full])), [full]);
    assert_eq!(blocks(&of_lengths(vec![0; full + 1])), [full, 1]);
    assert_eq!(blocks(&of_lengths([LARGEST_CONTENT; 5])), [2, 2, 1]);
    assert_eq!(blocks(&of_lengths([LARGEST_CONTENT, LARGEST_CONTENT, 0])), [2, 1]);
    assert_eq!(2 * RECORD_BYTES_MAX, BLOCK_BYTES_MAX);
}

#[test]
fn a_segment_ends_with_its_messages_or_its_bytes() {
    let many = of_lengths(vec![0; SEGMENT_MESSAGES_MAX + 1]);
    assert_eq!(fitting(&many), SEGMENT_MESSAGES_MAX);
    assert_eq!(encode(MsgId::NONE, &many), Err(EncodeError::TooLarge { what: "segment" }));
    assert_eq!(
        blocks(&many[..SEGMENT_MESSAGES_MAX]).len(),
        SEGMENT_MESSAGES_MAX.div_ceil(BLOCK_MESSAGES_MAX)
    );

    let large = of_lengths([LARGEST_CONTENT; SEGMENT_BYTES_MAX / RECORD_BYTES_MAX + 1]);
    assert_eq!(fitting(&large), large.len() - 1);
    assert_eq!(encode(MsgId::NONE, &large), Err(EncodeError::TooLarge { what: "segment" }));
    assert_eq!(blocks(&large[1..]).len(), large.len() / 2);
}

/// A small message before a block's worth: each block has little more than half of what it may.
#[test]
fn the_worst_mixture_has_blocks_enough() {
    let lengths = [RECORD_BYTES_MAX / 2, LARGEST_CONTENT, LARGEST_CONTENT - 1].into_iter().cycle();
    let mut records = of_lengths(lengths.take(1_000));
    records.truncate(fitting(&records));
    let count = blocks(&records).len();
    assert!((64..=BLOCKS_MAX).contains(&count), "{count} blocks");
}

#[test]
fn a_message_above_the_limits_is_refused() {
    let refused = |record: Record| encode(MsgId::NONE, &[record]).unwrap_err();
    let large = of_lengths([LARGEST_CONTENT + 1]).remove(0);
    assert_eq!(refused(large), EncodeError::TooLarge { what: "message" });
    let long = || "x".repeat(NAME_BYTES_MAX + 1);
    let name = EncodeError::TooLarge { what: "sender or clientMsgId" };
    assert_eq!(refused(Record { sender: long(), ..Record::default() }), name);
    assert_eq!(refused(Record { client_msg_id: long(), ..Record::default() }), name);
}
