//! The function `send`, as a component: the routes of [`SendApi`] over the composed store.

use im_client::WitStorage;
use im_http::{SendApi, wasi};
use spin_sdk::wasip3::exports::http::handler::Guest;
use spin_sdk::wasip3::http::types::{ErrorCode, Request, Response};

struct Send;

spin_sdk::wasip3::http::service::export!(Send);

impl Guest for Send {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        wasi::serve::<SendApi>(request, &WitStorage).await
    }
}
