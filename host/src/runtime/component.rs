//! A component that is ready for requests.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use wasmtime_wasi_http::handler::{ExpirationError, InstantiationError, TrapOrPanicError};

use super::Body;
use super::lane::{Lane, Seen, Ticket};
use super::worker::InstanceMaker;
use crate::limits::{REQUEST_DEADLINE, STALL_CHECK_INTERVAL};
use crate::output;

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
    /// The instance came to its end with the request in it; its own error is told when it goes.
    #[error("the instance is gone")]
    InstanceGone,
    /// The guest answered with an error of its own.
    #[error("{0}")]
    Failed(String),
}

/// A compiled component with its instances.
pub struct RunningComponent {
    maker: InstanceMaker,
    lane: RwLock<Arc<Lane>>,
}

impl RunningComponent {
    /// Must be called within the runtime: the component is watched from then on.
    pub fn new(maker: InstanceMaker) -> Arc<Self> {
        let lane = RwLock::new(Arc::new(Lane::new(maker.clone())));
        let component = Arc::new(Self { maker, lane });
        tokio::spawn(watch(Arc::downgrade(&component)));
        component
    }

    /// The component's name in the manifest.
    pub fn id(&self) -> &Arc<str> {
        &self.maker.id
    }

    /// Has the component answer a request. The body of the answer may still be on its way.
    pub async fn call(&self, request: http::Request<Body>) -> Result<Answer, CallError> {
        let lane = self.lane();
        // The handler has a deadline too, but it cannot look at it while the guest computes.
        let answer = lane.handler.handle(lane.ticket(), request);
        tokio::time::timeout(REQUEST_DEADLINE, answer)
            .await
            .map_err(|_| CallError::TimedOut)?
            .map_err(|error| explain(&error))
    }

    fn lane(&self) -> Arc<Lane> {
        Arc::clone(&self.lane.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends later requests to fresh instances. Those of the old lane finish what they have, and go
    /// as idle ones do.
    fn change_lane(&self) {
        output::error_line(&format!(
            "component `{}`: requests wait behind a busy instance; new instances take over",
            self.id()
        ));
        let fresh = Arc::new(Lane::new(self.maker.clone()));
        *self.lane.write().unwrap_or_else(PoisonError::into_inner) = fresh;
    }
}

async fn watch(component: Weak<RunningComponent>) {
    let mut before = Seen::default();
    loop {
        tokio::time::sleep(STALL_CHECK_INTERVAL).await;
        let Some(component) = component.upgrade() else {
            return;
        };
        let seen = component.lane().look();
        if seen.is_stalled_since(before) {
            component.change_lane();
            before = Seen::default();
        } else {
            before = seen;
        }
    }
}

fn explain(error: &wasmtime::Error) -> CallError {
    if error.is::<ExpirationError>() {
        CallError::TimedOut
    } else if error.is::<TrapOrPanicError>() {
        CallError::InstanceGone
    } else if let Some(failed) = error.downcast_ref::<InstantiationError<Ticket>>() {
        CallError::NoInstance(format!("{:#}", failed.error))
    } else {
        CallError::Failed(format!("{error:#}"))
    }
}
