//! Servers that tests start for themselves, and end however the tests end: a Redis for each test that
//! wants one, and a PostgreSQL with a database for each.

#![allow(dead_code)] // No test binary uses all of it.

mod guard;
pub mod postgres;
pub mod proxy;
pub mod redis;

use tokio::runtime::{Builder, Runtime};

/// Polls a future to its end, on a runtime that lives as long as the thread: connections hang on it.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().unwrap();
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}
