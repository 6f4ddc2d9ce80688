//! The routes of the function `archive`: upkeep, health, the OpenAPI document. It also answers every
//! path that no other function has.

use crate::auth::Caller;
use crate::exchange::{JSON, Response};
use crate::json::parse_or_empty;
use crate::json::upkeep::{HealthOut, RunIn, RunOut, StatusOut};
use crate::log;
use crate::openapi;
use crate::problem::{Code, Problem};
use crate::router::{Api, Call};
use crate::routes::{Component, Op};
use im_domain::limits::RETRY_AFTER_MS;
use im_domain::storage::Storage;

pub struct ArchiveApi;

impl Api for ArchiveApi {
    const COMPONENT: Component = Component::Archive;

    async fn run(call: Call, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
        match (call.op, call.caller) {
            (Op::RunUpkeep, Some(_)) => run(body, storage).await,
            (Op::StoreStatus, Some(caller)) => status(&caller, storage).await,
            (Op::Health, _) => Response::json(&HealthOut { status: "ok" }),
            (Op::Ready, _) => ready(storage).await,
            (Op::OpenApi, _) => openapi::text().map(|text| Response::new(200, JSON, text)),
            _ => Err(Problem::not_found()),
        }
    }
}

async fn run(body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let run: RunIn = parse_or_empty(body)?;
    let (tasks, max_ms) = run.run()?;
    Response::json(&RunOut::from(storage.run(&tasks, max_ms).await?))
}

async fn status(caller: &Caller, storage: &impl Storage) -> Result<Response, Problem> {
    Response::json(&StatusOut::from(storage.status(&caller.tenant).await?))
}

/// Whatever keeps the store from serving, a probe is to try again: it gets a 503.
async fn ready(storage: &impl Storage) -> Result<Response, Problem> {
    match storage.ready().await.map_err(Problem::from) {
        Ok(()) => Response::json(&HealthOut { status: "ready" }),
        Err(problem) if problem.code.status() == 503 => Err(problem),
        Err(problem) => {
            log::error(&format!("not ready: {}", problem.code.as_str()));
            let retry_after_ms = Some(RETRY_AFTER_MS);
            Err(Problem { retry_after_ms, ..Problem::new(Code::SqlUnavailable, "the store is not ready") })
        }
    }
}
