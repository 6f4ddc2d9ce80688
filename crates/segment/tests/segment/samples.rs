//! Both samples, whole and byte for byte, whatever clients call their messages.

use super::sample::{ClientIds, FILES, conversations};
use im_domain::MsgId;
use im_segment::{Record, Segment, encode, fitting};

const MESSAGES: usize = 67_117;
/// Most bytes of a message in a segment, by sample and client ids. They are facts of the format: who makes them
/// larger has to say so here.
const BYTES_MAX: [(ClientIds, [usize; 2]); 3] =
    [(ClientIds::Counted, [40, 105]), (ClientIds::Uuid4, [52, 120]), (ClientIds::Uuid7, [48, 116])];

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

fn whole(client_ids: ClientIds, bytes_max: [usize; 2]) -> usize {
    let mut messages = 0;
    for (file, bytes_max) in FILES.into_iter().zip(bytes_max) {
        let conversations = conversations(file, client_ids);
        let count: usize = conversations.iter().map(|(_, records)| records.len()).sum();
        let bytes: usize = conversations.iter().map(|(cid, records)| comes_back(*cid, records)).sum();
        assert!(bytes < count * bytes_max, "{file}, {client_ids:?}: {bytes} bytes");
        messages += count;
    }
    messages
}

#[test]
fn both_samples_come_back_whole() {
    for (client_ids, bytes_max) in BYTES_MAX {
        assert_eq!(whole(client_ids, bytes_max), MESSAGES);
    }
}
