//! Clients that stop in the middle: many connections by hand, which stay as they are for as long as
//! the value lives.

use crate::raw;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Connections that are being opened at once, so that what they ask for is done bit by bit.
const OPENING: usize = 8;
/// Memory of a connection for what came in and was not read, in bytes: about the least there is.
const UNREAD_BYTES: u32 = 4_096;
/// How long the first bytes of an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// As far as the status of an answer: `HTTP/1.1 200`.
const STATUS_BYTES: usize = 12;

/// A connection on which nothing happens any more.
pub struct Stalled {
    _stream: TcpStream,
    /// What was read of the answer.
    pub read: String,
}

/// Sends `request`, which is not a whole one, on each of `count` connections.
pub async fn in_request(base: &str, request: &str, count: usize) -> Vec<Stalled> {
    open(base, request, count, 0).await
}

/// Sends `request` on each of `count` connections, and reads only the status of the answer.
pub async fn in_answer(base: &str, request: &str, count: usize) -> Vec<Stalled> {
    open(base, request, count, STATUS_BYTES).await
}

async fn open(base: &str, request: &str, count: usize, bytes: usize) -> Vec<Stalled> {
    let places = Arc::new(Semaphore::new(OPENING));
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let (places, address, request) = (Arc::clone(&places), raw::address(base), request.to_owned());
        tasks.spawn(async move {
            let _place = places.acquire().await.expect("never closed");
            let mut stream = connect(&address).await;
            stream.write_all(request.as_bytes()).await.expect("the server takes the request");
            let mut read = vec![0; bytes];
            let answer = tokio::time::timeout(ANSWER_WITHIN, stream.read_exact(&mut read)).await;
            answer.expect("an answer begins in time").expect("an answer begins");
            Stalled { _stream: stream, read: String::from_utf8_lossy(&read).into_owned() }
        });
    }
    tasks.join_all().await
}

async fn connect(address: &str) -> TcpStream {
    let mut found = lookup_host(address).await.expect("the server's address is known");
    let address = found.next().expect("the server has an address");
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.expect("a socket can be made");
    socket.set_recv_buffer_size(UNREAD_BYTES).expect("the buffer can be small");
    socket.connect(address).await.expect("the server accepts connections")
}
