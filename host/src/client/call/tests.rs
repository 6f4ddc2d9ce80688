//! Proves against a server of canned answers that calls are tried again when that can help and not
//! else, and that connections are kept and bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const ROUTE: &str = "/api/x";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
const BUSY: &str = "HTTP/1.1 503 x\r\nretry-after: 0\r\ncontent-length: 4\r\n\r\nbusy";
const GONE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\n{";
const MUCH_LATER: &str = "HTTP/1.1 429 x\r\nretry-after: 3600\r\ncontent-length: 0\r\n\r\n";
const REFUSED: &str =
    "HTTP/1.1 403 x\r\ncontent-length: 43\r\n\r\n{\"status\":403,\"code\":\"c\",\"detail\":\"reason\"}";
const NO_JSON: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

/// A server that gives these answers one after the other, whoever asks; the last one for ever.
struct Canned {
    url: ServerUrl,
    requests: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Canned {
    async fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let server =
            Self { url, requests: Arc::new(AtomicUsize::new(0)), connections: Arc::new(AtomicUsize::new(0)) };
        let (requests, connections) = (Arc::clone(&server.requests), Arc::clone(&server.connections));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, answers, Arc::clone(&requests)));
            }
        });
        server
    }

    async fn call(&self, attempts_max: u32) -> Result<Value, String> {
        let effort = Effort { connections_max: 1, attempts_max };
        let client = Client::new(self.url.clone(), Identity::Token("t".into()), effort);
        client.post(ROUTE, &json!({"a": 1})).await.map_err(|e| e.to_string())
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, answers: &'static [&'static str], requests: Arc<AtomicUsize>) {
    while let Some(head) = read_request(&mut stream).await {
        assert!(head.contains("authorization: Bearer t\r\n"), "{head}");
        let answer = answers[requests.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)];
        stream.write_all(answer.as_bytes()).await.unwrap();
        if answer.contains("connection: close") {
            return;
        }
    }
}

/// The bodies are small and of one size, and come with their heads.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = String::new();
    while !request.ends_with('}') {
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        request.push_str(std::str::from_utf8(&part[..read]).unwrap());
    }
    Some(request)
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let server = Canned::start(&[BUSY, GONE, OK]).await;
    assert_eq!(server.call(4).await, Ok(json!({})));
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn attempts_are_bounded() {
    let server = Canned::start(&[BUSY]).await;
    let error = server.call(3).await.unwrap_err();
    assert_eq!(error, "/api/x: no problem document (503): busy (after 3 attempts)");
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn what_will_not_pass_is_not_tried_again() {
    for (answers, reason) in [
        (&[REFUSED], "/api/x: c (403): reason"),
        (&[NO_JSON], "/api/x: the answer is not that of a message store"),
        (&[MUCH_LATER], "/api/x: no problem document (429)"),
    ] {
        let server = Canned::start(answers).await;
        let error = server.call(4).await.unwrap_err();
        assert!(error.starts_with(reason), "{error}");
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn nobody_there_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: ServerUrl = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let effort = Effort { connections_max: 1, attempts_max: 2 };
    let client = Client::new(url.clone(), Identity::Token("t".into()), effort);
    let error = client.get::<Value>(ROUTE).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("/api/x: {} cannot be reached: ", url.as_str())), "{error}");
    assert!(error.ends_with("(after 2 attempts)"), "{error}");
}

#[tokio::test]
async fn calls_share_the_connections_there_may_be() {
    let server = Canned::start(&[OK]).await;
    let effort = Effort { connections_max: 2, attempts_max: 1 };
    let client = Client::new(server.url.clone(), Identity::Token("t".into()), effort);
    for _ in 0..3 {
        let calls = (0..8).map(|_| async { client.post::<_, Value>(ROUTE, &json!({"a": 1})).await.unwrap() });
        futures::future::join_all(calls).await;
        // The answers' connections go back to the pool a moment after the answers.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.requests(), 24);
    let connections = server.connections.load(Ordering::SeqCst);
    assert!(connections <= 8, "{connections}");
}
