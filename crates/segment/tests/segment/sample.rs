//! The chat samples of the black-box suite, as the rows that SQL would have.

use flate2::read::GzDecoder;
use im_domain::message::{Draft, Kind, Target};
use im_domain::{ClientMsgId, ConversationId, MsgId, UserId};
use im_segment::Record;
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// 20 years in ms: the samples begin in 2007, ids in 2024.
const SHIFT_MS: u64 = 20 * 365 * 86_400_000;

/// What clients call their messages.
#[derive(Clone, Copy, Debug)]
pub enum ClientIds {
    /// As the black-box suite does: conversation and number.
    Counted,
    /// A random UUID, version 4.
    Uuid4,
    /// A UUID that begins with the time, version 7.
    Uuid7,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    conversation_id: String,
    sender_id: String,
    ts: u64,
    text: String,
}

pub const FILES: [&str; 2] = ["chat-en.ndjson.gz", "chat-cjk.ndjson.gz"];

/// The conversations of a sample, each with its number and its messages.
pub fn conversations(file: &str, client_ids: ClientIds) -> Vec<(MsgId, Vec<Record>)> {
    let mut places = HashMap::new();
    let mut conversations: Vec<(MsgId, Vec<Record>)> = Vec::new();
    let mut noise = Noise(7);
    for line in lines(file) {
        let place = *places.entry(line.conversation_id.clone()).or_insert(conversations.len());
        if place == conversations.len() {
            let cid = MsgId::compose(line.ts + SHIFT_MS, noise.next() as u8, 0);
            conversations.push((cid, Vec::new()));
        }
        let (cid, messages) = &mut conversations[place];
        messages.push(record(&line, *cid, messages, client_ids, &mut noise));
    }
    conversations
}

fn lines(file: &str) -> impl Iterator<Item = Line> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(file);
    let lines = BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

fn record(line: &Line, cid: MsgId, before: &[Record], client_ids: ClientIds, noise: &mut Noise) -> Record {
    let seq = before.len() as u64 + 1;
    let previous = before.last().map(|message| message.msg_id.number()).unwrap_or_default();
    // Many of the samples' times are whole minutes; those of real messages are not.
    let time_ms = line.ts + SHIFT_MS + noise.next() % 1_000;
    let id = MsgId::compose(time_ms, cid.partition(), 0).number().max(previous + 1);
    let client_msg_id = match client_ids {
        ClientIds::Counted => format!("{}-{}", line.conversation_id, seq - 1),
        ClientIds::Uuid4 => uuid(noise.bits(), 4),
        ClientIds::Uuid7 => uuid(u128::from(time_ms) << 80 | noise.bits() >> 48, 7),
    };
    let draft = draft(line, &client_msg_id);
    Record {
        msg_id: MsgId::new(id).unwrap(),
        seq,
        countable: seq,
        sender: line.sender_id.clone(),
        client_msg_id,
        fingerprint: draft.fingerprint(),
        kind: i16::try_from(draft.kind.number()).unwrap(),
        content: draft.content.into_bytes(),
        ..Record::default()
    }
}

fn draft(line: &Line, client_msg_id: &str) -> Draft {
    Draft {
        sender: UserId::parse(line.sender_id.clone()).unwrap(),
        target: Target::Conversation(ConversationId::parse(line.conversation_id.clone()).unwrap()),
        client_msg_id: ClientMsgId::parse(client_msg_id).unwrap(),
        client_time: None,
        kind: Kind::Text,
        content: line.text.clone(),
        reply_to: None,
        ext: None,
        silent: false,
    }
}

fn uuid(bits: u128, version: u128) -> String {
    let marked = bits & !(0xf << 76 | 0x3 << 62) | version << 76 | 0x2 << 62;
    let digits = format!("{marked:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Numbers that are the same in every run (splitmix64).
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bits(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}
