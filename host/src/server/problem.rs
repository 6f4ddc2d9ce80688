//! Answers that the host itself gives, as problem documents (RFC 9457).

use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde::Serialize;

use crate::limits::{OVERLOAD_RETRY_AFTER, REQUEST_BODY_BYTES_MAX, REQUEST_BODY_READ_MAX, REQUEST_DEADLINE};
use crate::runtime::{Body, CallError};

/// The media type of every such answer.
const PROBLEM_JSON: &str = "application/problem+json";

/// Why a request never reached a component, or came back without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// No route leads anywhere.
    NoRoute,
    /// The body is larger than any component takes.
    BodyTooLarge,
    /// The body ended before its length, or was none.
    BodyBroken,
    /// The body did not come in time.
    BodyTooSlow,
    /// The request names its host in no understandable way.
    BadHost,
    /// Too many requests are in work.
    Overloaded,
    /// The component failed.
    Internal,
    /// The component took too long.
    TimedOut,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    r#type: String,
    title: &'static str,
    status: u16,
    code: &'static str,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u128>,
}

impl Problem {
    /// Status, stable code and text of each problem: the whole table. A code has one status, that of
    /// the API document.
    fn entry(self) -> (StatusCode, &'static str, String) {
        match self {
            Self::NoRoute => (StatusCode::NOT_FOUND, "not_found", "nothing is served at this path".into()),
            Self::BodyTooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                format!("a body may have at most {REQUEST_BODY_BYTES_MAX} bytes"),
            ),
            Self::BodyBroken => (StatusCode::BAD_REQUEST, "invalid_request", "the body broke off".into()),
            Self::BodyTooSlow => (
                StatusCode::BAD_REQUEST,
                "invalid_request",
                format!("the body took longer than {} s", REQUEST_BODY_READ_MAX.as_secs()),
            ),
            Self::BadHost => {
                (StatusCode::BAD_REQUEST, "invalid_request", "the Host header is missing or malformed".into())
            }
            Self::Overloaded => {
                (StatusCode::SERVICE_UNAVAILABLE, "overloaded", "too many requests are in work".into())
            }
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "the component failed; the server's log says how".into(),
            ),
            Self::TimedOut => (
                StatusCode::SERVICE_UNAVAILABLE,
                "overloaded",
                format!("the component gave no answer within {} s", REQUEST_DEADLINE.as_secs()),
            ),
        }
    }

    fn retry_after(self) -> Option<Duration> {
        matches!(self, Self::Overloaded | Self::TimedOut).then_some(OVERLOAD_RETRY_AFTER)
    }

    /// The answer.
    pub fn response(self) -> Response<Body> {
        let (status, code, detail) = self.entry();
        let document = Document {
            r#type: format!("urn:im-store:problem:{code}"),
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            code,
            detail,
            retry_after_ms: self.retry_after().map(|after| after.as_millis()),
        };
        let text = Bytes::from(serde_json::to_vec(&document).unwrap_or_default());
        let length = text.len();
        let body = Full::new(text).map_err(|never| match never {}).boxed_unsync();
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(after) = self.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(after.as_secs()));
        }
        response
    }
}

impl From<&CallError> for Problem {
    fn from(error: &CallError) -> Self {
        match error {
            CallError::TimedOut => Self::TimedOut,
            CallError::NoInstance(_) => Self::Overloaded,
            CallError::InstanceGone | CallError::Failed(_) => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Problem, u16, &str); 8] = [
        (Problem::NoRoute, 404, "not_found"),
        (Problem::BodyTooLarge, 413, "too_large"),
        (Problem::BodyBroken, 400, "invalid_request"),
        (Problem::BodyTooSlow, 400, "invalid_request"),
        (Problem::BadHost, 400, "invalid_request"),
        (Problem::Overloaded, 503, "overloaded"),
        (Problem::Internal, 500, "internal"),
        (Problem::TimedOut, 503, "overloaded"),
    ];

    #[tokio::test]
    async fn every_problem_is_a_whole_document() {
        for (problem, status, code) in ALL {
            let response = problem.response();
            assert_eq!(response.status().as_u16(), status);
            let headers = response.headers().clone();
            assert_eq!(headers[CONTENT_TYPE], PROBLEM_JSON);
            assert_eq!(headers.contains_key(RETRY_AFTER), status == 503);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(headers[CONTENT_LENGTH], body.len().to_string().as_str());
            let document: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(document["status"], status);
            assert_eq!(document["code"], code);
            for field in ["type", "title", "detail"] {
                assert_ne!(document[field].as_str().unwrap(), "", "{problem:?} {field}");
            }
        }
    }
}
