//! Message ids as the hot store writes them: `ms-low`, milliseconds since the zero of ids and the 22
//! bits below, since Lua's numbers do not hold 63 bits. It is the id of the message's stream entry too.

use im_domain::MsgId;

/// Bits of an id below its milliseconds: partition and counter.
const LOW_BITS: u32 = 22;
const LOW_MASK: u64 = (1 << LOW_BITS) - 1;

/// Milliseconds since the zero of ids.
pub fn ms(id: MsgId) -> u64 {
    id.number() >> LOW_BITS
}

/// The id of two parts; parts that are out of range make no id that was ever given.
pub fn join(ms: u64, low: u64) -> MsgId {
    let number = ms.checked_mul(1 << LOW_BITS).and_then(|high| high.checked_add(low));
    number.and_then(MsgId::new).unwrap_or(MsgId::MAX)
}

/// The two parts of an id.
pub fn parts(id: MsgId) -> (u64, u64) {
    (ms(id), id.number() & LOW_MASK)
}

pub fn text(id: MsgId) -> String {
    let (ms, low) = parts(id);
    format!("{ms}-{low}")
}

pub fn parse(text: &str) -> Option<MsgId> {
    let (ms, low) = text.split_once('-')?;
    Some(join(ms.parse().ok()?, low.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use im_domain::msg_id::ID_EPOCH_MS;

    #[test]
    fn ids_come_back() {
        for id in [MsgId::NONE, MsgId::MAX, MsgId::compose(ID_EPOCH_MS + 77, 200, 16_383)] {
            assert_eq!(parse(&text(id)), Some(id));
        }
        assert_eq!(join(u64::MAX, 1), MsgId::MAX);
        assert_eq!(parse("1"), None);
    }
}
