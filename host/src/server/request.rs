//! A request on its way to a component: its body bounded, its address made whole.

use http::header::{CONTENT_LENGTH, HOST};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Request, Uri};
use hyper::body::Incoming;

use super::problem::Problem;
use super::room::{BodyRoom, ReadError, Share, whole};
use crate::limits::{REQUEST_BODY_BYTES_MAX, REQUEST_BODY_READ_MAX};
use crate::runtime::Body;

/// A request that is all there, with its share of the room.
pub struct Prepared {
    pub request: Request<Body>,
    pub share: Share,
}

/// What a component gets to see of a client's request. Its body is read whole first: a slow client
/// then holds no instance, nor a place among the requests in work.
pub async fn prepare(request: Request<Incoming>, room: &BodyRoom) -> Result<Prepared, Problem> {
    let (mut parts, body) = request.into_parts();
    parts.uri = whole_uri(&parts.uri, &parts.headers)?;
    if content_length(&parts.headers).is_some_and(|length| length > REQUEST_BODY_BYTES_MAX) {
        return Err(Problem::BodyTooLarge);
    }
    let read = tokio::time::timeout(REQUEST_BODY_READ_MAX, room.read(body, REQUEST_BODY_BYTES_MAX)).await;
    let (bytes, share) = read.map_err(|_| Problem::BodyTooSlow)?.map_err(|error| match error {
        ReadError::TooLarge => Problem::BodyTooLarge,
        ReadError::NoRoom => Problem::Overloaded,
        ReadError::Broken(_) => Problem::BodyBroken,
    })?;
    Ok(Prepared { request: Request::from_parts(parts, whole(bytes)), share })
}

/// hyper has already refused a length that is none.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
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
