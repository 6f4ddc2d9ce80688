//! When an instance is thrown away.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::Sleep;
use wasmtime_wasi_http::handler::{WorkerExpiration, WorkerStatus};

use crate::limits::{INSTANCE_DEADLINE_GRACE, INSTANCE_IDLE_MAX, REQUEST_DEADLINE};

/// Counts from the last change of what the instance does. It is polled from outside the instance,
/// so that one that computes without end is found too.
pub struct Expiration {
    sleep: Pin<Box<Sleep>>,
}

impl Expiration {
    pub fn new() -> Self {
        Self { sleep: Box::pin(tokio::time::sleep(INSTANCE_IDLE_MAX)) }
    }
}

impl WorkerExpiration for Expiration {
    fn poll(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        status: WorkerStatus,
        since: Instant,
    ) -> Poll<()> {
        let sleep = &mut self.get_mut().sleep;
        let end = tokio::time::Instant::from_std(since + allowed(status));
        if sleep.deadline() != end {
            sleep.as_mut().reset(end);
        }
        sleep.as_mut().poll(context)
    }
}

fn allowed(status: WorkerStatus) -> Duration {
    match status {
        WorkerStatus::Idle => INSTANCE_IDLE_MAX,
        // `since` is when the latest request began: at its deadline every other one is past its own.
        WorkerStatus::Requests | WorkerStatus::PostReturn => REQUEST_DEADLINE + INSTANCE_DEADLINE_GRACE,
    }
}
