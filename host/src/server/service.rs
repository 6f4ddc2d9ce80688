//! One request: from its head to the answer's body.

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::sync::Semaphore;

use super::access_log::{AccessLog, Record};
use super::body::Outgoing;
use super::problem::Problem;
use super::request::{Prepared, prepare};
use super::room::{BodyRoom, Share};
use super::router::Router;
use crate::limits::REQUESTS_CONCURRENT_MAX;
use crate::output;
use crate::runtime::{Body, CallError, RunningComponent};

/// The app as requests meet it.
pub struct Service {
    router: Router,
    slots: Arc<Semaphore>,
    bodies: BodyRoom,
    log: AccessLog,
}

impl Service {
    pub fn new(router: Router, log: AccessLog) -> Self {
        Self {
            router,
            slots: Arc::new(Semaphore::new(REQUESTS_CONCURRENT_MAX)),
            bodies: BodyRoom::new(),
            log,
        }
    }

    /// Answers a client's request.
    pub async fn answer(&self, request: Request<Incoming>) -> Response<Outgoing> {
        let record = self.log.begin(request.method(), request.uri().path());
        self.guarded(record, request, async |request| prepare(request, &self.bodies).await).await
    }

    /// Answers a request of the host itself, by the same way. It is nobody's access, and the host tells
    /// how it ended when there is something to tell.
    pub async fn answer_own(&self, request: Request<Body>) -> Response<Outgoing> {
        let record = AccessLog::off().begin(request.method(), request.uri().path());
        self.guarded(record, request, async |request| Ok(Prepared { request, share: None })).await
    }

    async fn guarded<B>(
        &self,
        mut record: Record,
        request: Request<B>,
        prepare: impl AsyncFnOnce(Request<B>) -> Result<Prepared, Problem>,
    ) -> Response<Outgoing> {
        let path = request.uri().path();
        let Some(component) = self.router.find(path).cloned() else {
            return finish(Problem::NoRoute.response(), record, None);
        };
        record.set_component(component.id());
        let Prepared { request, share: room_in } = match prepare(request).await {
            Ok(prepared) => prepared,
            Err(problem) => return finish(problem.response(), record, None),
        };
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            return finish(Problem::Overloaded.response(), record, None);
        };
        let answer = call(&component, request).await;
        // The answer is taken from the instance before the client gets it: how fast a client reads
        // must not decide how long an instance and a place among the requests are taken.
        let (answer, room_out) = self.bodies.collect(answer).await;
        drop((slot, room_in));
        finish(answer, record, room_out)
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

fn finish(answer: Response<Body>, mut record: Record, share: Share) -> Response<Outgoing> {
    record.set_status(answer.status());
    answer.map(|body| Outgoing::new(body, record, share))
}
