//! Client ids that are 128 bits in one of three usual spellings, as those bits.

pub(crate) const PACKED_BYTES: usize = 16;
const ULID_CHARS: usize = 26;
/// Crockford's alphabet.
const ULID_ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Any other text, as it is.
    Text = 0,
    /// `01234567-89ab-cdef-0123-456789abcdef`
    Uuid = 1,
    /// `0123456789abcdef0123456789abcdef`
    Hex = 2,
    /// `01ARZ3NDEKTSV4RRFFQ69G5FAV`
    Ulid = 3,
}

const PACKED: [Form; 3] = [Form::Uuid, Form::Hex, Form::Ulid];

impl Form {
    pub fn from_number(number: u64) -> Option<Self> {
        [Self::Text].into_iter().chain(PACKED).find(|form| *form as u64 == number)
    }

    /// The text that `bits` stand for.
    pub fn unpack(self, bits: u128) -> String {
        match self {
            Self::Text => String::new(),
            Self::Uuid => uuid(bits),
            Self::Hex => format!("{bits:032x}"),
            Self::Ulid => ulid(bits),
        }
    }
}

/// The form in which `text` can be kept as bits, and these. Whatever is packed is unpacked to the same text.
pub(crate) fn pack(text: &str) -> Option<(Form, u128)> {
    let bits = match text.len() {
        36 => u128::from_str_radix(&text.replace('-', ""), 16).ok()?,
        32 => u128::from_str_radix(text, 16).ok()?,
        ULID_CHARS => ulid_bits(text)?,
        _ => return None,
    };
    let form = PACKED.into_iter().find(|form| form.unpack(bits) == text)?;
    Some((form, bits))
}

fn uuid(bits: u128) -> String {
    let mut text = String::with_capacity(36);
    for (n, digit) in format!("{bits:032x}").chars().enumerate() {
        if [8, 12, 16, 20].contains(&n) {
            text.push('-');
        }
        text.push(digit);
    }
    text
}

fn ulid(bits: u128) -> String {
    let digit = |n: usize| {
        let place = usize::from((bits >> (5 * n)).to_le_bytes()[0] & 31);
        ULID_ALPHABET.get(place).map_or('0', |byte| char::from(*byte))
    };
    (0..ULID_CHARS).rev().map(digit).collect()
}

fn ulid_bits(text: &str) -> Option<u128> {
    text.bytes().try_fold(0_u128, |bits, byte| {
        let digit = ULID_ALPHABET.iter().position(|known| *known == byte)?;
        Some(bits << 5 | digit as u128)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn usual_spellings_are_packed() {
        let form = |text| pack(text).map(|(form, _)| form);
        assert_eq!(form("01234567-89ab-cdef-0123-456789abcdef"), Some(Form::Uuid));
        assert_eq!(form("00000000000000000000000000000000"), Some(Form::Hex));
        assert_eq!(form("01ARZ3NDEKTSV4RRFFQ69G5FAV"), Some(Form::Ulid));
    }

    #[test]
    fn what_would_come_back_in_another_spelling_is_not_packed() {
        let others = [
            "01234567-89AB-CDEF-0123-456789ABCDEF",
            "0123456789ABCDEF0123456789ABCDEF",
            "+1234567-89ab-cdef-0123-456789abcdef",
            "012345678-9ab-cdef-0123-456789abcdef",
            "01arz3ndektsv4rrffq69g5fav",
            "ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "",
        ];
        assert!(others.iter().all(|text| pack(text).is_none()));
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(bits: u128) {
            for form in PACKED {
                let text = form.unpack(bits);
                prop_assert_eq!(pack(&text), Some((form, bits)));
            }
        }

        #[test]
        fn whatever_is_packed_is_unpacked_to_the_same(text in "[0-9a-fA-F-]{26,36}|[0-9A-Z]{26}") {
            if let Some((form, bits)) = pack(&text) {
                prop_assert_eq!(form.unpack(bits), text);
            }
        }
    }
}
