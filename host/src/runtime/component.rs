//! A component that is ready for requests.

use std::sync::Arc;

use wasmtime_wasi_http::handler::{ExpirationError, InstantiationError, ProxyHandler};
use wasmtime_wasi_http::p3::bindings::ServicePre;

use super::Body;
use super::state::GuestState;
use super::worker::InstanceMaker;
use crate::capability::Grants;
use crate::limits::REQUEST_DEADLINE;

/// What a guest answered.
pub type Answer = http::Response<Body>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The guest had its time.
    #[error("no answer within {} s", REQUEST_DEADLINE.as_secs())]
    TimedOut,
    /// There is no room for another instance.
    #[error("no instance can be made: {0}")]
    NoInstance(String),
    /// The guest trapped, or answered with an error of its own.
    #[error("{0}")]
    Failed(String),
}

/// A compiled component with its instances.
pub struct RunningComponent {
    id: Arc<str>,
    handler: ProxyHandler<InstanceMaker>,
}

impl RunningComponent {
    pub fn new(id: &str, component: ServicePre<GuestState>, grants: Grants) -> Self {
        let id: Arc<str> = id.into();
        let maker = InstanceMaker { id: Arc::clone(&id), component, grants };
        Self { id, handler: ProxyHandler::new(maker) }
    }

    /// The component's name in the manifest.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Has the component answer a request. The body of the answer may still be on its way.
    pub async fn call(&self, request: http::Request<Body>) -> Result<Answer, CallError> {
        // The handler has a deadline too, but it cannot look at it while the guest computes.
        tokio::time::timeout(REQUEST_DEADLINE, self.handler.handle((), request))
            .await
            .map_err(|_| CallError::TimedOut)?
            .map_err(|error| explain(&error))
    }
}

fn explain(error: &wasmtime::Error) -> CallError {
    if error.is::<ExpirationError>() {
        CallError::TimedOut
    } else if let Some(failed) = error.downcast_ref::<InstantiationError<()>>() {
        CallError::NoInstance(format!("{:#}", failed.error))
    } else {
        CallError::Failed(format!("{error:#}"))
    }
}
