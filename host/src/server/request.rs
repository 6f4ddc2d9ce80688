//! A request on its way to a component: its body bounded, its address made whole.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;

use super::problem::Problem;
use crate::limits::{REQUEST_BODY_BUFFERED_BYTES_MAX, REQUEST_BODY_BYTES_MAX, REQUEST_BODY_READ_MAX};
use crate::runtime::Body;

/// What a component gets to see of a client's request.
pub async fn prepare(request: Request<Incoming>) -> Result<Request<Body>, Problem> {
    let (mut parts, body) = request.into_parts();
    parts.uri = whole_uri(&parts.uri, &parts.headers)?;
    let body = match content_length(&parts.headers) {
        Some(length) if length > REQUEST_BODY_BYTES_MAX => return Err(Problem::BodyTooLarge),
        Some(length) if length <= REQUEST_BODY_BUFFERED_BYTES_MAX => read_whole(body).await?,
        _ => stream(body),
    };
    Ok(Request::from_parts(parts, body))
}

/// A body that is all there.
pub fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// hyper has already refused a length that is none.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn read_whole(body: Incoming) -> Result<Body, Problem> {
    let read = tokio::time::timeout(REQUEST_BODY_READ_MAX, body.collect()).await;
    let collected = read.map_err(|_| Problem::BodyTooSlow)?;
    Ok(whole(collected.map_err(|_| Problem::BodyBroken)?.to_bytes()))
}

fn stream(body: Incoming) -> Body {
    let most = usize::try_from(REQUEST_BODY_BYTES_MAX).unwrap_or(usize::MAX);
    Limited::new(body, most)
        .map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(broken) => wasmtime_wasi_http::Error::Hyper(*broken),
            Err(_) => wasmtime_wasi_http::Error::HttpRequestBodySize(Some(REQUEST_BODY_BYTES_MAX)),
        })
        .boxed_unsync()
}

/// HTTP/1.1 splits the address over the request line and `Host`; a component gets all of it.
fn whole_uri(uri: &Uri, headers: &HeaderMap) -> Result<Uri, Problem> {
    let header = match headers.get(HOST) {
        Some(host) => Some(Authority::try_from(host.as_bytes()).map_err(|_| Problem::BadHost)?),
        None => None,
    };
    let authority = uri.authority().cloned().or(header).ok_or(Problem::BadHost)?;
    let path = uri.path_and_query().cloned();
    Uri::builder()
        .scheme(Scheme::HTTP)
        .authority(authority)
        .path_and_query(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
        .build()
        .map_err(|_| Problem::BadHost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn whole(uri: &str, host: Option<&'static str>) -> Result<String, Problem> {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(HOST, HeaderValue::from_static(host));
        }
        whole_uri(&uri.parse().unwrap(), &headers).map(|uri| uri.to_string())
    }

    #[test]
    fn the_address_is_whole() {
        assert_eq!(whole("/a?b=c", Some("h:1")), Ok("http://h:1/a?b=c".into()));
        assert_eq!(whole("http://u/a", Some("h")), Ok("http://u/a".into()));
        assert_eq!(whole("/a", None), Err(Problem::BadHost));
        assert_eq!(whole("/a", Some("a b")), Err(Problem::BadHost));
    }
}
