//! Randomness from the system.

/// A number from 0 to 255. Without a source of randomness it is always the same, which only spreads
/// retries less.
pub fn chance() -> u8 {
    let mut byte = [0];
    match getrandom::fill(&mut byte) {
        Ok(()) => u8::from_ne_bytes(byte),
        Err(_) => u8::MAX,
    }
}

/// A random UUID (RFC 9562, version 4).
pub fn uuid() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(uuid_of(u128::from_be_bytes(bytes)))
}

/// The UUID of version 4 with these random bits, but for the six that say what it is.
fn uuid_of(random: u128) -> String {
    const VERSION_SHIFT: u32 = 76;
    const VARIANT_SHIFT: u32 = 62;
    let bits = random & !(0xf << VERSION_SHIFT) & !(0b11 << VARIANT_SHIFT);
    let bits = bits | 4 << VERSION_SHIFT | 0b10 << VARIANT_SHIFT;
    let part = |shift: u32, digits: u32| bits >> shift & ((1 << (4 * digits)) - 1);
    let [a, b, c, d, e] = [part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12)];
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_says_what_it_is() {
        assert_eq!(uuid_of(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid_of(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let bits = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
        assert_eq!(uuid_of(bits), "01234567-89ab-4def-8123-456789abcdef");
        assert_ne!(uuid().unwrap(), uuid().unwrap());
    }
}
