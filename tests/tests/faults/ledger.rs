//! Every receipt, and what must hold among all of them whatever happened: no id and no `seq` is given
//! twice, and what is sent after an acknowledgement stands above it.

use im_tests::shape;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

/// An acknowledged message.
#[derive(Clone, Debug)]
pub struct Acked {
    pub room: String,
    pub sender: String,
    pub client_msg_id: String,
    pub content: String,
    /// Whether that was asked for.
    pub persisted: bool,
    /// Before it was sent for the first time.
    pub began: Instant,
    /// After its receipt had come.
    pub at: Instant,
    pub id: u64,
    pub seq: u64,
    pub epoch: String,
    pub duplicate: bool,
    pub create_time: Value,
}

/// A refusal that says to come back later.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "`problem` is printed")]
pub struct Refusal {
    pub at: Instant,
    pub persisted: bool,
    /// For whoever reads why a test failed.
    pub problem: Value,
}

#[derive(Default)]
pub struct Ledger {
    pub acked: Vec<Acked>,
    pub refusals: Vec<Refusal>,
}

impl Acked {
    /// Reads a receipt; the message's own fields are `draft`'s.
    pub fn of(draft: &Value, receipt: &Value, sender: &str, persisted: bool, began: Instant) -> Self {
        shape::receipt(receipt);
        let text = |value: &Value, field| shape::text(value, field).to_owned();
        let acked = Self {
            room: text(draft, "conversationId"),
            sender: sender.to_owned(),
            client_msg_id: text(draft, "clientMsgId"),
            content: text(draft, "content"),
            persisted,
            began,
            at: Instant::now(),
            id: shape::id(receipt, "msgId"),
            seq: shape::int(receipt, "seq"),
            epoch: text(receipt, "epoch"),
            duplicate: shape::flag(receipt, "duplicate"),
            create_time: receipt["createTime"].clone(),
        };
        assert_eq!(receipt["conversationId"], acked.room.as_str());
        assert!(!persisted || receipt["ack"] == "persisted", "less than was asked for: {receipt}");
        acked
    }
}

/// Expects every id, and every `seq` of a room, to belong to one message.
pub fn nothing_is_given_twice(acked: &[Acked]) {
    let mut ids: BTreeMap<u64, &Acked> = BTreeMap::new();
    let mut seqs: BTreeMap<(&str, u64), &Acked> = BTreeMap::new();
    for one in acked {
        if let Some(other) = ids.insert(one.id, one) {
            panic!("an id is given twice: {one:#?} and {other:#?}");
        }
        if let Some(other) = seqs.insert((&one.room, one.seq), one) {
            panic!("a seq is given twice: {one:#?} and {other:#?}");
        }
    }
}

/// Expects each message to stand above all of its room that were acknowledged before it was sent.
pub fn what_comes_later_stands_above(acked: &[Acked]) {
    let mut rooms: BTreeMap<&str, Vec<&Acked>> = BTreeMap::new();
    for one in acked {
        rooms.entry(&one.room).or_default().push(one);
    }
    for all in rooms.into_values() {
        let mut by_ack = all.clone();
        by_ack.sort_by_key(|one| one.at);
        let mut by_begin = all;
        by_begin.sort_by_key(|one| one.began);
        let mut earlier = by_ack.into_iter().peekable();
        let (mut highest, mut seq): (Option<&Acked>, u64) = (None, 0);
        for one in by_begin {
            while let Some(before) = earlier.next_if(|before| before.at < one.began) {
                seq = seq.max(before.seq);
                highest = highest.filter(|high| high.id > before.id).or(Some(before));
            }
            let above = highest.is_none_or(|high| one.id > high.id) && one.seq > seq;
            assert!(above, "not above what was there before: {one:#?}, {highest:#?}, seq {seq}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A message of one room: sent and acknowledged at these seconds.
    fn acked(name: &str, id: u64, seq: u64, seconds: [u64; 2]) -> Acked {
        static ZERO: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        let [began, at] = seconds.map(|second| *ZERO + Duration::from_secs(second));
        Acked {
            room: "room".to_owned(),
            sender: "ann".to_owned(),
            client_msg_id: name.to_owned(),
            content: name.to_owned(),
            persisted: false,
            began,
            at,
            id,
            seq,
            epoch: "e".to_owned(),
            duplicate: false,
            create_time: Value::Null,
        }
    }

    #[test]
    #[should_panic(expected = "an id is given twice")]
    fn an_id_given_twice_is_found() {
        nothing_is_given_twice(&[acked("a", 1, 1, [0, 1]), acked("b", 1, 2, [1, 2])]);
    }

    #[test]
    #[should_panic(expected = "a seq is given twice")]
    fn a_seq_given_twice_is_found() {
        nothing_is_given_twice(&[acked("a", 1, 1, [0, 1]), acked("b", 2, 1, [1, 2])]);
    }

    #[test]
    fn what_is_sent_at_once_may_stand_in_any_order() {
        what_comes_later_stands_above(&[acked("a", 2, 2, [0, 3]), acked("b", 1, 1, [1, 2])]);
    }

    #[test]
    #[should_panic(expected = "not above")]
    fn an_id_that_goes_back_is_found() {
        let all = [acked("a", 5, 1, [0, 1]), acked("b", 6, 2, [0, 4]), acked("c", 4, 3, [2, 3])];
        what_comes_later_stands_above(&all);
    }

    #[test]
    #[should_panic(expected = "not above")]
    fn a_seq_that_goes_back_is_found() {
        what_comes_later_stands_above(&[acked("a", 1, 7, [0, 1]), acked("b", 2, 6, [2, 3])]);
    }
}
