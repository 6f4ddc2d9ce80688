//! A message as one run of bytes, the same in the hot stream and in the log.
//!
//! `version, kind, flags, fingerprint[16], reply u64, sender, clientMsgId, content, ext`, numbers little
//! endian, texts preceded by their length as u32. Content comes before `ext`, so that a short start of
//! the bytes holds what a summary needs. A control message has the id of the message it is about in the
//! place of `reply`, and the action as its content.

use im_domain::ext::Ext;
use im_domain::message::{Action, ControlRef, Draft, FINGERPRINT_BYTES, Kind};
use im_domain::revision::control_name;
use im_domain::{MsgId, UserId};

const VERSION: u8 = 1;
const HAS_EXT: u8 = 1;
const SILENT: u8 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub kind: Kind,
    pub silent: bool,
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    pub reply_to: Option<MsgId>,
    pub sender: UserId,
    pub client_msg_id: String,
    pub ext: Option<Ext>,
    pub content: String,
    /// What a control message is about.
    pub control: Option<ControlRef>,
}

impl Record {
    /// The control message that tells of a revision. One revision has one; see [`control_name`].
    pub fn control(sender: &UserId, control: ControlRef, mark: &str) -> Self {
        Self {
            kind: Kind::Recall,
            silent: true,
            fingerprint: [0; FINGERPRINT_BYTES],
            reply_to: None,
            sender: sender.clone(),
            client_msg_id: control_name(control, mark),
            ext: None,
            content: String::new(),
            control: Some(control),
        }
    }

    pub fn of(draft: &Draft, fingerprint: [u8; FINGERPRINT_BYTES]) -> Self {
        Self {
            kind: draft.kind,
            silent: draft.silent,
            fingerprint,
            reply_to: draft.reply_to,
            sender: draft.sender.clone(),
            client_msg_id: draft.client_msg_id.as_str().to_owned(),
            ext: draft.ext.clone(),
            content: draft.content.clone(),
            control: None,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let flags = if self.ext.is_some() { HAS_EXT } else { 0 } | if self.silent { SILENT } else { 0 };
        let mut bytes = vec![VERSION, self.kind.number() as u8, flags];
        bytes.extend(self.fingerprint);
        let reference = self.control.map(|control| control.msg_id).or(self.reply_to);
        bytes.extend(reference.unwrap_or_default().number().to_le_bytes());
        let content = self.control.map_or(self.content.as_str(), |control| control.action.as_str());
        let ext = self.ext.as_ref().map(Ext::as_str).unwrap_or_default();
        for text in [self.sender.as_str(), &self.client_msg_id, content, ext] {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    /// None when the bytes are not those of a record.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let [version, kind, flags] = reader.array()?;
        if version != VERSION {
            return None;
        }
        let fingerprint = reader.array()?;
        let kind = Kind::from_number(kind.into())?;
        let reference = MsgId::new(u64::from_le_bytes(reader.array()?))?;
        let sender = UserId::parse(reader.text()?).ok()?;
        let client_msg_id = reader.text()?;
        let mut content = reader.text()?;
        let ext = reader.text()?;
        reader.0.is_empty().then_some(())?;
        let control = match kind {
            Kind::Recall => {
                let action = Action::from_text(&std::mem::take(&mut content))?;
                Some(ControlRef { msg_id: reference, action })
            }
            _ => None,
        };
        Some(Self {
            kind,
            silent: flags & SILENT != 0,
            fingerprint,
            reply_to: (control.is_none() && !reference.is_none()).then_some(reference),
            sender,
            client_msg_id,
            ext: (flags & HAS_EXT != 0).then(|| Ext::stored(ext)),
            content,
            control,
        })
    }
}

/// Sender and summary of a record of which at least the start is there.
pub fn summary_of_start(bytes: &[u8]) -> Option<(UserId, String)> {
    let mut reader = Reader(bytes);
    let _fixed: [u8; 3 + FINGERPRINT_BYTES + size_of::<u64>()] = reader.array()?;
    let sender = UserId::parse(reader.text()?).ok()?;
    reader.text()?;
    let length = u32::from_le_bytes(reader.array()?) as usize;
    let start = reader.0.get(..length).unwrap_or(reader.0);
    Some((sender, im_domain::message::summary_of_bytes(start)))
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn text(&mut self) -> Option<String> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> Record {
        Record {
            kind: Kind::Custom,
            silent: false,
            fingerprint: [7; FINGERPRINT_BYTES],
            reply_to: None,
            sender: UserId::parse("a:b@c").unwrap(),
            client_msg_id: "1".to_owned(),
            ext: None,
            content: String::new(),
            control: None,
        }
    }

    #[test]
    fn a_control_message_comes_back() {
        for action in Action::ALL {
            let control = ControlRef { msg_id: MsgId::new(77).unwrap(), action: *action };
            let record = Record::control(&UserId::parse("a").unwrap(), control, "mark");
            assert_eq!(Record::decode(&record.encode()), Some(record));
        }
    }

    proptest! {
        #[test]
        fn records_come_back(content: String, id in ".{1,64}", reply: Option<u32>, silent: bool, ext: bool, print: [u8; 16]) {
            let record = Record {
                silent,
                fingerprint: print,
                reply_to: reply.and_then(|n| MsgId::new(u64::from(n) + 1)),
                client_msg_id: id,
                ext: ext.then(|| Ext::parse("{\"a\":1}").unwrap()),
                content,
                ..record()
            };
            prop_assert_eq!(Record::decode(&record.encode()), Some(record));
        }

        #[test]
        fn the_start_of_a_record_has_its_summary(content in "\\PC{0,300}", id in "\\PC{1,64}") {
            let mut record = record();
            record.content = content;
            record.client_msg_id = id;
            let bytes = record.encode();
            let start = bytes.get(..1024).unwrap_or(&bytes);
            let (sender, summary) = summary_of_start(start).unwrap();
            prop_assert_eq!(sender, record.sender);
            prop_assert_eq!(summary, im_domain::message::summary_of(&record.content));
        }

        #[test]
        fn other_bytes_are_refused_and_never_a_crash(bytes: Vec<u8>) {
            let decoded = Record::decode(&bytes);
            prop_assert!(decoded.is_none_or(|record| record.encode() == bytes));
        }
    }
}
