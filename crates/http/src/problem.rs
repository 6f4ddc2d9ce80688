//! Problem documents (RFC 9457): the one table from what can go wrong to what a client is told.

use crate::exchange::Response;
use crate::log;
use im_domain::Error;
use im_domain::limits::{PROBLEM_DETAIL_CHARS_MAX, PROBLEM_FIELD_CHARS_MAX, REQUEST_BYTES_MAX};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

pub const PROBLEM_JSON: &str = "application/problem+json";
const TYPE_PREFIX: &str = "urn:im-store:problem:";

/// Defines the codes: name, HTTP status, spelling, title. Spellings never change.
macro_rules! codes {
    ($($case:ident $status:literal $text:literal $title:literal),+ $(,)?) => {
        /// What a client can tell problems apart by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $($case),+ }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Self::$case),+];

            pub fn status(self) -> u16 {
                match self { $(Self::$case => $status),+ }
            }

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$case => $text),+ }
            }

            pub fn title(self) -> &'static str {
                match self { $(Self::$case => $title),+ }
            }
        }
    };
}

codes! {
    InvalidRequest 400 "invalid_request" "The request is not valid",
    Unauthenticated 401 "unauthenticated" "A valid token is needed",
    Forbidden 403 "forbidden" "This is not allowed",
    NotMember 403 "not_member" "Not a member of the conversation",
    NotFound 404 "not_found" "There is no such route",
    ConversationNotFound 404 "conversation_not_found" "There is no such conversation",
    MessageNotFound 404 "message_not_found" "There is no such message",
    MethodNotAllowed 405 "method_not_allowed" "The route has another method",
    Conflict 409 "conflict" "The request contradicts what is stored",
    TooLarge 413 "too_large" "Something is too large",
    RateLimited 429 "rate_limited" "Too many requests",
    Overloaded 503 "overloaded" "The store is overloaded",
    HotUnavailable 503 "hot_unavailable" "The hot store is not reachable",
    SqlUnavailable 503 "sql_unavailable" "The SQL store is not reachable",
    Internal 500 "internal" "Something went wrong inside",
}

/// One problem, as an answer of its own or as one item's place in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub code: Code,
    pub detail: String,
    /// Path of the request's field that is to blame, such as `replyTo.msgId`.
    pub field: Option<String>,
    pub retry_after_ms: Option<u64>,
    /// The method the route has, where another was used.
    pub allow: Option<&'static str>,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let detail = cut(detail.into(), PROBLEM_DETAIL_CHARS_MAX);
        Self { code, detail, field: None, retry_after_ms: None, allow: None }
    }

    fn about(code: Code, field: impl Into<String>, detail: impl Into<String>) -> Self {
        let field = Some(cut(field.into(), PROBLEM_FIELD_CHARS_MAX));
        Self { field, ..Self::new(code, detail) }
    }

    fn later(code: Code, detail: impl Into<String>, retry_after_ms: u64) -> Self {
        Self { retry_after_ms: Some(retry_after_ms), ..Self::new(code, detail) }
    }

    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::invalid(field, reason).into()
    }

    pub fn forbidden(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::about(Code::Forbidden, field, reason)
    }

    /// `reason` must not repeat the token, nor anything it claims.
    pub fn unauthenticated(reason: impl Into<String>) -> Self {
        Self::new(Code::Unauthenticated, reason)
    }

    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "this path is not one of the API's")
    }

    pub fn method_not_allowed(allow: &'static str) -> Self {
        Self { allow: Some(allow), ..Self::new(Code::MethodNotAllowed, format!("use {allow}")) }
    }

    pub fn body_too_large() -> Self {
        let detail = format!("the body may have at most {REQUEST_BYTES_MAX} bytes");
        Self::about(Code::TooLarge, "body", detail)
    }

    /// Writes `reason` to the log; the client is told nothing of what is inside.
    pub fn internal(reason: &str) -> Self {
        log::error(reason);
        Self::new(Code::Internal, "the log of the service says what happened")
    }

    pub fn response(&self) -> Response {
        let body = serde_json::to_vec(self).unwrap_or_default();
        let mut response =
            Response::new(self.code.status(), PROBLEM_JSON, body).with("cache-control", "no-store");
        if self.code == Code::Unauthenticated {
            response = response.with("www-authenticate", "Bearer");
        }
        if let Some(method) = self.allow {
            response = response.with("allow", method);
        }
        if let Some(ms) = self.retry_after_ms {
            response = response.with("retry-after", ms.div_ceil(1_000).to_string());
        }
        response
    }
}

fn cut(text: String, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::Invalid { field, .. } => Self::about(Code::InvalidRequest, field, detail),
            Error::TooLarge { field, .. } => Self::about(Code::TooLarge, field, detail),
            Error::Forbidden { field: Some(field), .. } => Self::about(Code::Forbidden, field, detail),
            Error::Forbidden { field: None, .. } => Self::new(Code::Forbidden, detail),
            Error::NotMember => Self::new(Code::NotMember, detail),
            Error::ConversationNotFound => Self::new(Code::ConversationNotFound, detail),
            Error::MessageNotFound { field } => Self::about(Code::MessageNotFound, field, detail),
            Error::Conflict { field, .. } => Self::about(Code::Conflict, field, detail),
            Error::RateLimited { retry_after_ms: ms } => Self::later(Code::RateLimited, detail, ms),
            Error::Overloaded { retry_after_ms: ms } => Self::later(Code::Overloaded, detail, ms),
            Error::HotUnavailable { retry_after_ms: ms } => Self::later(Code::HotUnavailable, detail, ms),
            Error::SqlUnavailable { retry_after_ms: ms } => Self::later(Code::SqlUnavailable, detail, ms),
            Error::Internal { reason } => Self::internal(&reason),
        }
    }
}

/// A problem document.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Problem")]
pub struct Document<'a> {
    /// A URN that ends in the code.
    r#type: String,
    title: &'static str,
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// Stable: what a program decides by.
    #[schemars(schema_with = "code_schema")]
    code: &'static str,
    /// For people; may change.
    detail: &'a str,
    /// Path of the request's field that is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// When to try again, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

fn code_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    schemars::json_schema!({ "type": "string", "enum": codes })
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = Document {
            r#type: format!("{TYPE_PREFIX}{}", self.code.as_str()),
            title: self.code.title(),
            status: self.code.status(),
            code: self.code.as_str(),
            detail: &self.detail,
            field: self.field.as_deref(),
            retry_after_ms: self.retry_after_ms,
        };
        document.serialize(serializer)
    }
}

/// In a schema a problem is its document.
impl JsonSchema for Problem {
    fn schema_name() -> Cow<'static, str> {
        Document::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Document::json_schema(generator)
    }
}

#[cfg(test)]
mod tests;
