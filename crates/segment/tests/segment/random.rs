//! Random messages.

use im_domain::MsgId;
use im_segment::Record;
use proptest::option;
use proptest::prelude::*;

/// So many messages of every shape, ids rising.
pub fn records(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Record>> {
    (0..1_u64 << 62, prop::collection::vec((1..1_u64 << 40, record()), count)).prop_map(|(start, made)| {
        let mut id = start;
        let mut next = |(step, record): (u64, Record)| {
            id += step;
            Record { msg_id: MsgId::new(id).expect("63 bits"), ..record }
        };
        made.into_iter().map(&mut next).collect()
    })
}

/// One whose id is still to be set.
fn record() -> impl Strategy<Value = Record> {
    let names = (prop_oneof!["[a-c]", any::<String>().prop_map(short)], client_msg_id());
    let counts = (any::<u64>(), any::<u64>(), any::<[u8; 16]>(), any::<i16>(), any::<i16>());
    let texts = (content(), option::of(any::<String>()));
    let ids = (option::of(id()), option::of(id()), option::of(id()));
    let rest = (option::of(any::<u64>()), option::of(any::<i16>()), option::of(any::<u64>()));
    (names, counts, texts, ids, rest).prop_map(|(names, counts, texts, ids, rest)| Record {
        msg_id: MsgId::NONE,
        seq: counts.0,
        countable: counts.1,
        sender: names.0,
        client_msg_id: names.1,
        fingerprint: counts.2,
        kind: counts.3,
        status: counts.4,
        content: texts.0,
        reply_to: ids.0,
        ext: texts.1,
        edit_time: rest.0,
        control_msg_id: ids.1,
        control_action: rest.1,
        copy_of: ids.2,
        own: rest.2,
    })
}

fn id() -> impl Strategy<Value = MsgId> {
    prop_oneof![Just(0), Just(MsgId::MAX.number()), 0..=MsgId::MAX.number()]
        .prop_map(|number| MsgId::new(number).expect("63 bits"))
}

fn client_msg_id() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>().prop_map(short),
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "[0-9a-f]{32}",
        "[0-9A-F]{32}",
        "[0-7][0-9A-HJKMNP-TV-Z]{25}",
        "[0-9A-Za-z-]{26,36}",
    ]
}

/// Binary, any Unicode, empty, NUL alone, and as large as may be.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        20 => any::<String>().prop_map(String::into_bytes),
        10 => prop::collection::vec(any::<u8>(), 0..300),
        2 => Just(Vec::new()),
        2 => Just(vec![0]),
        1 => any::<u8>().prop_map(|byte| vec![byte; im_domain::limits::CONTENT_BYTES_MAX]),
    ]
}

/// As long as names may be, in whole characters.
fn short(text: String) -> String {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = end.take_while(|end| *end <= im_segment::limits::NAME_BYTES_MAX).last().unwrap_or(0);
    text[..end].to_owned()
}
