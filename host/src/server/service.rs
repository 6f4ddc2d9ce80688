//! One request: from its head to the answer's body.

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::sync::Semaphore;

use super::access_log::{AccessLog, Record};
use super::body::Outgoing;
use super::problem::Problem;
use super::request::prepare;
use super::router::Router;
use crate::limits::REQUESTS_CONCURRENT_MAX;
use crate::output;
use crate::runtime::{Body, CallError, RunningComponent};

/// The app as requests meet it.
pub struct Service {
    router: Router,
    slots: Arc<Semaphore>,
    log: AccessLog,
}

impl Service {
    pub fn new(router: Router, log: AccessLog) -> Self {
        Self { router, slots: Arc::new(Semaphore::new(REQUESTS_CONCURRENT_MAX)), log }
    }

    /// Answers a client's request.
    pub async fn answer(&self, request: Request<Incoming>) -> Response<Outgoing> {
        self.guarded(request, prepare).await
    }

    /// Answers a request of the host itself, by the same way.
    pub async fn answer_own(&self, request: Request<Body>) -> Response<Outgoing> {
        self.guarded(request, async |request| Ok(request)).await
    }

    async fn guarded<B>(
        &self,
        request: Request<B>,
        prepare: impl AsyncFnOnce(Request<B>) -> Result<Request<Body>, Problem>,
    ) -> Response<Outgoing> {
        let path = request.uri().path();
        let mut record = self.log.begin(request.method(), path);
        let Some(component) = self.router.find(path).cloned() else {
            return finish(Problem::NoRoute.response(), record, None);
        };
        record.set_component(component.id());
        let request = match prepare(request).await {
            Ok(request) => request,
            Err(problem) => return finish(problem.response(), record, None),
        };
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            return finish(Problem::Overloaded.response(), record, None);
        };
        finish(call(&component, request).await, record, Some(slot))
    }
}

async fn call(component: &RunningComponent, request: Request<Body>) -> Response<Body> {
    match component.call(request).await {
        Ok(answer) => answer,
        Err(error) => {
            // An instance that goes tells why itself.
            if !matches!(error, CallError::InstanceGone) {
                output::error_line(&format!("component `{}`: {error}", component.id()));
            }
            Problem::from(&error).response()
        }
    }
}

fn finish(
    answer: Response<Body>,
    mut record: Record,
    slot: Option<tokio::sync::OwnedSemaphorePermit>,
) -> Response<Outgoing> {
    record.set_status(answer.status());
    answer.map(|body| Outgoing::new(body, record, slot))
}
