//! The function `sync`, as a component: the routes of [`SyncApi`] over the composed store.

use im_client::WitStorage;
use im_http::{SyncApi, wasi};
use spin_sdk::wasip3::exports::http::handler::Guest;
use spin_sdk::wasip3::http::types::{ErrorCode, Request, Response};

struct Sync;

spin_sdk::wasip3::http::service::export!(Sync);

impl Guest for Sync {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        wasi::serve::<SyncApi>(request, &WitStorage).await
    }
}
