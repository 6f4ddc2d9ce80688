//! Whose turn it is to write.
//!
//! A database has one writer at a time. SQLite lets the others sleep and try again, longer and longer,
//! and the luckless wait very long; here they queue. The queue only advises: who has waited too long
//! goes on, and SQLite decides, as it does between processes.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::blocking::blocking;
use crate::limits::SQLITE_TURN_WAIT_MAX;

/// The queue of one database, shared by all connections to it.
#[derive(Debug, Clone)]
pub struct Turns(Arc<Semaphore>);

/// The turn; over when dropped.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Turns {
    /// Waits for the turn; `None` when it does not come in time.
    pub fn wait(&self) -> Option<Turn> {
        let free = Arc::clone(&self.0).try_acquire_owned();
        free.ok().or_else(|| blocking(|| self.queue())).map(Turn)
    }

    fn queue(&self) -> Option<OwnedSemaphorePermit> {
        let turn = Arc::clone(&self.0).acquire_owned();
        let in_time = async { tokio::time::timeout(SQLITE_TURN_WAIT_MAX, turn).await };
        Handle::try_current().ok()?.block_on(in_time).ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[tokio::test(flavor = "multi_thread")]
    async fn one_after_the_other() {
        let turns = Turns::default();
        let first = turns.wait().unwrap();
        let (told, hear) = channel();
        let waiting = turns.clone();
        let second = tokio::task::spawn_blocking(move || {
            let turn = waiting.wait();
            told.send(()).unwrap();
            turn.is_some()
        });
        assert!(hear.recv_timeout(std::time::Duration::from_millis(50)).is_err());
        drop(first);
        assert!(second.await.unwrap());
    }

    #[test]
    fn without_a_runtime_nobody_queues() {
        let turns = Turns::default();
        let first = turns.wait();
        assert!(first.is_some() && turns.wait().is_none());
    }
}
