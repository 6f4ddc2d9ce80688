//! The HTTP client. It checks on every answer what the contract promises of all answers, so that
//! no test has to: a true `content-length`, the right media type, whole problem documents, numbers
//! that survive JavaScript.

use crate::shape;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{self, HeaderMap};
use hyper::{Method, Request};
use hyper_util::client::legacy::Client as Hyper;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use std::time::Duration;

/// How long one request may take before the test fails.
const REQUEST_WITHIN: Duration = Duration::from_secs(120);
/// How often [`Client::patient`] asks again when the server says it is too busy.
const RETRIES_MAX: usize = 60;

/// One actor (a token) on one server; clones share their connections.
#[derive(Clone)]
pub struct Client {
    http: Hyper<HttpConnector, Full<Bytes>>,
    base: String,
    /// The whole value of the header.
    authorization: Option<String>,
}

pub struct Answer {
    pub route: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Client {
    /// Without a token.
    pub fn new(base: &str) -> Self {
        assert!(base.starts_with("http://"), "the suite speaks plain HTTP, not {base}");
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = Hyper::builder(TokioExecutor::new()).build(connector);
        Self { http, base: base.to_owned(), authorization: None }
    }

    /// The same actor on connections of its own.
    pub fn fresh(&self) -> Self {
        Self { http: Self::new(&self.base).http, ..self.clone() }
    }

    /// Another actor on the same connections.
    pub fn with_token(&self, token: &str) -> Self {
        self.with_authorization(&format!("Bearer {token}"))
    }

    /// Whoever this value of the header makes one.
    pub fn with_authorization(&self, value: &str) -> Self {
        Self { authorization: Some(value.to_owned()), ..self.clone() }
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn token(&self) -> &str {
        let value = self.authorization.as_deref().unwrap_or_default();
        value.strip_prefix("Bearer ").unwrap_or_default()
    }

    pub async fn post(&self, route: &str, body: Value) -> Answer {
        self.exchange(Method::POST, route, body.to_string().into()).await
    }

    pub async fn get(&self, route: &str) -> Answer {
        self.exchange(Method::GET, route, Bytes::new()).await
    }

    /// Posts a body that need not be JSON.
    pub async fn post_bytes(&self, route: &str, body: impl Into<Bytes>) -> Answer {
        self.exchange(Method::POST, route, body.into()).await
    }

    /// Posts and expects 200.
    pub async fn ok(&self, route: &str, body: Value) -> Value {
        self.post(route, body).await.ok()
    }

    /// As [`Self::ok`], and asks again while the server says that it is too busy.
    pub async fn patient(&self, route: &str, body: Value) -> Value {
        self.patient_post(route, body).await.ok()
    }

    /// As [`Self::post`], and asks again while the server says that it is too busy.
    pub async fn patient_post(&self, route: &str, body: Value) -> Answer {
        for _ in 0..RETRIES_MAX {
            let answer = self.post(route, body.clone()).await;
            match answer.body["code"].as_str() {
                Some("overloaded" | "rate_limited") => {
                    let wait = answer.body["retryAfterMs"].as_u64().expect("says when to retry");
                    tokio::time::sleep(Duration::from_millis(wait.min(2_000))).await;
                }
                _ => return answer,
            }
        }
        panic!("{route}: still too busy after {RETRIES_MAX} attempts");
    }

    /// Posts, and says so if there is no whole answer: for servers that get killed meanwhile.
    pub async fn try_post(&self, route: &str, body: &Value) -> Option<Answer> {
        let body = body.to_string();
        self.try_exchange(Method::POST, route, body.into()).await.map_err(drop).ok()
    }

    pub async fn exchange(&self, method: Method, route: &str, body: Bytes) -> Answer {
        let answer = self.try_exchange(method, route, body).await;
        answer.unwrap_or_else(|reason| panic!("{route}: {reason}"))
    }

    async fn try_exchange(&self, method: Method, route: &str, body: Bytes) -> Result<Answer, String> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{route}", self.base))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(body)).expect("a well-formed request");
        let exchange = async {
            let response = self.http.request(request).await.map_err(|e| format!("{e:?}"))?;
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|e| format!("{e:?}"))?.to_bytes();
            Ok::<_, String>((head.status.as_u16(), head.headers, body))
        };
        let (status, headers, body) = tokio::time::timeout(REQUEST_WITHIN, exchange)
            .await
            .map_err(|_| format!("no answer within {REQUEST_WITHIN:?}"))??;
        Ok(Answer::checked(route, status, headers, &body))
    }
}

impl Answer {
    fn checked(route: &str, status: u16, headers: HeaderMap, body: &[u8]) -> Self {
        let header = |name| headers.get(name).map(|value| value.to_str().expect("ASCII headers"));
        let length = header(header::CONTENT_LENGTH).map(|text| text.parse::<usize>());
        assert_eq!(length, Some(Ok(body.len())), "{route} {status}: content-length");
        let media_type = header(header::CONTENT_TYPE).unwrap_or_default().to_owned();
        let wanted = if status < 400 { "application/json" } else { "application/problem+json" };
        assert!(media_type.starts_with(wanted), "{route} {status}: content-type {media_type:?}");
        let body: Value = serde_json::from_slice(body)
            .unwrap_or_else(|e| panic!("{route} {status}: {e}: {}", String::from_utf8_lossy(body)));
        shape::numbers_fit_doubles(&body, route);
        let answer = Self { route: route.to_owned(), status, headers, body };
        if status >= 400 {
            answer.check_problem();
        }
        answer
    }

    /// The body of a 200.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}: {}", self.route, self.body);
        self.body
    }

    /// Expects a refusal with this code (and the status that belongs to it).
    #[track_caller]
    pub fn refused(&self, code: &str) -> &Self {
        let found = self.body["code"].as_str();
        assert_eq!(found, Some(code), "{} {}: {}", self.route, self.status, self.body);
        self
    }

    /// Expects the refusal to name this field.
    #[track_caller]
    pub fn naming(&self, field: &str) -> &Self {
        assert_eq!(self.body["field"], field, "{}: {}", self.route, self.body);
        self
    }

    fn check_problem(&self) {
        let status = shape::problem(&self.body, &self.route);
        assert_eq!(status, u64::from(self.status), "{}: {}", self.route, self.body);
        if matches!(self.status, 429 | 503) {
            assert!(self.headers.contains_key(header::RETRY_AFTER), "{}: Retry-After", self.route);
        }
    }
}
