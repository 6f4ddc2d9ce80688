//! A request and a response as the functions see them, whatever the platform's own types are.

use crate::problem::Problem;
use serde::Serialize;

pub const JSON: &str = "application/json";

/// A request without its body: all that is needed to decide whether the body is worth reading.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// In capitals, as HTTP writes it.
    pub method: String,
    /// Without the query.
    pub path: String,
    pub query: Option<String>,
    /// The value of the only `authorization` header.
    pub authorization: Option<String>,
    /// What the client announced, in bytes.
    pub content_length: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub head: Head,
    pub body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    /// Names in small letters. `content-length` is always among them: without it an answer is sent
    /// in chunks, and the last chunk may wait for the client's delayed acknowledgement.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn new(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        let headers =
            vec![("content-type", content_type.to_owned()), ("content-length", body.len().to_string())];
        Self { status, headers, body }
    }

    /// `200` with a JSON body that no cache may keep: it is one caller's.
    pub fn json(value: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(value)
            .map_err(|error| Problem::internal(&format!("an answer could not be written: {error}")))?;
        Ok(Self::new(200, JSON, body).with("cache-control", "no-store"))
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
    }
}
