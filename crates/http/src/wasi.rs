//! Between the platform and [`crate::router`]: the only module that touches either the host's
//! requests or its variables.
//!
//! What a request costs here is the number of operations on the platform's resources, streams and
//! futures, so this is written on the raw types of `wasi:http`: it reads the two headers that
//! matter, reads a body of known length without waiting for its end, and writes every answer at
//! once.

use crate::exchange::{Head, Response};
use crate::keys::Keys;
use crate::log;
use crate::problem::Problem;
use crate::router::{Api, Call, admit, answer, check_size, needs_keys};
use im_domain::limits::{REQUEST_BYTES_MAX, REQUEST_DISCARD_BYTES_MAX};
use im_domain::storage::Storage;
use spin_sdk::wasip3::clocks::system_clock;
use spin_sdk::wasip3::http::types::{self, ErrorCode, Fields, Method};
use spin_sdk::wasip3::{wit_future, wit_stream};
use spin_sdk::wit_bindgen::{self, StreamResult};
use std::cell::RefCell;
use std::rc::Rc;

/// The variable with the keys that tokens are checked with; [`Keys::parse`] says what it holds.
const KEYS_VARIABLE: &str = "jwt_keys";
/// Most bytes asked for by one read of a body, so that a length that was only announced costs no
/// memory.
const READ_BYTES_MAX: usize = 256 * 1024;

/// Answers one request with the routes of `A`.
pub async fn serve<A: Api>(
    request: types::Request,
    storage: &impl Storage,
) -> Result<types::Response, ErrorCode> {
    write(respond::<A>(request, storage).await.unwrap_or_else(|problem| problem.response()))
}

async fn respond<A: Api>(request: types::Request, storage: &impl Storage) -> Result<Response, Problem> {
    let head = head(&request);
    let keys = match needs_keys(A::COMPONENT, &head) {
        true => keys().await?,
        false => Rc::new(Keys::none()),
    };
    let call: Call = match admit(A::COMPONENT, &head, &keys, now_ms()) {
        Ok(call) => call,
        Err(problem) => {
            discard(request, head.content_length).await;
            return Err(problem);
        }
    };
    let body = match call.takes_body {
        true => read(request, head.content_length).await?,
        false => Vec::new(),
    };
    Ok(answer::<A>(call, &body, storage).await)
}

thread_local! {
    /// Parsed by the instance's first request and kept, since variables do not change while it lives.
    static KEYS: RefCell<Option<Rc<Keys>>> = const { RefCell::new(None) };
}

/// Requests of one instance run interleaved: several may get here before the first is done. Each
/// parses the same text, and the last one's keys stay.
async fn keys() -> Result<Rc<Keys>, Problem> {
    if let Some(keys) = KEYS.with_borrow(Clone::clone) {
        return Ok(keys);
    }
    let text = spin_sdk::variables::get(KEYS_VARIABLE)
        .await
        .map_err(|_| Problem::internal(&format!("the variable {KEYS_VARIABLE} is not set")))?;
    let keys = Keys::parse(&text)
        .map_err(|error| Problem::internal(&format!("the variable {KEYS_VARIABLE}: {error}")))?;
    let keys = Rc::new(keys);
    KEYS.set(Some(Rc::clone(&keys)));
    Ok(keys)
}

fn now_ms() -> u64 {
    let now = system_clock::now();
    u64::try_from(now.seconds).unwrap_or(0) * 1_000 + u64::from(now.nanoseconds / 1_000_000)
}

fn head(request: &types::Request) -> Head {
    let target = request.get_path_with_query().unwrap_or_default();
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (target, None),
    };
    let headers = request.get_headers();
    let content_length = only(&headers, "content-length").and_then(|length| length.parse().ok());
    let authorization = only(&headers, "authorization");
    Head { method: method(request.get_method()), path, query, authorization, content_length }
}

/// The value of a header that was sent exactly once.
fn only(headers: &Fields, name: &str) -> Option<String> {
    let mut values = headers.get(name).into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => String::from_utf8(value).ok(),
        _ => None,
    }
}

fn method(method: Method) -> String {
    let name = match method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
        Method::Connect => "CONNECT",
        Method::Options => "OPTIONS",
        Method::Trace => "TRACE",
        Method::Patch => "PATCH",
        Method::Other(name) => return name,
    };
    name.to_owned()
}

/// Takes in a body that nobody will look at, within a bound: a client that is still writing when the
/// connection closes would see that, and not the answer.
async fn discard(request: types::Request, length: Option<u64>) {
    // Without an announced length there is no body, or it comes in chunks, which is rare enough.
    let Some(length) = length.and_then(|length| usize::try_from(length).ok()).filter(|l| *l > 0) else {
        return;
    };
    let (_done, result) = wit_future::new(|| Ok(()));
    let (mut stream, _trailers) = types::Request::consume_body(request, result);
    let mut left = length.min(REQUEST_DISCARD_BYTES_MAX);
    let mut buffer = Vec::with_capacity(left.min(READ_BYTES_MAX));
    while left > 0 {
        let (status, filled) = stream.read(buffer).await;
        left = left.saturating_sub(filled.len());
        buffer = filled;
        buffer.clear();
        if !matches!(status, StreamResult::Complete(_)) {
            break;
        }
    }
}

/// Reads the body up to the length announced, else to its end, and never past
/// [`REQUEST_BYTES_MAX`].
async fn read(request: types::Request, length: Option<u64>) -> Result<Vec<u8>, Problem> {
    let length = length.and_then(|length| usize::try_from(length).ok());
    if length == Some(0) {
        return Ok(Vec::new());
    }
    // One byte more than allowed tells a body that is too large.
    let wanted = length.unwrap_or(REQUEST_BYTES_MAX + 1);
    let (_done, result) = wit_future::new(|| Ok(()));
    let (mut stream, _trailers) = types::Request::consume_body(request, result);
    let mut body = Vec::new();
    while body.len() < wanted {
        body.reserve_exact((wanted - body.len()).min(READ_BYTES_MAX));
        let (status, filled) = stream.read(body).await;
        body = filled;
        if !matches!(status, StreamResult::Complete(_)) {
            break;
        }
    }
    check_size(body.len() as u64)?;
    match length {
        Some(length) if body.len() < length => {
            Err(Problem::invalid("body", "ended before the length that was announced"))
        }
        _ => Ok(body),
    }
}

fn write(response: Response) -> Result<types::Response, ErrorCode> {
    let headers: Vec<_> =
        response.headers.into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes())).collect();
    let headers = Fields::from_list(&headers).map_err(|error| failed(&format!("{error:?}")))?;
    let (mut writer, reader) = wit_stream::new();
    let (end, trailers) = wit_future::new(|| Ok(None));
    let (answer, _sent) = types::Response::new(headers, Some(reader), trailers);
    answer.set_status_code(response.status).map_err(|()| failed("a status code was refused"))?;
    wit_bindgen::spawn(async move {
        // What is left over was meant for a client that has gone.
        let _ = writer.write_all(response.body).await;
        drop(writer);
        // Only now: were the end known before the body, a host would send the head on its own first,
        // and the body once that has been acknowledged, 40 ms later.
        let _ = end.write(Ok(None)).await;
    });
    Ok(answer)
}

fn failed(reason: &str) -> ErrorCode {
    log::error(&format!("an answer could not be made: {reason}"));
    ErrorCode::InternalError(None)
}
