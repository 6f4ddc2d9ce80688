//! One block: the three streams of some messages, each packed by itself.
//!
//! First, as varints, for `numbers`, `binary` and `texts`: the unpacked length, and, unless that is 0, the
//! packed one. Then the packed streams in the same order: raw DEFLATE (RFC 1951).

use crate::columns::{self, Streams};
use crate::error::{Read, ReadError, damaged};
use crate::limits::BLOCK_BYTES_MAX;
use crate::record::Record;
use crate::varint::{Cursor, put};
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// DEFLATE's effort, 0 to 10: 9 takes up to twice the time and saves half a percent.
const LEVEL: u8 = 6;

pub(crate) fn pack(records: &[Record]) -> Vec<u8> {
    let Streams { numbers, binary, texts } = columns::write(records);
    let mut block = Vec::new();
    let mut packed = Vec::new();
    for plain in [numbers, binary, texts].iter().map(Vec::as_slice) {
        put(&mut block, plain.len() as u64);
        if !plain.is_empty() {
            let stream = compress_to_vec(plain, LEVEL);
            put(&mut block, stream.len() as u64);
            packed.push(stream);
        }
    }
    packed.iter().for_each(|stream| block.extend_from_slice(stream));
    block
}

/// `messages` is at most [`crate::limits::BLOCK_MESSAGES_MAX`].
pub(crate) fn unpack(block: &[u8], messages: usize) -> Read<Vec<Record>> {
    let mut cursor = Cursor::new(block, "block");
    let numbers = Lengths::read(&mut cursor)?;
    let binary = Lengths::read(&mut cursor)?;
    let texts = Lengths::read(&mut cursor)?;
    let streams = Streams {
        numbers: numbers.unpack(&mut cursor)?,
        binary: binary.unpack(&mut cursor)?,
        texts: texts.unpack(&mut cursor)?,
    };
    cursor.end()?;
    columns::read(&streams, messages)
}

/// Of one stream, in bytes.
struct Lengths {
    plain: usize,
    packed: usize,
}

impl Lengths {
    fn read(cursor: &mut Cursor<'_>) -> Read<Self> {
        let plain = cursor.number()?;
        let plain = usize::try_from(plain).ok().filter(|length| *length <= BLOCK_BYTES_MAX);
        let plain = plain.ok_or(ReadError::TooLarge { what: "bytes of a block" })?;
        let packed = if plain == 0 { 0 } else { cursor.length(u32::MAX as usize)? };
        Ok(Self { plain, packed })
    }

    /// Never makes more than was announced.
    fn unpack(&self, cursor: &mut Cursor<'_>) -> Read<Vec<u8>> {
        let packed = cursor.take(self.packed)?;
        if self.plain == 0 {
            return Ok(Vec::new());
        }
        let plain = decompress_to_vec_with_limit(packed, self.plain).map_err(|_| damaged("stream"))?;
        if plain.len() == self.plain { Ok(plain) } else { Err(damaged("stream")) }
    }
}
