//! One line of a file: a message, and what is sent for it.

use std::borrow::Cow;

use im_domain::limits::{CONTENT_BYTES_MAX, TIME_MS_MAX};
use im_domain::pair::check_not_reserved;
use im_domain::{ConversationId, UserId};
use serde::Deserialize;
use serde_json::value::RawValue;
use xxhash_rust::xxh64::Xxh64;

use crate::client::wire::Draft;

/// The type of every message.
const TYPE: &str = "text";

/// A checked line.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// 1 for the first.
    pub number: u64,
    pub conversation: ConversationId,
    pub sender: UserId,
    /// When the message was written, in milliseconds since 1970.
    ts: u64,
    text: String,
}

/// What is wrong with a line, or with sending it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number}: {reason}")]
pub struct LineError {
    pub number: u64,
    pub reason: String,
}

/// A message as it goes into a batch.
#[derive(Debug)]
pub struct Item {
    pub number: u64,
    pub json: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow)]
    conversation_id: Cow<'a, str>,
    #[serde(borrow)]
    sender_id: Cow<'a, str>,
    ts: u64,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl LineError {
    pub fn new(number: u64, reason: impl std::fmt::Display) -> Self {
        Self { number, reason: reason.to_string() }
    }
}

impl Line {
    /// Checks everything that the server would refuse the line for.
    pub fn parse(number: u64, json: &[u8]) -> Result<Self, LineError> {
        Self::read(number, json).map_err(|reason| LineError { number, reason })
    }

    fn read(number: u64, json: &[u8]) -> Result<Self, String> {
        // The parser would take the fields' values in an array too.
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err("must be a JSON object".into());
        }
        let fields: Fields<'_> = serde_json::from_slice(json).map_err(|e| json_reason(&e))?;
        let conversation = ConversationId::parse(fields.conversation_id).map_err(|e| e.to_string())?;
        check_not_reserved(&conversation).map_err(|e| e.to_string())?;
        let sender = UserId::parse_as("senderId", fields.sender_id).map_err(|e| e.to_string())?;
        if fields.ts > TIME_MS_MAX {
            return Err("ts: must be milliseconds from 1970 to the year 9999".into());
        }
        if fields.text.len() > CONTENT_BYTES_MAX {
            return Err(format!("text: must have at most {CONTENT_BYTES_MAX} bytes of UTF-8"));
        }
        Ok(Self { number, conversation, sender, ts: fields.ts, text: fields.text.into_owned() })
    }

    /// The same whenever the same line stands at the same place. The number alone would not do:
    /// two files may tell of one conversation.
    fn client_msg_id(&self) -> String {
        let mut hash = Xxh64::new(0);
        for part in [self.conversation.as_str(), self.sender.as_str(), &self.text] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(&self.ts.to_le_bytes());
        format!("r-{}-{:016x}", self.number, hash.digest())
    }

    /// What is sent for the line.
    pub fn item(&self) -> Result<Item, LineError> {
        let draft = Draft {
            user_id: Some(self.sender.as_str()),
            conversation_id: Some(self.conversation.as_str()),
            to_user_id: None,
            client_msg_id: &self.client_msg_id(),
            client_time: Some(self.ts),
            r#type: TYPE,
            content: &self.text,
            ack: None,
        };
        let json = serde_json::value::to_raw_value(&draft).map_err(|e| LineError::new(self.number, e))?;
        Ok(Item { number: self.number, json })
    }
}

/// To the parser every line is the first; which one it is in the file is said elsewhere.
fn json_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    format!("{reason} (column {})", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;
    use im_domain::ClientMsgId;
    use im_domain::limits::NAME_CHARS_MAX;
    use serde_json::{Value, json};

    fn parse(json: &Value) -> Result<Line, String> {
        Line::parse(7, json.to_string().as_bytes()).map_err(|e| e.to_string())
    }

    fn good() -> Value {
        json!({"conversationId": "c", "senderId": "u", "ts": 5, "text": "a\nb 😀"})
    }

    fn with(field: &str, value: Value) -> Value {
        let mut line = good();
        line[field] = value;
        line
    }

    #[test]
    fn a_good_line_becomes_a_draft() {
        let line = parse(&good()).unwrap();
        let sent: Value = serde_json::from_str(line.item().unwrap().json.get()).unwrap();
        assert_eq!(
            sent,
            json!({"userId": "u", "conversationId": "c", "clientMsgId": line.client_msg_id(),
                   "clientTime": 5, "type": "text", "content": "a\nb 😀"})
        );
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        let long = "x".repeat(CONTENT_BYTES_MAX + 1);
        for (line, part) in [
            (with("conversationId", json!("a b")), "conversationId: may hold only"),
            (with("conversationId", json!("single:x")), "conversationId: ids that begin with"),
            (with("senderId", json!("")), "senderId: must have 1 to"),
            (with("senderId", json!("u".repeat(NAME_CHARS_MAX + 1))), "senderId: must have 1 to"),
            (with("ts", json!(-1)), "invalid value"),
            (with("ts", json!("5")), "invalid type"),
            (with("ts", json!(TIME_MS_MAX + 1)), "ts: must be"),
            (with("text", json!(long)), "text: must have at most"),
            (with("other", json!(1)), "unknown field `other`"),
            (json!({"conversationId": "c", "senderId": "u", "ts": 5}), "missing field `text`"),
            (json!(["c", "u", 5, "a"]), "must be a JSON object"),
        ] {
            let error = parse(&line).unwrap_err();
            assert!(error.starts_with("line 7: ") && error.contains(part), "{error}");
        }
    }

    #[test]
    fn broken_json_is_told_by_its_column() {
        let error = |json: &str| Line::parse(7, json.as_bytes()).unwrap_err().to_string();
        assert_eq!(error(""), "line 7: must be a JSON object");
        assert_eq!(error("{"), "line 7: EOF while parsing an object (column 1)");
        assert_eq!(error("{,"), "line 7: key must be a string (column 2)");
        assert!(Line::parse(7, b"{\"text\":\"\xff\"}").is_err());
    }

    #[test]
    fn the_id_is_stable_and_differs_by_place_and_content() {
        let id =
            |number, line: &Value| Line::parse(number, line.to_string().as_bytes()).unwrap().client_msg_id();
        // Fixed: another id would send what has been sent a second time.
        assert_eq!(id(7, &good()), "r-7-c5ef67c143e45c41");
        let others = [
            id(8, &good()),
            id(7, &with("conversationId", json!("d"))),
            id(7, &with("senderId", json!("v"))),
            id(7, &with("ts", json!(6))),
            id(7, &with("text", json!("a"))),
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(*other, id(7, &good()));
            assert!(!others[..at].contains(other));
        }
        let longest = id(u64::MAX, &good());
        assert!(ClientMsgId::parse(longest.as_str()).is_ok(), "{longest}");
        assert!(longest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{longest}");
    }
}
