//! Redis's own protocol.

use super::Protocol;
use crate::failure::{Outcome, fail};

/// Takes answers that hold certain bytes.
#[derive(Clone, Copy)]
pub struct Resp {
    pub holds: &'static str,
}

impl Protocol for Resp {
    fn answer(self, bytes: &[u8]) -> Outcome<Option<usize>> {
        let Some(length) = length(bytes)? else { return Ok(None) };
        let holds = self.holds.as_bytes();
        match bytes.windows(holds.len()).any(|window| window == holds) {
            true => Ok(Some(length)),
            false => fail(format!("not the answer expected: {}", String::from_utf8_lossy(bytes))),
        }
    }
}

/// Length of the value at the front, if it is there whole.
fn length(bytes: &[u8]) -> Outcome<Option<usize>> {
    let mut wanted = 1_usize;
    let mut at = 0;
    while wanted > 0 {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(end) = rest.windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
        let line = rest.get(..end).unwrap_or_default();
        let number = std::str::from_utf8(line.get(1..).unwrap_or_default()).ok();
        let number = number.and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
        at += end + 2;
        wanted -= 1;
        match line.first() {
            Some(b'*') => wanted += number,
            Some(b'$') if line != b"$-1" => at += number + 2,
            Some(b'+' | b':' | b'$') => {}
            _ => return fail(format!("Redis: {}", String::from_utf8_lossy(line))),
        }
    }
    Ok((at <= bytes.len()).then_some(at))
}

/// A command with its arguments.
pub fn command(words: &[Vec<u8>]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_values_are_whole_with_their_last_byte() {
        let value = b"*3\r\n$2\r\nok\r\n*2\r\n:1\r\n$-1\r\n+fine\r\n";
        for cut in 0..value.len() {
            assert_eq!(length(&value[..cut]).ok().flatten(), None, "{cut}");
        }
        assert_eq!(length(value).ok().flatten(), Some(value.len()));
        assert!(length(b"-ERR no\r\n").is_err());
        assert_eq!(command(&[b"GET".to_vec(), b"a".to_vec()]), b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
    }
}
