//! Both samples, whole and byte for byte, whatever clients call their messages.

use super::sample::{ClientIds, FILES, conversations};
use im_domain::MsgId;
use im_segment::{Record, Segment, encode, fitting};

const MESSAGES: usize = 67_117;
/// The bytes of its segments.
fn comes_back(cid: MsgId, records: &[Record]) -> usize {
    let mut rest = records;
    let mut bytes = 0;
    while !rest.is_empty() {
        let (records, after) = rest.split_at(fitting(rest));
        let blob = encode(cid, records).unwrap();
        let segment = Segment::open(&blob).unwrap();
        assert_eq!((segment.cid(), segment.messages()), (cid, records.len()));
        assert!(segment.read().unwrap() == records, "{cid}");
        bytes += blob.len();
        rest = after;
    }
    bytes
}

/// `bytes_max`: the most that a message takes in segments, on the average, by sample. Who makes segments larger
/// has to say so here.
fn samples_come_back(client_ids: ClientIds, bytes_max: [usize; 2]) {
    let mut messages = 0;
    for (file, bytes_max) in FILES.into_iter().zip(bytes_max) {
        let conversations = conversations(file, client_ids);
        let count: usize = conversations.iter().map(|(_, records)| records.len()).sum();
        let bytes: usize = conversations.iter().map(|(cid, records)| comes_back(*cid, records)).sum();
        assert!(bytes < count * bytes_max, "{file}, {client_ids:?}: {bytes} bytes");
        messages += count;
    }
    assert_eq!(messages, MESSAGES);
}

#[test]
fn samples_come_back_whole() {
    samples_come_back(ClientIds::Counted, [35, 99]);
}

#[test]
fn samples_with_random_client_ids_come_back_whole() {
    samples_come_back(ClientIds::Uuid4, [48, 112]);
}

#[test]
fn samples_with_client_ids_that_rise_come_back_whole() {
    samples_come_back(ClientIds::Uuid7, [45, 109]);
}
