//! The instances that share one queue of requests, and whether that queue moves.
//!
//! wasmtime's handler hands a request to an instance that has said it has room. A guest that then
//! computes without a pause keeps its request, which its deadline ends, but also those that were
//! queued for it. So a lane whose queue stands still is left to itself, and a new one takes over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime_wasi_http::handler::ProxyHandler;

use super::worker::InstanceMaker;

/// One queue with its instances.
pub struct Lane {
    pub handler: ProxyHandler<InstanceMaker>,
    progress: Arc<Progress>,
}

/// Requests that were handed over, and those that an instance began.
#[derive(Default)]
struct Progress {
    handed: AtomicU64,
    begun: AtomicU64,
}

/// Travels with a request until an instance begins it, or until it is given up.
pub struct Ticket(Arc<Progress>);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
    }
}

/// What was seen at the last look.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    begun: u64,
    waiting: bool,
}

impl Lane {
    pub fn new(maker: InstanceMaker) -> Self {
        Self { handler: ProxyHandler::new(maker), progress: Arc::default() }
    }

    /// The ticket of one more request.
    pub fn ticket(&self) -> Ticket {
        self.progress.handed.fetch_add(1, Ordering::Relaxed);
        Ticket(Arc::clone(&self.progress))
    }

    /// Looks at the queue.
    pub fn look(&self) -> Seen {
        // In this order, so that a request between the two reads counts as waiting, never as gone.
        let begun = self.progress.begun.load(Ordering::Relaxed);
        let handed = self.progress.handed.load(Ordering::Relaxed);
        Seen { begun, waiting: handed > begun }
    }
}

impl Seen {
    /// Whether requests waited at both looks, and none began in between.
    pub fn is_stalled_since(self, before: Self) -> bool {
        self.waiting && before == self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalled_only_when_nothing_begins() {
        let seen = |begun, waiting| Seen { begun, waiting };
        assert!(seen(3, true).is_stalled_since(seen(3, true)));
        assert!(!seen(4, true).is_stalled_since(seen(3, true)));
        assert!(!seen(3, true).is_stalled_since(seen(3, false)));
        assert!(!seen(3, false).is_stalled_since(seen(3, false)));
    }
}
