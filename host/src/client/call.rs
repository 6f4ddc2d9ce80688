//! The HTTP client: JSON calls over a bounded number of kept connections, tried again when that can
//! help.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Hyper;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::fault::{CallError, Fault, Refusal};
use super::identity::Identity;
use super::limits::{ANSWER_BYTES_MAX, ATTEMPT_MAX, CONNECT_MAX, CONNECTION_IDLE_MAX};
use super::random::chance;
use super::retry::Retry;
use super::url::ServerUrl;

/// One identity at one server.
pub struct Client {
    http: Hyper<HttpConnector, Full<Bytes>>,
    server: ServerUrl,
    identity: Identity,
    /// One place for each connection that may be open.
    places: Semaphore,
    attempts_max: u32,
}

/// How hard a client works.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    pub connections_max: u16,
    /// Attempts of a call, the first included.
    pub attempts_max: u32,
}

impl Client {
    pub fn new(server: ServerUrl, identity: Identity, effort: Effort) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_MAX));
        let http = Hyper::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(CONNECTION_IDLE_MAX)
            .pool_max_idle_per_host(effort.connections_max.into())
            .build(connector);
        let places = Semaphore::new(effort.connections_max.into());
        Self { http, server, identity, places, attempts_max: effort.attempts_max }
    }

    /// The attempts that a call has.
    pub fn retry(&self) -> Retry {
        Retry::new(self.attempts_max)
    }

    /// Posts `body` and reads the answer. Every call of the client commands may be made again, and
    /// is: a message carries its `clientMsgId`, members that are there are not added twice, a
    /// confirmed position does not move back, and the rest reads.
    pub async fn post<B: Serialize, A: DeserializeOwned>(
        &self,
        route: &'static str,
        body: &B,
    ) -> Result<A, CallError> {
        let body = serde_json::to_vec(body).map_err(|e| CallError {
            route,
            attempts: 0,
            fault: Fault::Request(e.to_string()),
        })?;
        self.call(Method::POST, route, body.into()).await
    }

    pub async fn get<A: DeserializeOwned>(&self, route: &'static str) -> Result<A, CallError> {
        self.call(Method::GET, route, Bytes::new()).await
    }

    async fn call<A: DeserializeOwned>(
        &self,
        method: Method,
        route: &'static str,
        body: Bytes,
    ) -> Result<A, CallError> {
        let mut retry = self.retry();
        loop {
            let fault = match self.attempt(&method, route, body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let wait = if fault.may_pass() { retry.next(fault.retry_after(), chance()) } else { None };
            let Some(wait) = wait else {
                return Err(CallError { route, attempts: retry.attempts(), fault });
            };
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt<A: DeserializeOwned>(
        &self,
        method: &Method,
        route: &str,
        body: Bytes,
    ) -> Result<A, Fault> {
        let request = Request::builder()
            .method(method)
            .uri(self.server.route(route))
            .header(AUTHORIZATION, self.identity.authorization()?)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(Full::new(body))
            .map_err(|e| Fault::Request(e.to_string()))?;
        // The semaphore is never closed; if it were, going on without a place would do no harm.
        let _place = self.places.acquire().await.ok();
        let exchange = tokio::time::timeout(ATTEMPT_MAX, self.exchange(request));
        let body = exchange.await.unwrap_or(Err(Fault::TooSlow))?;
        serde_json::from_slice(&body).map_err(|e| Fault::NotUnderstood(e.to_string()))
    }

    /// The body of a 200.
    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Bytes, Fault> {
        let answer = self.http.request(request).await.map_err(|e| self.no_answer(&e))?;
        let (head, body) = answer.into_parts();
        let body = read(body).await?;
        match head.status {
            StatusCode::OK => Ok(body),
            status => Err(Fault::Refused(Refusal::read(status, &head.headers, &body))),
        }
    }

    fn no_answer(&self, error: &hyper_util::client::legacy::Error) -> Fault {
        let reason = innermost(error);
        if error.is_connect() {
            return Fault::Unreachable { server: self.server.as_str().to_owned(), reason };
        }
        Fault::BrokenOff(reason)
    }
}

async fn read(body: Incoming) -> Result<Bytes, Fault> {
    match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Fault::TooLarge),
        Err(error) => Err(Fault::BrokenOff(innermost(error.as_ref()))),
    }
}

/// What is at the bottom of an error: the layers above it say nothing a person can use.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

impl Effort {
    /// A person waits for one call after the other.
    pub const PERSON: Self = Self { connections_max: 1, attempts_max: super::limits::ATTEMPTS_PERSON };
}

#[cfg(test)]
mod tests;
