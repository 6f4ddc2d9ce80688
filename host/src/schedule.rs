//! The schedule of `spin.toml`: the host calls a component at intervals, as a client would.
//!
//! Spin has no schedule for HTTP components; it ignores the table, and there something else calls
//! the same route.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full};

use crate::auth::{self, Grant, KeyError, Scope, SigningKey};
use crate::limits::SCHEDULE_TOKEN_LIFE;
use crate::manifest::ScheduleLine;
use crate::output;
use crate::runtime::Body;
use crate::server::Service;

/// The route that a schedule calls.
pub const ROUTE: &str = "/api/archive/run";
/// Who the host is to the app.
const TENANT: &str = "im";
const USER: &str = "im-schedule";
/// Any component answers by this name; the request never leaves the process.
const HOST: &str = "localhost";

/// One line of one component's schedule.
pub struct Schedule {
    pub component: String,
    pub line: ScheduleLine,
    pub key: SigningKey,
}

impl Schedule {
    /// Calls at every interval until the task is ended. The next interval begins when a call is
    /// over, so calls of a line never overlap; each is bounded by the deadline of all requests.
    pub async fn run(self, service: Arc<Service>) {
        let mut last = Outcome::Done;
        loop {
            tokio::time::sleep(self.line.interval).await;
            let outcome = self.call(&service).await;
            // A failure that lasts is told once, and so is its end.
            if outcome != last {
                output::error_line(&format!("{self}: {outcome}"));
            }
            last = outcome;
        }
    }

    async fn call(&self, service: &Service) -> Outcome {
        let request = match self.request() {
            Ok(request) => request,
            Err(error) => return Outcome::NoRequest(error.to_string()),
        };
        let response = service.answer_own(request).await;
        let status = response.status();
        // The call is over when its answer is, not when it begins.
        match response.into_body().collect().await {
            Ok(_) if status.is_success() => Outcome::Done,
            Ok(_) => Outcome::Refused(status),
            Err(error) => Outcome::BrokenOff(error.to_string()),
        }
    }

    fn request(&self) -> Result<Request<Body>, RequestError> {
        let token = auth::mint(
            &self.key,
            &Grant {
                tenant: TENANT,
                user: USER,
                device: None,
                scope: Scope::Service,
                life: SCHEDULE_TOKEN_LIFE,
            },
        )?;
        let text = self.body();
        let length = HeaderValue::from(text.len());
        let body = Full::new(Bytes::from(text));
        Ok(Request::post(format!("http://{HOST}{ROUTE}"))
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(CONTENT_LENGTH, length)
            .body(body.map_err(|never| match never {}).boxed_unsync())?)
    }

    /// What to do; everything that is due unless the line names tasks.
    fn body(&self) -> String {
        match self.tasks().as_slice() {
            [] => serde_json::json!({}),
            tasks => serde_json::json!({ "tasks": tasks }),
        }
        .to_string()
    }

    fn tasks(&self) -> Vec<&'static str> {
        self.line.tasks.iter().map(|task| task.as_str()).collect()
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "schedule of `{}`", self.component)?;
        match self.tasks().as_slice() {
            [] => Ok(()),
            tasks => write!(f, " ({})", tasks.join(", ")),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error("{0}")]
    Token(#[from] KeyError),
    #[error("{0}")]
    Http(#[from] http::Error),
}

/// How a call ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Refused(StatusCode),
    BrokenOff(String),
    NoRequest(String),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Done => write!(f, "the call succeeds again"),
            Self::Refused(status) => write!(f, "POST {ROUTE} is answered {status}"),
            Self::BrokenOff(why) => write!(f, "the answer of POST {ROUTE} breaks off: {why}"),
            Self::NoRequest(why) => write!(f, "no request can be made: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use im_domain::upkeep::Task;

    use super::*;

    fn schedule(tasks: &[Task]) -> Schedule {
        Schedule {
            component: "archive".into(),
            line: ScheduleLine { interval: Duration::from_secs(1), tasks: tasks.to_vec() },
            key: SigningKey::parse("0123456789abcdef0123456789abcdef").unwrap(),
        }
    }

    #[test]
    fn the_request_is_a_clients() {
        let request = schedule(&[]).request().unwrap();
        assert_eq!(request.method(), http::Method::POST);
        assert_eq!(request.uri().path(), ROUTE);
        assert_eq!(request.headers()[CONTENT_LENGTH], "2");
        let token = request.headers()[AUTHORIZATION].to_str().unwrap();
        assert!(token.starts_with("Bearer ey"), "{token}");
    }

    #[test]
    fn the_body_names_the_tasks_of_the_line() {
        assert_eq!(schedule(&[]).body(), "{}");
        let two = schedule(&[Task::Drain, Task::Expire]);
        assert_eq!(two.body(), r#"{"tasks":["drain","expire"]}"#);
        assert_eq!(two.request().unwrap().headers()[CONTENT_LENGTH], two.body().len().to_string());
        assert_eq!(two.to_string(), "schedule of `archive` (drain, expire)");
        assert_eq!(schedule(&[]).to_string(), "schedule of `archive`");
    }
}
