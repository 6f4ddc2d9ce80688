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
