//! Messages as columns, in three streams of like data.
//!
//! `numbers` holds, one column after the other, each with an entry for every message (of optional fields:
//! for every message that has it), as varints; "from X" is the distance from X, either way:
//!
//! | column | entry |
//! | --- | --- |
//! | time | bits 22 and up of the id, from those of the one before; the first: from 0 |
//! | place | bits 0 to 21 of the id, from those of the one before; the first: from 0 |
//! | `seq`, `countable` | from the one before; the first: from 0 |
//! | senders | how many different ones; the length of each |
//! | sender | which of these, counted from 0 in order of first appearance |
//! | `kind`, `status` | from 0 |
//! | presence | bits of the optional fields, 1 to 64: `reply_to`, `ext`, `edit_time`, `control_msg_id`, `control_action`, `copy_of`, `own` |
//! | `reply_to`, `control_msg_id`, `copy_of` | from the message's own id |
//! | `edit_time` | from the time in the message's id, ms since 1970 |
//! | `control_action` | from 0 |
//! | `own` | from one more than the last one of the same sender; the first: from 1 |
//! | fingerprints | how each is kept: 0 as it is, 1 and 2 as what is hashed, of a message that is not silent and of a silent one |
//! | client ids | how each is kept: 0 as text, and then its length; 1 UUID, 2 hexadecimal, 3 ULID |
//! | `ext` | length |
//! | content | length |
//!
//! `binary` holds the fingerprints that are kept, 16 bytes each, then the packed client ids: byte 0 of all of
//! them, byte 1 of all, … byte 15. `texts` holds the different senders, the client ids that are text,
//! `ext`, and contents, without any separator.

mod presence;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub numbers: Vec<u8>,
    pub binary: Vec<u8>,
    pub texts: Vec<u8>,
}

/// Bits of an id below its time.
const PLACE_BITS: u32 = 22;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ReadError;
    use crate::record::Record;
    use im_domain::MsgId;
    use proptest::prelude::*;

    const MESSAGES: u64 = 20;

    fn records() -> Vec<Record> {
        (1..=MESSAGES).map(record).collect()
    }

    fn record(n: u64) -> Record {
        let id = MsgId::new(n << 30);
        Record {
            msg_id: id.unwrap(),
            seq: n,
            sender: format!("s{}", n % 3),
            client_msg_id: if n.is_multiple_of(2) { format!("{n:032x}") } else { format!("{n}") },
            content: n.to_string().into_bytes(),
            reply_to: id.filter(|_| n.is_multiple_of(4)),
            ext: Some(n.to_string()).filter(|_| n.is_multiple_of(5)),
            own: Some(n).filter(|_| n.is_multiple_of(6)),
            ..Record::default()
        }
    }

    fn streams_of(streams: &mut Streams) -> [&mut Vec<u8>; 3] {
        [&mut streams.numbers, &mut streams.binary, &mut streams.texts]
    }

    #[test]
    fn a_byte_too_few_or_too_many_in_a_stream_is_damage() {
        for (n, what) in ["numbers", "binary", "texts"].into_iter().enumerate() {
            let (mut longer, mut shorter) = (write(&records()), write(&records()));
            streams_of(&mut longer)[n].push(0);
            streams_of(&mut shorter)[n].pop();
            for streams in [longer, shorter] {
                assert_eq!(read(&streams, records().len()), Err(ReadError::Damaged { what }));
            }
        }
    }

    proptest! {
        /// What comes of it does not matter, as long as it comes to an end with so many messages or an error.
        #[test]
        fn changed_streams_are_no_danger(
            changes in prop::collection::vec((0..3_usize, any::<prop::sample::Index>(), any::<u8>()), 1..4),
            messages in prop_oneof![4 => Just(MESSAGES as usize), 1 => 0..600_usize],
        ) {
            let mut streams = write(&records());
            for (n, at, byte) in changes {
                let stream = &mut streams_of(&mut streams)[n];
                let at = at.index(stream.len());
                stream[at] = byte;
            }
            if let Ok(read) = read(&streams, messages) {
                prop_assert_eq!(read.len(), messages);
            }
        }
    }
}
