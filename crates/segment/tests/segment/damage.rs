//! Bytes that are not those that were written. Each kind of damage is told, none is read as something else, and
//! what lies beside it is still read.

use super::sample::{ClientIds, FILES, Noise, conversations};
use im_domain::MsgId;
use im_segment::{ReadError, Record, Segment, encode};
use xxhash_rust::xxh64::xxh64;

const FLIPS: usize = 1_000;
const FIXED_BYTES: usize = 20;
const ENTRY_BYTES: usize = 30;

/// A part of the longest conversation of a sample, in several blocks.
fn messages() -> Vec<Record> {
    let conversations = conversations(FILES[0], ClientIds::Uuid4).into_iter();
    let mut longest = conversations.map(|(_, records)| records).max_by_key(Vec::len).unwrap();
    longest.truncate(1_100);
    longest
}

fn read(blob: &[u8]) -> Result<Vec<Record>, ReadError> {
    Segment::open(blob)?.read()
}

/// Where the blocks lie: start and length.
fn places(blob: &[u8]) -> Vec<(usize, usize)> {
    let count = usize::from(u16::from_le_bytes([blob[6], blob[7]]));
    let mut start = FIXED_BYTES + count * ENTRY_BYTES + 8;
    let mut place = |n: usize| {
        let at = FIXED_BYTES + n * ENTRY_BYTES + 18;
        let length = u32::from_le_bytes(blob[at..at + 4].try_into().unwrap()) as usize;
        start += length;
        (start - length, length)
    };
    (0..count).map(&mut place).collect()
}

/// Gives a changed segment checksums and a length that fit.
fn sealed(mut blob: Vec<u8>) -> Vec<u8> {
    let length = (blob.len() as u32).to_le_bytes();
    blob[8..12].copy_from_slice(&length);
    let places = places(&blob);
    for (n, (start, length)) in places.iter().enumerate() {
        let sum = xxh64(&blob[*start..start + length], 0).to_le_bytes();
        let at = FIXED_BYTES + n * ENTRY_BYTES + 22;
        blob[at..at + 8].copy_from_slice(&sum);
    }
    let end = FIXED_BYTES + places.len() * ENTRY_BYTES;
    let sum = xxh64(&blob[..end], 0).to_le_bytes();
    blob[end..end + 8].copy_from_slice(&sum);
    blob
}

#[test]
fn a_turned_bit_is_told_and_the_other_blocks_are_read() {
    let records = messages();
    let blob = encode(MsgId::NONE, &records).unwrap();
    let places = places(&blob);
    let mut noise = Noise(1);
    for n in 0..FLIPS {
        // Every second one in the head, which is small.
        let end = if n % 2 == 0 { places[0].0 } else { blob.len() };
        let (at, bit) = (noise.below(end), noise.below(8));
        let mut damaged = blob.clone();
        damaged[at] ^= 1 << bit;
        assert!(read(&damaged).is_err(), "byte {at}, bit {bit}");
        let hit = places.iter().position(|(start, length)| (*start..start + length).contains(&at));
        match (hit, Segment::open(&damaged)) {
            (None, Err(_)) => {}
            (Some(hit), Ok(segment)) => {
                assert!(segment.blocks()[hit].read().is_err(), "byte {at}, bit {bit}");
                if n % 20 == 1 {
                    only_one_is_lost(&segment, hit, &records);
                }
            }
            (hit, opened) => panic!("byte {at}, bit {bit}: {hit:?}, {opened:?}"),
        }
    }
}

fn only_one_is_lost(segment: &Segment<'_>, hit: usize, records: &[Record]) {
    let lost = segment.blocks()[hit];
    let is_lost = |record: &&Record| record.msg_id >= lost.first_id() && record.msg_id <= lost.last_id();
    let expected: Vec<_> = records.iter().filter(|record| !is_lost(record)).cloned().collect();
    let (found, errors): (Vec<_>, Vec<_>) = segment.range(MsgId::NONE, MsgId::MAX).partition(Result::is_ok);
    assert!(found.into_iter().map(Result::unwrap).eq(expected));
    assert_eq!(errors, [Err(ReadError::Damaged { what: "checksum of a block" })]);
}

/// Also shows that a page unpacks no block it does not need.
#[test]
fn a_page_beside_a_damaged_block_is_read() {
    let mut blob = encode(MsgId::NONE, &messages()).unwrap();
    let (start, _) = places(&blob)[1];
    blob[start] ^= 1;
    let segment = Segment::open(&blob).unwrap();
    let [_, damaged, last] = segment.blocks() else { panic!("three blocks") };
    let oldest = segment.range(MsgId::NONE, MsgId::MAX).take(100);
    let newest = segment.range(MsgId::NONE, MsgId::MAX).rev().take(last.messages());
    let below = segment.range(MsgId::NONE, damaged.first_id()).rev().take(100);
    assert!(oldest.chain(newest).chain(below).all(|record| record.is_ok()));
    assert!(segment.range(damaged.first_id(), MsgId::MAX).next().unwrap().is_err());
}

#[test]
fn every_cut_and_every_byte_too_many_is_told() {
    let blob = encode(MsgId::NONE, &messages()).unwrap();
    let mut noise = Noise(2);
    let random = (0..FLIPS).map(|_| noise.below(blob.len()));
    for length in (0..200).chain(random) {
        assert!(matches!(read(&blob[..length]), Err(ReadError::Damaged { .. })), "cut at {length}");
    }
    let longer = [blob, vec![0]].concat();
    assert_eq!(read(&longer), Err(ReadError::Damaged { what: "length" }));
}

#[test]
fn errors_have_names() {
    let blob = encode(MsgId::NONE, &messages()).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = blob.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let damaged = |what| Err(ReadError::Damaged { what });
    let too_large = |what| Err(ReadError::TooLarge { what });
    let first = FIXED_BYTES;
    assert_eq!(read(&[]), damaged("head"));
    assert_eq!(read(&with(0, b"IMSG")), damaged("magic"));
    assert_eq!(read(&with(4, &[2, 1])), Err(ReadError::Version { found: 258 }));
    assert_eq!(read(&with(6, &257_u16.to_le_bytes())), too_large("blocks of a segment"));
    assert_eq!(read(&with(12, &[1])), damaged("checksum of the head"));
    assert_eq!(read(&with(blob.len() - 1, &[0x55])), damaged("checksum of a block"));
    assert_eq!(read(&sealed(with(first + 16, &513_u16.to_le_bytes()))), too_large("messages of a block"));
    assert_eq!(
        read(&sealed(with(first + 16, &10_001_u16.to_le_bytes()))),
        too_large("messages of a segment")
    );
    assert_eq!(read(&sealed(with(first + 16, &0_u16.to_le_bytes()))), damaged("index"));
    assert_eq!(read(&sealed(with(first, &1_u64.to_le_bytes()))), damaged("ids of a block"));
    assert_eq!(read(&sealed(with(first + 8, &1_u64.to_le_bytes()))), damaged("index"));
}

/// A block that announces, or has, more than it may; `announced` in three bytes of LEB128.
fn bomb(announced: usize, stream: &[u8]) -> Vec<u8> {
    let varint = |n: usize| [n as u8 & 0x7f | 0x80, (n >> 7) as u8 & 0x7f | 0x80, (n >> 14) as u8];
    let block = [&varint(announced)[..], &varint(stream.len()), &[0, 0], stream].concat();
    let small = encode(MsgId::NONE, &[Record::default()]).unwrap();
    let head = FIXED_BYTES + ENTRY_BYTES + 8;
    let mut blob = [&small[..head], &block].concat();
    blob[FIXED_BYTES + 18..FIXED_BYTES + 22].copy_from_slice(&(block.len() as u32).to_le_bytes());
    sealed(blob)
}

#[test]
fn what_would_unpack_to_more_than_was_announced_is_refused() {
    let max = im_segment::limits::BLOCK_BYTES_MAX;
    let zeros = miniz_oxide::deflate::compress_to_vec(&vec![0; 64 * 1024 * 1024], 6);
    assert_eq!(read(&bomb(max + 1, &zeros)), Err(ReadError::TooLarge { what: "bytes of a block" }));
    assert_eq!(read(&bomb(max, &zeros)), Err(ReadError::Damaged { what: "stream" }));
    assert_eq!(read(&bomb(1, &zeros)), Err(ReadError::Damaged { what: "stream" }));
}

/// Nobody but an attacker makes these: they must not panic, and what they give has passed every check.
#[test]
fn changed_bytes_under_checksums_that_fit_are_no_danger() {
    let blob = encode(MsgId::NONE, &messages()[..300]).unwrap();
    let (start, length) = places(&blob)[0];
    let mut noise = Noise(3);
    let mut refused = 0;
    for _ in 0..FLIPS {
        let mut changed = blob.clone();
        for _ in 0..=noise.below(3) {
            changed[start + noise.below(length)] = noise.next() as u8;
        }
        match read(&sealed(changed)) {
            Ok(read) => assert_eq!(read.len(), 300),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0);
}
