//! Parts of a segment: the messages between two ids, from either end.

use super::random::records;
use im_domain::MsgId;
use im_segment::limits::BLOCK_MESSAGES_MAX;
use im_segment::{Record, Segment, encode};
use proptest::prelude::*;

fn id(number: u64) -> MsgId {
    MsgId::new(number).unwrap()
}

/// Messages with the ids 10, 20, 30 …
fn plain(count: u64) -> Vec<Record> {
    (1..=count).map(|n| Record { msg_id: id(n * 10), seq: n, ..Record::default() }).collect()
}

fn ids(records: impl Iterator<Item = Result<Record, im_segment::ReadError>>) -> Vec<u64> {
    records.map(|record| record.unwrap().msg_id.number()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_range_is_what_lies_in_it(records in records(1..30), above: prop::sample::Index, below: prop::sample::Index) {
        let bounds = [above.index(records.len()), below.index(records.len())].map(|at| records[at].msg_id);
        let blob = encode(MsgId::NONE, &records).unwrap();
        let segment = Segment::open(&blob).unwrap();
        let [above, below] = bounds;
        let lies_in = |record: &&Record| record.msg_id > above && record.msg_id < below;
        let expected: Vec<Record> = records.iter().filter(lies_in).cloned().collect();
        let found: Vec<Record> = segment.range(above, below).map(Result::unwrap).collect();
        prop_assert_eq!(found, expected);
    }
}

/// All pages until one is empty; each is asked for with the last id of the one before.
fn walk(page: impl Fn(Option<MsgId>) -> Vec<u64>) -> Vec<u64> {
    let mut walked: Vec<u64> = Vec::new();
    loop {
        let next = page(walked.last().map(|last| id(*last)));
        if next.is_empty() {
            return walked;
        }
        walked.extend(next);
    }
}

#[test]
fn pages_cross_blocks_in_both_directions() {
    let count = 2 * BLOCK_MESSAGES_MAX as u64 + 3;
    let records = plain(count);
    let blob = encode(MsgId::NONE, &records).unwrap();
    let segment = Segment::open(&blob).unwrap();
    let all: Vec<u64> = (1..=count).map(|n| n * 10).collect();
    let mut down = walk(|last| ids(segment.range(last.unwrap_or_default(), MsgId::MAX).take(100)));
    let up = walk(|last| ids(segment.range(MsgId::NONE, last.unwrap_or(MsgId::MAX)).rev().take(100)));
    assert_eq!(down, all);
    down.reverse();
    assert_eq!(up, down);
}

#[test]
fn bounds_are_not_in_the_range() {
    let blob = encode(MsgId::NONE, &plain(5)).unwrap();
    let segment = Segment::open(&blob).unwrap();
    assert_eq!(ids(segment.range(id(20), id(40))), [30]);
    assert_eq!(ids(segment.range(id(29), id(31))), [30]);
    assert_eq!(ids(segment.range(id(30), id(40))), [0_u64; 0]);
    assert_eq!(ids(segment.range(id(50), MsgId::MAX)), [0_u64; 0]);
}
