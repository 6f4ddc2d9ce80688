//! Watching over statements that take long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::blocking::blocking;
use crate::limits::{SQLITE_HANDOVER_PAUSE, SQLITE_STATEMENT_MAX};

/// The watch of one connection. SQLite asks it every so many steps whether to go on.
pub struct Watch {
    born: Instant,
    /// Milliseconds since `born` at which the statement in work has to stop.
    stop_at_ms: AtomicU64,
    /// Whether this thread's other tasks have been handed over for the statement in work.
    handed_over: AtomicBool,
}

impl Watch {
    pub fn new() -> Self {
        Self {
            born: Instant::now(),
            stop_at_ms: AtomicU64::new(u64::MAX),
            handed_over: AtomicBool::new(false),
        }
    }

    /// A statement begins.
    pub fn start(&self) {
        self.stop_at(self.born.elapsed() + SQLITE_STATEMENT_MAX);
        self.handed_over.store(false, Ordering::Relaxed);
    }

    pub(super) fn stop_at(&self, since_born: Duration) {
        self.stop_at_ms.store(millis(since_born), Ordering::Relaxed);
    }

    /// Whether the statement has to stop. Most statements end before the first look; one that does
    /// not may take any time, so the thread's other tasks go to another thread. That one needs the
    /// pause to take them: without it they would come back with the end of the handover.
    pub fn look(&self) -> bool {
        if !self.handed_over.swap(true, Ordering::Relaxed) {
            blocking(|| std::thread::sleep(SQLITE_HANDOVER_PAUSE));
        }
        millis(self.born.elapsed()) > self.stop_at_ms.load(Ordering::Relaxed)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
