//! The routes of the function `sync`: devices follow their conversations here, and a push service learns
//! whom to wake.

use crate::auth::Caller;
use crate::exchange::Response;
use crate::json::device::{DevicesIn, DevicesOut, OfflineIn, OfflineOut, ReadIn, ReadOut};
use crate::json::digest::{DigestIn, DigestOut};
use crate::json::global::{ChangesOut, GlobalIn};
use crate::json::sync::{SyncIn, SyncOut};
use crate::json::{parse, parse_or_empty};
use crate::problem::Problem;
use crate::push;
use crate::router::{Api, Call};
use crate::routes::{Component, Op};
use im_domain::storage::Storage;

pub struct SyncApi;

impl Api for SyncApi {
    const COMPONENT: Component = Component::Sync;

    async fn run(call: Call, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
        match (call.op, call.caller) {
            (Op::SyncMessages, Some(caller)) => sync(&caller, body, storage).await,
            (Op::SyncGlobal, Some(caller)) => global(&caller, body, storage).await,
            (Op::SyncDigest, Some(caller)) => digest(&caller, body, storage).await,
            (Op::MarkRead, Some(caller)) => read(&caller, body, storage).await,
            (Op::CountUnread, Some(caller)) => offline(&caller, body, storage).await,
            (Op::ListDevices, Some(caller)) => devices(&caller, body, storage).await,
            (Op::PushSettings, Some(caller)) => push::settings(&caller, body, storage).await,
            (Op::PushDue, Some(caller)) => push::due(&caller, body, storage).await,
            _ => Err(Problem::not_found()),
        }
    }
}

async fn sync(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut sync: SyncIn = parse(body)?;
    let actor = caller.actor(sync.user_id.take().map(|user| user.0))?;
    let device = caller.acting_device(&actor.user, sync.device_id.take().map(|device| device.0))?;
    let page = storage.sync(&actor, &device, sync.query()?).await?;
    Response::json(&SyncOut::new(&page))
}

async fn global(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut global: GlobalIn = parse_or_empty(body)?;
    let actor = caller.actor(global.user_id.take().map(|user| user.0))?;
    let device = caller.device_of(&actor.user, global.device_id.take().map(|device| device.0))?;
    let (cursor, limit) = global.part()?;
    let changes = storage.global(&actor, device.as_ref(), cursor, limit).await?;
    Response::json(&ChangesOut::from(&changes))
}

async fn digest(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut digest: DigestIn = parse_or_empty(body)?;
    let actor = caller.actor(digest.user_id.take().map(|user| user.0))?;
    let device = caller.device_of(&actor.user, digest.device_id.take().map(|device| device.0))?;
    let (limit, latest) = digest.counts();
    let cursor = digest.cursor()?;
    let part = storage.digest(&actor, device.as_ref(), &cursor, limit, latest).await?;
    Response::json(&DigestOut::from(&part))
}

async fn read(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let read: ReadIn = parse(body)?;
    let actor = caller.actor(read.user_id.map(|user| user.0))?;
    let state = storage.read(&actor, &read.conversation_id.0, read.msg_id.0).await?;
    Response::json(&ReadOut::from(state))
}

async fn offline(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let offline: OfflineIn = parse_or_empty(body)?;
    let actor = caller.actor(offline.user_id.map(|user| user.0))?;
    Response::json(&OfflineOut::from(storage.totals(&actor).await?))
}

async fn devices(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let devices: DevicesIn = parse_or_empty(body)?;
    let actor = caller.actor(devices.user_id.map(|user| user.0))?;
    let forget = devices.forget.map(|device| device.0);
    let known = storage.devices(&actor, forget.as_ref()).await?;
    Response::json(&DevicesOut::from(known.as_slice()))
}
