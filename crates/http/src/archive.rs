//! The routes of the function `archive`: the feed of changes, what there is of a user, upkeep, health, the OpenAPI document. It also answers every
//! path that no other function has.

use crate::auth::Caller;
use crate::exchange::{JSON, Response};
use crate::json::dead_letters::{DeadLettersIn, DeadLettersOut};
use crate::json::export::{EraseIn, EraseOut, ExportIn, ExportOut};
use crate::json::feed::{FeedIn, FeedOut};
use crate::json::upkeep::{HealthOut, RunIn, RunOut, StatusOut};
use crate::json::{parse, parse_or_empty};
use crate::openapi;
use crate::problem::Problem;
use crate::router::{Api, Call};
use crate::routes::{Component, Op};
use im_domain::storage::Storage;

pub struct ArchiveApi;

impl Api for ArchiveApi {
    const COMPONENT: Component = Component::Archive;

    async fn run(call: Call, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
        match (call.op, call.caller) {
            (Op::ReadFeed, Some(caller)) => feed(&caller, body, storage).await,
            (Op::ExportUser, Some(caller)) => export(&caller, body, storage).await,
            (Op::EraseUser, Some(caller)) => erase(&caller, body, storage).await,
            (Op::RunUpkeep, Some(_)) => run(body, storage).await,
            (Op::StoreStatus, Some(caller)) => status(&caller, storage).await,
            (Op::DeadLetters, Some(caller)) => dead_letters(&caller, body, storage).await,
            (Op::Health, _) => Response::json(&HealthOut { status: "ok" }),
            (Op::Ready, _) => ready(storage).await,
            (Op::OpenApi, _) => openapi::text().map(|text| Response::new(200, JSON, text)),
            _ => Err(Problem::not_found()),
        }
    }
}

async fn feed(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let (cursor, limit) = parse_or_empty::<FeedIn>(body)?.part()?;
    Response::json(&FeedOut::from(&storage.events(&caller.tenant, cursor, limit).await?))
}

async fn export(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let (user, cursor, limit) = parse::<ExportIn>(body)?.part()?;
    let export = storage.export(&caller.actor(None)?, &user, cursor, limit).await?;
    Response::json(&ExportOut::new(&user, &export))
}

async fn erase(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let (user, cursor) = parse::<EraseIn>(body)?.part()?;
    Response::json(&EraseOut::from(storage.erase(&caller.actor(None)?, &user, cursor).await?))
}

async fn run(body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let run: RunIn = parse_or_empty(body)?;
    let (tasks, max_ms) = run.run()?;
    Response::json(&RunOut::from(storage.run(&tasks, max_ms).await?))
}

async fn status(caller: &Caller, storage: &impl Storage) -> Result<Response, Problem> {
    Response::json(&StatusOut::from(storage.status(&caller.tenant).await?))
}

async fn dead_letters(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let (action, limit) = parse_or_empty::<DeadLettersIn>(body)?.parts()?;
    let letters = storage.dead_letters(&caller.tenant, action, limit).await?;
    Response::json(&DeadLettersOut::from(letters))
}

async fn ready(storage: &impl Storage) -> Result<Response, Problem> {
    storage.ready().await?;
    Response::json(&HealthOut { status: "ready" })
}
