//! HTTP/1.1 by hand, for what a proper client does not do: hang up before the answer, send a body
//! of no announced length, ask before there is a runtime.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The framing of a body that comes in chunks.
pub const CHUNKED: &str = "transfer-encoding: chunked";

pub struct RawAnswer {
    pub status: u16,
    /// Header lines in lower case.
    pub head: String,
    pub body: Vec<u8>,
}

pub fn get(base: &str, route: &str) -> io::Result<RawAnswer> {
    exchange(base, head(base, "GET", route, "").as_bytes())
}

/// Posts `body` in chunks, without `content-length`.
pub fn post_chunked(base: &str, route: &str, token: &str, body: &[u8]) -> io::Result<RawAnswer> {
    let mut request = post_head(base, route, token, CHUNKED).into_bytes();
    for chunk in body.chunks(64 * 1024) {
        request.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        request.extend(chunk);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    exchange(base, &request)
}

/// Posts `body` and is gone before the answer: what a client looks like that is killed then.
pub fn post_and_hang_up(base: &str, route: &str, token: &str, body: &[u8]) -> io::Result<()> {
    let mut request = post_head(base, route, token, &content_length(body.len())).into_bytes();
    request.extend(body);
    let mut stream = connect(base)?;
    stream.write_all(&request)?;
    // Until the first byte of the answer, so that the server has done its work.
    stream.read_exact(&mut [0])?;
    stream.shutdown(Shutdown::Both)
}

/// The head of a POST; `framing` is the header line that says how long the body is.
pub fn post_head(base: &str, route: &str, token: &str, framing: &str) -> String {
    let headers = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n{framing}\r\n");
    head(base, "POST", route, &headers)
}

/// The framing of a body of so many bytes.
pub fn content_length(bytes: usize) -> String {
    format!("content-length: {bytes}")
}

/// Host and port of the server at `base`.
pub fn address(base: &str) -> String {
    let host = base.trim_start_matches("http://").split('/').next().unwrap_or_default();
    if host.contains(':') { host.to_owned() } else { format!("{host}:80") }
}

fn head(base: &str, method: &str, route: &str, headers: &str) -> String {
    let host = base.trim_start_matches("http://");
    let (host, path) = host.split_once('/').map_or((host, String::new()), |(h, p)| (h, format!("/{p}")));
    format!("{method} {path}{route} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n")
}

fn connect(base: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address(base))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// Sends all of `request` and reads to the end. A server may answer, and hang up, before it has
/// read everything: then the answer counts, not the failed write.
fn exchange(base: &str, request: &[u8]) -> io::Result<RawAnswer> {
    let mut stream = connect(base)?;
    let mut writer = stream.try_clone()?;
    let mut answer = Vec::new();
    let read = std::thread::scope(|scope| {
        scope.spawn(move || writer.write_all(request));
        stream.read_to_end(&mut answer)
    });
    parse(&answer).ok_or_else(|| read.err().unwrap_or_else(|| io::ErrorKind::InvalidData.into()))
}

fn parse(answer: &[u8]) -> Option<RawAnswer> {
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(RawAnswer { status, head, body: answer[end + 4..].to_vec() })
}
