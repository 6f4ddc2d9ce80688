//! Why a call failed, and whether it may succeed when made again.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::identity::IdentityError;
use super::limits::{ANSWER_BYTES_MAX, ANSWER_QUOTE_CHARS_MAX, ATTEMPT_MAX};
use super::text::one_line;

/// A call that failed for good.
#[derive(Debug, thiserror::Error)]
#[error("{route}: {fault}{}", after(*attempts))]
pub struct CallError {
    pub route: &'static str,
    /// Attempts made.
    pub attempts: u32,
    pub fault: Fault,
}

fn after(attempts: u32) -> String {
    if attempts > 1 { format!(" (after {attempts} attempts)") } else { String::new() }
}

/// What went wrong with one attempt.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    Identity(#[from] IdentityError),
    #[error("the request cannot be made: {0}")]
    Request(String),
    #[error("{server} cannot be reached: {reason}")]
    Unreachable { server: String, reason: String },
    #[error("the answer broke off: {0}")]
    BrokenOff(String),
    #[error("no answer within {} s", ATTEMPT_MAX.as_secs())]
    TooSlow,
    #[error("the answer has more than {ANSWER_BYTES_MAX} bytes")]
    TooLarge,
    #[error("{0}")]
    Refused(Refusal),
    #[error("the answer is not that of a message store: {0}")]
    NotUnderstood(String),
}

impl Fault {
    /// Whether the same call may succeed later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::BrokenOff(_) | Self::TooSlow => true,
            Self::Refused(refusal) => refusal.may_pass(),
            Self::Identity(_) | Self::Request(_) | Self::TooLarge | Self::NotUnderstood(_) => false,
        }
    }

    /// The wait the server asked for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after(),
            _ => None,
        }
    }
}

/// A problem document: the answer to a call, or to one message of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub status: u16,
    pub code: String,
    #[serde(default)]
    detail: String,
    retry_after_ms: Option<u64>,
}

impl Refusal {
    /// What an answer other than 200 says. One that is no problem document comes from something
    /// before the server, or from no message store at all.
    pub fn read(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let refusal = serde_json::from_slice(body).unwrap_or_else(|_| Self {
            status: status.as_u16(),
            code: "no problem document".into(),
            detail: one_line(&String::from_utf8_lossy(body), ANSWER_QUOTE_CHARS_MAX),
            retry_after_ms: None,
        });
        let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let retry_after_ms = refusal.retry_after_ms.or(header.map(|s| s.saturating_mul(1_000)));
        Self { retry_after_ms, ..refusal }
    }

    /// Whether it is the server's state that is to blame, not the request.
    pub fn may_pass(&self) -> bool {
        let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        self.status >= 500 || passing.iter().any(|status| self.status == *status)
    }

    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", one_line(&self.code, ANSWER_QUOTE_CHARS_MAX), self.status)?;
        if !self.detail.is_empty() {
            write!(f, ": {}", one_line(&self.detail, ANSWER_QUOTE_CHARS_MAX))?;
        }
        if self.status == StatusCode::UNAUTHORIZED {
            write!(f, " (is the key that of this server? see --data, --key and --token)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn read(status: u16, body: &str) -> Refusal {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("2"))]);
        Refusal::read(StatusCode::from_u16(status).unwrap(), &headers, body.as_bytes())
    }

    #[test]
    fn a_problem_document_is_told() {
        let body = r#"{"type":"urn:x","title":"T","status":403,"code":"not_member","detail":"no\u001b[1m"}"#;
        let refusal = read(403, body);
        assert_eq!(refusal.to_string(), "not_member (403): no\u{fffd}[1m");
        assert!(!refusal.may_pass());
    }

    #[test]
    fn the_servers_wait_is_read_from_the_document_first() {
        let precise = read(503, r#"{"status":503,"code":"overloaded","retryAfterMs":1500}"#);
        assert_eq!(precise.retry_after(), Some(Duration::from_millis(1500)));
        assert_eq!(precise.to_string(), "overloaded (503)");
        assert!(precise.may_pass());
        assert_eq!(read(429, "wait").retry_after(), Some(Duration::from_secs(2)));
    }

    #[test]
    fn another_answer_is_quoted() {
        let refusal = read(502, "<html>\nBad Gateway</html>");
        assert_eq!(refusal.to_string(), "no problem document (502): <html> Bad Gateway</html>");
        assert!(refusal.may_pass());
    }
}
