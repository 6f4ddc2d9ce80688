//! Prints what the chat samples take as segments, and how long it takes to make and to read them:
//! `cargo run --release -p im-segment --example measure`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

#[path = "../tests/segment/sample.rs"]
mod sample;

use im_domain::MsgId;
use im_segment::{Record, Segment, encode, fitting};
use sample::{ClientIds, FILES, Noise, conversations};
use std::time::{Duration, Instant};

/// Messages on a page.
const PAGE: usize = 100;
const PAGES: usize = 1_000;

struct Packed {
    messages: usize,
    contents: usize,
    blobs: Vec<Vec<u8>>,
    took: Duration,
}

fn pack(conversations: &[(MsgId, Vec<Record>)]) -> Packed {
    let mut packed = Packed { messages: 0, contents: 0, blobs: Vec::new(), took: Duration::ZERO };
    for (cid, records) in conversations {
        packed.messages += records.len();
        packed.contents += records.iter().map(|record| record.content.len()).sum::<usize>();
        let mut rest = &records[..];
        while !rest.is_empty() {
            let (records, after) = rest.split_at(fitting(rest));
            let began = Instant::now();
            packed.blobs.push(encode(*cid, records).unwrap());
            packed.took += began.elapsed();
            rest = after;
        }
    }
    packed
}

fn read_all(packed: &Packed) -> Duration {
    let began = Instant::now();
    let read = packed.blobs.iter().map(|blob| Segment::open(blob).unwrap().read().unwrap().len());
    assert_eq!(read.sum::<usize>(), packed.messages);
    began.elapsed()
}

/// One page below a random id of the largest segment.
fn pages(packed: &Packed) -> Duration {
    let blob = packed.blobs.iter().max_by_key(|blob| Segment::open(blob).unwrap().messages()).unwrap();
    let records = Segment::open(blob).unwrap().read().unwrap();
    let mut noise = Noise(5);
    let began = Instant::now();
    for _ in 0..PAGES {
        let below = records[PAGE + noise.below(records.len() - PAGE)].msg_id;
        let segment = Segment::open(blob).unwrap();
        assert_eq!(segment.range(MsgId::NONE, below).rev().take(PAGE).filter(Result::is_ok).count(), PAGE);
    }
    began.elapsed()
}

fn micros(took: Duration, times: usize) -> f64 {
    took.as_secs_f64() * 1e6 / times as f64
}

fn main() {
    for file in FILES {
        for client_ids in [ClientIds::Counted, ClientIds::Uuid4, ClientIds::Uuid7] {
            let packed = pack(&conversations(file, client_ids));
            let bytes: usize = packed.blobs.iter().map(Vec::len).sum();
            println!(
                "{file}, client ids {client_ids:?}: {} messages of {:.1} bytes of content in {} segments: \
                {:.1} bytes a message; us: encode {:.1}, read {:.2} a message; page of {PAGE} {:.0}",
                packed.messages,
                packed.contents as f64 / packed.messages as f64,
                packed.blobs.len(),
                bytes as f64 / packed.messages as f64,
                micros(packed.took, packed.messages),
                micros(read_all(&packed), packed.messages),
                micros(pages(&packed), PAGES),
            );
        }
    }
}
