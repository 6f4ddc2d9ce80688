//! The route of the function `sync`: devices follow their conversations here.

use crate::auth::Caller;
use crate::exchange::Response;
use crate::json::parse;
use crate::json::sync::{SyncIn, SyncOut};
use crate::problem::Problem;
use crate::router::{Api, Call};
use crate::routes::{Component, Op};
use im_domain::storage::Storage;

pub struct SyncApi;

impl Api for SyncApi {
    const COMPONENT: Component = Component::Sync;

    async fn run(call: Call, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
        match (call.op, call.caller) {
            (Op::SyncMessages, Some(caller)) => sync(&caller, body, storage).await,
            _ => Err(Problem::not_found()),
        }
    }
}

async fn sync(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut sync: SyncIn = parse(body)?;
    let actor = caller.actor(sync.user_id.take().map(|user| user.0))?;
    let device = caller.acting_device(sync.device_id.take().map(|device| device.0))?;
    let page = storage.sync(&actor, &device, sync.query()?).await?;
    Response::json(&SyncOut::new(&page))
}
