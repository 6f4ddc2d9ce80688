//! Accepting connections, and ending without breaking any.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;

use super::service::Service;
use crate::limits::{
    CONNECTIONS_MAX, HTTP2_PING_INTERVAL, HTTP2_STREAMS_MAX, REQUEST_HEAD_READ_MAX, SHUTDOWN_GRACE,
    WRITE_STALL_MAX,
};
use crate::output;

/// Pause after a failure to accept, which mostly means that there are no file handles left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{0} is in use: stop what listens there, or choose another with --listen")]
    InUse(String),
    #[error("cannot listen on {address}: {source}")]
    Other { address: String, source: io::Error },
}

/// Begins to listen. Clients that connect from now on wait until the app serves.
pub async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), BindError> {
    let wrong = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse(address.to_owned()),
        _ => BindError::Other { address: address.to_owned(), source },
    };
    let listener = TcpListener::bind(address).await.map_err(wrong)?;
    let bound = listener.local_addr().map_err(wrong)?;
    Ok((listener, bound))
}

/// Serves until `stop` is ready; then finishes what is in work, within a bound.
pub async fn serve(listener: TcpListener, service: Arc<Service>, stop: impl Future<Output = ()>) {
    let mut http = Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(REQUEST_HEAD_READ_MAX);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING_INTERVAL)
        .keep_alive_timeout(HTTP2_PING_INTERVAL)
        .max_concurrent_streams(HTTP2_STREAMS_MAX);
    let http = Arc::new(http);
    let open = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        if let Some((stream, slot)) = accepted {
            spawn_connection(stream, slot, &http, &service, &open);
        }
    }
    drop(listener);
    if tokio::time::timeout(SHUTDOWN_GRACE, open.shutdown()).await.is_err() {
        output::error_line("some requests did not finish in time and were cut off");
    }
}

async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Otherwise the last packet of an answer may wait 40 ms for the client's delayed ACK.
            let _ = stream.set_nodelay(true);
            Some((stream, slot))
        }
        Err(_) => {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

fn spawn_connection(
    stream: TcpStream,
    slot: OwnedSemaphorePermit,
    http: &Arc<Builder<TokioExecutor>>,
    service: &Arc<Service>,
    open: &GracefulShutdown,
) {
    let service = Arc::clone(service);
    let answer = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(service.answer(request).await) }
    });
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_STALL_MAX));
    let connection = http.serve_connection(TokioIo::new(Box::pin(stream)), answer).into_owned();
    let connection = open.watch(connection);
    tokio::spawn(async move {
        // How a connection ends is the client's affair; each request has its own line.
        let _ = connection.await;
        drop(slot);
    });
}
