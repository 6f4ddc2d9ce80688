//! HTTP/1.1 as far as the two servers use it: every answer has a `content-length`.

use super::Protocol;
use crate::failure::{Outcome, fail};

const HEAD_END: &[u8] = b"\r\n\r\n";
const LENGTH: &[u8] = b"content-length:";

/// Takes answers of status 200 whose body holds a certain text.
#[derive(Clone, Copy)]
pub struct Http {
    pub holds: &'static str,
}

impl Protocol for Http {
    fn answer(self, bytes: &[u8]) -> Outcome<Option<usize>> {
        let Some(head_length) = find(bytes, HEAD_END).map(|at| at + HEAD_END.len()) else {
            return Ok(None);
        };
        let head = bytes.get(..head_length).unwrap_or_default();
        let Some(length) = content_length(head) else { return fail("an answer without content-length") };
        let body = bytes.get(head_length..).unwrap_or_default();
        if body.len() < length {
            return Ok(None);
        }
        if !head.starts_with(b"HTTP/1.1 200 ") || find(body, self.holds.as_bytes()).is_none() {
            return fail(format!("not the answer expected: {}", String::from_utf8_lossy(bytes)));
        }
        Ok(Some(head_length + length))
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let lines = head.split(|byte| *byte == b'\n');
    let is_length =
        |line: &&[u8]| line.get(..LENGTH.len()).is_some_and(|name| name.eq_ignore_ascii_case(LENGTH));
    let line = lines.into_iter().find(is_length)?;
    std::str::from_utf8(line.get(LENGTH.len()..)?).ok()?.trim().parse().ok()
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    match text.is_empty() {
        true => Some(0),
        false => bytes.windows(text.len()).position(|window| window == text),
    }
}

/// A request with a JSON body.
pub fn post(path: &str, token: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The body of an answer.
pub fn body(answer: &[u8]) -> &[u8] {
    let start = find(answer, HEAD_END).map_or(answer.len(), |at| at + HEAD_END.len());
    answer.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd";
        let ask = |bytes: &[u8]| Http { holds: "bc" }.answer(bytes).ok().flatten();
        assert_eq!(ask(answer), Some(answer.len()));
        assert_eq!(ask(&answer[..answer.len() - 1]), None);
        assert_eq!(ask(&answer[..10]), None);
        assert!(Http { holds: "x" }.answer(answer).is_err());
        assert!(Http { holds: "" }.answer(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").is_err());
        assert_eq!(body(answer), b"abcd");
    }
}
