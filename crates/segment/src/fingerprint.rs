//! Fingerprints are hashes, which do not compress; most are those of what the message has, and are made again
//! instead of being kept. This is a part of the format and must not follow the domain if that changes.

use crate::record::Record;
use im_domain::message::FINGERPRINT_BYTES;
use sha2::{Digest, Sha256};

/// How a fingerprint is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Kept = 0,
    /// [`derived`] of a message that is not silent.
    Loud = 1,
    /// [`derived`] of a silent one.
    Silent = 2,
}

impl Form {
    pub fn of(record: &Record) -> Self {
        let made_by = |form: &Form| derived(record, *form == Self::Silent) == record.fingerprint;
        [Self::Loud, Self::Silent].into_iter().find(made_by).unwrap_or(Self::Kept)
    }

    pub fn from_number(number: u64) -> Option<Self> {
        [Self::Kept, Self::Loud, Self::Silent].into_iter().find(|form| *form as u64 == number)
    }
}

/// The first 128 bits of SHA-256 over four parts, each preceded by its length as u64: kind, silence and
/// presence of `ext`, one byte each; `reply_to` (0: none) as u64; `ext`; content. Little endian.
pub(crate) fn derived(record: &Record, silent: bool) -> [u8; FINGERPRINT_BYTES] {
    let ext = record.ext.as_deref().unwrap_or_default();
    let [kind, _] = record.kind.to_le_bytes();
    let marks = [kind, u8::from(silent), u8::from(record.ext.is_some())];
    let reply_to = record.reply_to.unwrap_or_default().number().to_le_bytes();
    let mut hash = Sha256::new();
    for part in [&marks[..], &reply_to[..], ext.as_bytes(), &record.content] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut print = [0; FINGERPRINT_BYTES];
    print.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    print
}

#[cfg(test)]
mod tests {
    use super::*;
    use im_domain::ext::Ext;
    use im_domain::message::{Draft, Kind, Target};
    use im_domain::{ClientMsgId, MsgId, UserId};

    fn draft(ext: Option<&str>, silent: bool) -> Draft {
        Draft {
            sender: UserId::parse("a").unwrap(),
            target: Target::Peer(UserId::parse("b").unwrap()),
            client_msg_id: ClientMsgId::parse("1").unwrap(),
            client_time: None,
            kind: Kind::Image,
            content: "安安".into(),
            reply_to: MsgId::new(5),
            ext: ext.map(|text| Ext::parse(text).unwrap()),
            silent,
        }
    }

    fn form(draft: &Draft) -> Form {
        Form::of(&Record {
            fingerprint: draft.fingerprint(),
            kind: i16::try_from(draft.kind.number()).unwrap(),
            content: draft.content.clone().into_bytes(),
            reply_to: draft.reply_to,
            ext: draft.ext.clone().map(Ext::into_string),
            ..Record::default()
        })
    }

    #[test]
    fn those_of_the_domain_are_made_again() {
        assert_eq!(form(&draft(None, false)), Form::Loud);
        assert_eq!(form(&draft(Some(r#"{"a":1}"#), true)), Form::Silent);
    }

    #[test]
    fn one_that_cannot_be_made_again_is_kept() {
        assert_eq!(form(&draft(Some(r#"{ "a": 1 }"#), false)), Form::Kept);
        assert_eq!(Form::of(&Record::default()), Form::Kept);
    }
}
