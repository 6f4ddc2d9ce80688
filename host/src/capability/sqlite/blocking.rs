//! Blocking without holding up the server.

/// Runs what may wait for a disk or a lock. The tasks of this thread are handed to another one first;
/// on a thread made for blocking it is an ordinary call.
pub fn blocking<R>(work: impl FnOnce() -> R) -> R {
    tokio::task::block_in_place(work)
}

/// Runs what blocks on a thread made for it.
pub async fn elsewhere<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> wasmtime::Result<R> {
    Ok(tokio::task::spawn_blocking(work).await?)
}
