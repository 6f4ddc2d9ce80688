//! The function `archive`, as a component: the routes of [`ArchiveApi`] over the composed store.

use im_client::WitStorage;
use im_http::{ArchiveApi, wasi};
use spin_sdk::wasip3::exports::http::handler::Guest;
use spin_sdk::wasip3::http::types::{ErrorCode, Request, Response};

struct Archive;

spin_sdk::wasip3::http::service::export!(Archive);

impl Guest for Archive {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        wasi::serve::<ArchiveApi>(request, &WitStorage).await
    }
}
