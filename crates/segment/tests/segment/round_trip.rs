//! What goes in comes out, whatever it is.

use super::random::records;
use im_domain::MsgId;
use im_segment::{EncodeError, Record, Segment, encode};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn messages_of_every_shape_come_back(cid in 0..=MsgId::MAX.number(), records in records(1..40)) {
        let cid = MsgId::new(cid).unwrap();
        let blob = encode(cid, &records).unwrap();
        let segment = Segment::open(&blob).unwrap();
        prop_assert_eq!(segment.cid(), cid);
        prop_assert_eq!(segment.first_id(), records[0].msg_id);
        prop_assert_eq!(segment.last_id(), records[records.len() - 1].msg_id);
        prop_assert_eq!(segment.messages(), records.len());
        prop_assert_eq!(segment.read().unwrap(), records);
    }

    #[test]
    fn the_same_messages_give_the_same_bytes(records in records(1..20)) {
        prop_assert_eq!(encode(MsgId::NONE, &records), encode(MsgId::NONE, &records));
    }

    #[test]
    fn ids_that_do_not_rise_are_refused(records in records(2..20), at: prop::sample::Index, is_equal: bool) {
        let at = at.index(records.len() - 1);
        let mut records = records;
        if is_equal {
            records[at + 1].msg_id = records[at].msg_id;
        } else {
            records.swap(at, at + 1);
        }
        let first = records.windows(2).position(|pair| pair[0].msg_id >= pair[1].msg_id).unwrap();
        prop_assert_eq!(encode(MsgId::NONE, &records), Err(EncodeError::Unsorted { at: first + 1 }));
    }
}

#[test]
fn nothing_is_refused() {
    assert_eq!(encode(MsgId::NONE, &[]), Err(EncodeError::Empty));
}

#[test]
fn the_smallest_message_comes_back() {
    let records = [Record::default()];
    let blob = encode(MsgId::MAX, &records).unwrap();
    assert_eq!(Segment::open(&blob).unwrap().read().unwrap(), records);
}
