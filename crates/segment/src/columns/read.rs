//! Columns into messages. Nothing is believed: every length is checked against its limit and against what
//! the streams have.

use super::{PLACE_BITS, PLACE_MASK, Streams, presence};
use crate::client_id::{self, PACKED_BYTES};
use crate::error::{Read, damaged};
use crate::fingerprint::{self, derived};
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_MESSAGES_MAX, NAME_BYTES_MAX};
use crate::record::Record;
use crate::varint::Cursor;
use im_domain::MsgId;

/// `messages` is at most [`BLOCK_MESSAGES_MAX`].
pub(crate) fn read(streams: &Streams, messages: usize) -> Read<Vec<Record>> {
    let mut reader = Reader {
        numbers: Cursor::new(&streams.numbers, "numbers"),
        binary: Cursor::new(&streams.binary, "binary"),
        texts: Cursor::new(&streams.texts, "texts"),
        records: vec![Record::default(); messages.min(BLOCK_MESSAGES_MAX)],
    };
    reader.ids()?;
    reader.counts()?;
    let senders = reader.senders()?;
    reader.marks()?;
    let present = reader.presence()?;
    reader.optional(&present)?;
    reader.own(&present, &senders)?;
    let prints = reader.fingerprints()?;
    reader.client_ids()?;
    reader.ext(&present)?;
    reader.contents()?;
    reader.derive(&prints);
    reader.numbers.end()?;
    reader.binary.end()?;
    reader.texts.end()?;
    Ok(reader.records)
}

struct Reader<'a> {
    numbers: Cursor<'a>,
    binary: Cursor<'a>,
    texts: Cursor<'a>,
    records: Vec<Record>,
}

/// Of each message, by its place: which optional fields it has.
type Presence = Vec<u64>;

impl Reader<'_> {
    fn ids(&mut self) -> Read<()> {
        let times = self.column()?;
        let places = self.column()?;
        for ((record, time), place) in self.records.iter_mut().zip(times).zip(places) {
            let fits = time <= u64::MAX >> PLACE_BITS && place <= PLACE_MASK;
            let id = fits.then_some(time << PLACE_BITS | place).and_then(MsgId::new);
            record.msg_id = id.ok_or(damaged("id"))?;
        }
        Ok(())
    }

    fn counts(&mut self) -> Read<()> {
        let seqs = self.column()?;
        let countables = self.column()?;
        for ((record, seq), countable) in self.records.iter_mut().zip(seqs).zip(countables) {
            (record.seq, record.countable) = (seq, countable);
        }
        Ok(())
    }

    fn column(&mut self) -> Read<Vec<u64>> {
        let mut before = 0;
        let mut next = |_: &Record| {
            before = self.numbers.number_from(before)?;
            Ok(before)
        };
        self.records.iter().map(&mut next).collect()
    }

    /// Of each message, by its place: which of the senders.
    fn senders(&mut self) -> Read<Vec<usize>> {
        let count = self.numbers.length(BLOCK_MESSAGES_MAX)?;
        let mut names = Vec::with_capacity(count);
        for _ in 0..count {
            let length = self.numbers.length(NAME_BYTES_MAX)?;
            names.push(self.texts.text(length)?);
        }
        let mut places = Vec::with_capacity(self.records.len());
        for record in &mut self.records {
            let place = self.numbers.length(BLOCK_MESSAGES_MAX)?;
            (*names.get(place).ok_or(damaged("sender"))?).clone_into(&mut record.sender);
            places.push(place);
        }
        Ok(places)
    }

    fn marks(&mut self) -> Read<()> {
        for record in &mut self.records {
            record.kind = narrow(self.numbers.number_from(0)?)?;
        }
        for record in &mut self.records {
            record.status = narrow(self.numbers.number_from(0)?)?;
        }
        Ok(())
    }

    fn presence(&mut self) -> Read<Presence> {
        let next = |_: &Record| Ok(self.numbers.length(presence::ALL)? as u64);
        self.records.iter().map(next).collect()
    }

    fn optional(&mut self, present: &Presence) -> Read<()> {
        let numbers = &mut self.numbers;
        for record in with(&mut self.records, present, presence::REPLY_TO) {
            record.reply_to = Some(id_near(numbers, record)?);
        }
        for record in with(&mut self.records, present, presence::CONTROL_MSG_ID) {
            record.control_msg_id = Some(id_near(numbers, record)?);
        }
        for record in with(&mut self.records, present, presence::COPY_OF) {
            record.copy_of = Some(id_near(numbers, record)?);
        }
        for record in with(&mut self.records, present, presence::EDIT_TIME) {
            record.edit_time = Some(numbers.number_from(record.msg_id.time_ms())?);
        }
        for record in with(&mut self.records, present, presence::CONTROL_ACTION) {
            record.control_action = Some(narrow(numbers.number_from(0)?)?);
        }
        Ok(())
    }

    fn own(&mut self, present: &Presence, senders: &[usize]) -> Read<()> {
        let mut next = [1_u64; BLOCK_MESSAGES_MAX];
        for ((record, bits), sender) in self.records.iter_mut().zip(present).zip(senders) {
            if bits & presence::OWN == 0 {
                continue;
            }
            let expected = next.get_mut(*sender).ok_or(damaged("sender"))?;
            let own = self.numbers.number_from(*expected)?;
            *expected = own.wrapping_add(1);
            record.own = Some(own);
        }
        Ok(())
    }

    /// Takes those that are kept; the others are made when everything they are made of is there.
    fn fingerprints(&mut self) -> Read<Vec<fingerprint::Form>> {
        let mut forms = Vec::with_capacity(self.records.len());
        for record in &mut self.records {
            let form = fingerprint::Form::from_number(self.numbers.number()?);
            let form = form.ok_or(damaged("fingerprint"))?;
            if form == fingerprint::Form::Kept {
                record.fingerprint = self.binary.array()?;
            }
            forms.push(form);
        }
        Ok(forms)
    }

    fn derive(&mut self, forms: &[fingerprint::Form]) {
        for (record, form) in self.records.iter_mut().zip(forms) {
            if *form != fingerprint::Form::Kept {
                record.fingerprint = derived(record, *form == fingerprint::Form::Silent);
            }
        }
    }

    fn client_ids(&mut self) -> Read<()> {
        let mut packed = Vec::new();
        for record in &mut self.records {
            let form = client_id::Form::from_number(self.numbers.number()?).ok_or(damaged("client id"))?;
            if form == client_id::Form::Text {
                let length = self.numbers.length(NAME_BYTES_MAX)?;
                self.texts.text(length)?.clone_into(&mut record.client_msg_id);
            } else {
                packed.push((form, &mut record.client_msg_id));
            }
        }
        let mut bits = vec![0_u128; packed.len()];
        for _ in 0..PACKED_BYTES {
            let bytes = self.binary.take(packed.len())?;
            bits.iter_mut().zip(bytes).for_each(|(bits, byte)| *bits = *bits << 8 | u128::from(*byte));
        }
        packed.into_iter().zip(bits).for_each(|((form, text), bits)| *text = form.unpack(bits));
        Ok(())
    }

    fn ext(&mut self, present: &Presence) -> Read<()> {
        for record in with(&mut self.records, present, presence::EXT) {
            let length = self.numbers.length(BLOCK_BYTES_MAX)?;
            record.ext = Some(self.texts.text(length)?.to_owned());
        }
        Ok(())
    }

    fn contents(&mut self) -> Read<()> {
        for record in &mut self.records {
            let length = self.numbers.length(BLOCK_BYTES_MAX)?;
            record.content = self.texts.take(length)?.to_vec();
        }
        Ok(())
    }
}

/// The messages that have an optional field.
fn with<'r>(
    records: &'r mut [Record],
    present: &'r Presence,
    bit: u64,
) -> impl Iterator<Item = &'r mut Record> {
    let has = move |(_, bits): &(&mut Record, &u64)| **bits & bit != 0;
    records.iter_mut().zip(present).filter(has).map(|(record, _)| record)
}

fn id_near(numbers: &mut Cursor<'_>, record: &Record) -> Read<MsgId> {
    MsgId::new(numbers.number_from(record.msg_id.number())?).ok_or(damaged("id"))
}

fn narrow(number: u64) -> Read<i16> {
    i16::try_from(number.cast_signed()).map_err(|_| damaged("small number"))
}
