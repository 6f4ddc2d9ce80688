//! The first look at an app that has been started: what is wrong with its settings or its store is
//! told at once, and not by every request.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};

use crate::output;
use crate::server::Service;

/// The route that tells whether the app can serve.
const ROUTE: &str = "/api/ready";
/// Any component answers by this name; the request never leaves the process.
const HOST: &str = "localhost";

/// The app cannot serve, and will not by waiting.
#[derive(Debug, thiserror::Error)]
#[error("the app cannot serve: GET {ROUTE} is answered {0}; the line above says why")]
pub struct NotReady(StatusCode);

/// Asks the app, if it has the route. A store that is merely away is told and waited for.
pub async fn check(service: &Service) -> Result<(), NotReady> {
    let empty = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
    let Ok(request) = Request::get(format!("http://{HOST}{ROUTE}")).body(empty) else {
        return Ok(());
    };
    match service.answer_own(request).await.status() {
        StatusCode::OK | StatusCode::NOT_FOUND => Ok(()),
        StatusCode::SERVICE_UNAVAILABLE => {
            output::error_line(&format!("the store does not answer yet (GET {ROUTE} tells when it does)"));
            Ok(())
        }
        status => Err(NotReady(status)),
    }
}
