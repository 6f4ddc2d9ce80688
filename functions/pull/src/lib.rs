//! The function `pull`, as a component: the routes of [`PullApi`] over the composed store.

use im_client::WitStorage;
use im_http::{PullApi, wasi};
use spin_sdk::wasip3::exports::http::handler::Guest;
use spin_sdk::wasip3::http::types::{ErrorCode, Request, Response};

struct Pull;

spin_sdk::wasip3::http::service::export!(Pull);

impl Guest for Pull {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        wasi::serve::<PullApi>(request, &WitStorage).await
    }
}
