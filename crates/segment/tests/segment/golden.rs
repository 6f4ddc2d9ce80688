//! A file of format version 1, written by the code that introduced it. Every later version must read it to the
//! same messages; it is never written again.

use im_domain::MsgId;
use im_segment::{Record, Segment, VERSION, encode};

const FILE: &[u8] = include_bytes!("../golden/version-1.segment");
const CID: u64 = 7_654_321;

/// Two blocks, and every way of keeping a field.
fn messages() -> Vec<Record> {
    (1..=600).map(message).collect()
}

fn message(n: u64) -> Record {
    let id = |number| MsgId::new(number);
    let number = (n << 30) + 5;
    let text = format!("消息 {n} \u{0} \u{1f468}\u{200d}\u{1f469}");
    let has = |every: u64| n.is_multiple_of(every);
    Record {
        msg_id: id(number).unwrap(),
        seq: n,
        countable: n - n / 5,
        sender: format!("user-{}", n % 7),
        client_msg_id: match n % 4 {
            0 => format!("c-{n}"),
            1 => format!("{n:08x}-0000-7000-8000-0123456789ab"),
            2 => format!("{n:032x}"),
            _ => format!("01ARZ3NDEKTSV4RRFFQ6{n:06}"),
        },
        fingerprint: if has(2) { [n as u8; 16] } else { print(n, &text) },
        kind: if has(11) { 7 } else { 1 },
        status: i16::try_from(n % 3).unwrap(),
        content: text.into_bytes(),
        reply_to: id(number - 4).filter(|_| has(10)),
        ext: Some(format!("{{\"n\":{n}}}")).filter(|_| has(6)),
        edit_time: Some(1_800_000_000_000 + n).filter(|_| has(9)),
        control_msg_id: id(number - 1).filter(|_| has(11)),
        control_action: Some(2).filter(|_| has(11)),
        copy_of: id(if has(26) { 0 } else { 3 }).filter(|_| has(13)),
        own: Some(n / 7).filter(|_| has(3)),
    }
}

/// What messages of these kinds hash to, said once more.
fn print(n: u64, text: &str) -> [u8; 16] {
    use im_domain::ext::Ext;
    use im_domain::message::{Draft, Kind, Target};
    use im_domain::{ClientMsgId, UserId};
    let draft = Draft {
        sender: UserId::parse("a").unwrap(),
        target: Target::Peer(UserId::parse("b").unwrap()),
        client_msg_id: ClientMsgId::parse("1").unwrap(),
        client_time: None,
        kind: Kind::Text,
        content: text.into(),
        reply_to: None,
        ext: None::<Ext>,
        silent: n.is_multiple_of(3),
    };
    draft.fingerprint()
}

#[test]
fn version_1_is_read() {
    let segment = Segment::open(FILE).unwrap();
    assert_eq!(segment.cid().number(), CID);
    assert_eq!(segment.blocks().len(), 2);
    assert_eq!(segment.read().unwrap(), messages());
}

#[test]
fn what_is_written_today_has_todays_version() {
    let blob = encode(MsgId::new(CID).unwrap(), &messages()).unwrap();
    assert_eq!(blob[4..6], VERSION.to_le_bytes());
    assert_eq!(Segment::open(&blob).unwrap().read().unwrap(), messages());
}
