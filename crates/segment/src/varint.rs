//! Numbers as LEB128, signed ones in zigzag, and reading them back.

use crate::error::{Read, damaged};

pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// `number` as its distance from `base`, either way; exact for any two numbers.
pub(crate) fn put_from(out: &mut Vec<u8>, base: u64, number: u64) {
    let distance = number.wrapping_sub(base).cast_signed();
    put(out, (distance << 1 ^ distance >> 63).cast_unsigned());
}

/// What is still to be read of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    /// The stream's name, for errors.
    what: &'static str,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    pub fn number(&mut self) -> Read<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                break;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged(self.what))
    }

    /// A number as its distance from `base`.
    pub fn number_from(&mut self, base: u64) -> Read<u64> {
        let zigzag = self.number()?;
        let distance = zigzag >> 1 ^ (zigzag & 1).wrapping_neg();
        Ok(base.wrapping_add(distance))
    }

    /// A number of items or bytes, up to `max`.
    pub fn length(&mut self, max: usize) -> Read<usize> {
        usize::try_from(self.number()?).ok().filter(|length| *length <= max).ok_or(damaged(self.what))
    }

    pub fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(damaged(self.what))?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn text(&mut self, length: usize) -> Read<&'a str> {
        std::str::from_utf8(self.take(length)?).map_err(|_| damaged(self.what))
    }

    pub fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(damaged(self.what))?;
        self.rest = rest;
        Ok(*array)
    }

    /// The rest, whatever it is.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Everything has been read.
    pub fn end(self) -> Read<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(damaged(self.what)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(plain: u64, base: u64, number: u64) {
            let mut bytes = Vec::new();
            put(&mut bytes, plain);
            put_from(&mut bytes, base, number);
            let mut cursor = Cursor::new(&bytes, "numbers");
            prop_assert_eq!((cursor.number(), cursor.number_from(base)), (Ok(plain), Ok(number)));
            prop_assert_eq!(cursor.end(), Ok(()));
        }
    }

    #[test]
    fn a_small_distance_takes_one_byte() {
        for number in [36, 163] {
            let mut bytes = Vec::new();
            put_from(&mut bytes, 100, number);
            assert_eq!(bytes.len(), 1);
        }
    }

    #[test]
    fn a_number_without_end_or_above_64_bits_is_damage() {
        for bytes in [&[0x80; 3][..], &[0xff; 12], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]]
        {
            assert_eq!(Cursor::new(bytes, "numbers").number(), Err(damaged("numbers")));
        }
    }
}
