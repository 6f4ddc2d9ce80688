//! Messages and times as a person or a program reads them.

use std::io::{self, Write};

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::text::{one_line, set_in};
use super::wire::Message;

/// Longest sender or type shown, in characters: the longest name.
const NAME_CHARS_MAX: usize = im_domain::limits::NAME_CHARS_MAX;

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Time, sender, text.
    Human,
    /// The server's JSON, one message a line.
    Json,
}

/// Writes messages to stdout, all the way: what is written may be confirmed to the server.
pub fn messages(messages: &[Box<RawValue>], form: Form) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for message in messages {
        writeln!(out, "{}", message_line(message, form)?)?;
    }
    out.flush()
}

fn message_line(message: &RawValue, form: Form) -> serde_json::Result<String> {
    match form {
        Form::Json => Ok(json_line(message)),
        Form::Human => Ok(human(&serde_json::from_str(message.get())?)),
    }
}

/// JSON on one line: line breaks in valid JSON stand only between its parts.
pub fn json_line(json: &RawValue) -> String {
    json.get().replace(['\n', '\r'], " ")
}

fn human(message: &Message) -> String {
    let time = time(message.create_time);
    let sender = one_line(&message.sender_id, NAME_CHARS_MAX);
    let text = match (message.status.as_str(), message.r#type.as_str()) {
        ("normal", "text") => set_in(&message.content),
        ("normal", kind) => format!("[{}] {}", one_line(kind, NAME_CHARS_MAX), set_in(&message.content)),
        (status, _) => format!("({})", one_line(status, NAME_CHARS_MAX)),
    };
    format!("{time}  {sender}  {text}")
}

/// A time in UTC to the millisecond; a number that is no time is shown as it is.
pub fn time(ms: u64) -> String {
    let timestamp = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    timestamp.map_or_else(|| ms.to_string(), |t| t.strftime("%Y-%m-%d %H:%M:%S%.3fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str, form: Form) -> String {
        message_line(&RawValue::from_string(json.into()).unwrap(), form).unwrap()
    }

    #[test]
    fn a_person_sees_time_sender_and_text() {
        let line = |kind: &str, status: &str, content: &str| {
            let json = format!(
                r#"{{"msgId":"1","senderId":"u1","createTime":1527628837045,"type":"{kind}",
                    "status":"{status}","content":"{content}"}}"#
            );
            shown(&json, Form::Human)
        };
        assert_eq!(line("text", "normal", r"a\nb"), "2018-05-29 21:20:37.045Z  u1  a\n    b");
        assert_eq!(line("image", "normal", "x.png"), "2018-05-29 21:20:37.045Z  u1  [image] x.png");
        assert_eq!(line("text", "recalled", ""), "2018-05-29 21:20:37.045Z  u1  (recalled)");
    }

    #[test]
    fn a_program_gets_all_of_it_on_one_line() {
        assert_eq!(shown("{\"new\":1,\n \"a\":\"\\n\"}", Form::Json), r#"{"new":1,  "a":"\n"}"#);
    }

    #[test]
    fn no_number_is_too_large_for_a_time() {
        assert_eq!(time(0), "1970-01-01 00:00:00.000Z");
        assert_eq!(time(u64::MAX), u64::MAX.to_string());
    }
}
