//! One thread of the twin.

use super::connections::Connections;
use crate::failure::{Failure, Outcome};
use crate::surroundings::{now_ms, pause, random};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request as AxumRequest, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response as AxumResponse};
use axum::routing::any;
use im_domain::limits::REQUEST_BYTES_MAX;
use im_http::routes::{Component, ROUTES};
use im_http::{ArchiveApi, Head, Keys, PullApi, Request, Response, SendApi, SyncApi, handle};
use im_store::native::{NativePostgres, NativeRedis};
use im_store::tiered::Tiered;
use im_store::tiered::config::Config;
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

pub struct Worker {
    pub config: Arc<Config>,
    pub keys: Arc<Keys>,
    pub address: SocketAddr,
}

/// A request on its way from a handler to the engine.
struct Job {
    component: Component,
    request: Request,
    answer: oneshot::Sender<Response>,
}

type Engine = Tiered<NativeRedis, NativePostgres>;

impl Worker {
    pub fn run(self, dealt: UnboundedReceiver<TcpStream>) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, async {
            let (sender, jobs) = unbounded_channel();
            spawn_local(work(engine(&self.config)?, Arc::clone(&self.keys), jobs));
            let connections = Connections { dealt, address: self.address };
            Ok(axum::serve(connections, router(sender)).await?)
        })
    }
}

/// An engine that is connected to nothing yet.
pub fn engine(config: &Config) -> Outcome<Engine> {
    let redis = config.redis.iter().map(|url| NativeRedis::new(url.as_str()));
    let postgres = config.postgres.iter().map(|url| NativePostgres::new(url.as_str()));
    let settings = config.settings(Box::new(now_ms), Box::new(random), Box::new(pause));
    Tiered::new(redis.collect::<Result<_, _>>()?, postgres.collect::<Result<_, _>>()?, settings)
        .map_err(|error| Failure(error.to_string()))
}

async fn work(engine: Engine, keys: Arc<Keys>, mut jobs: UnboundedReceiver<Job>) {
    let engine = Rc::new(engine);
    while let Some(job) = jobs.recv().await {
        let (engine, keys) = (Rc::clone(&engine), Arc::clone(&keys));
        spawn_local(async move {
            let response = respond(job.component, &job.request, &keys, &engine).await;
            // Whoever asked may have gone.
            let _ = job.answer.send(response);
        });
    }
}

async fn respond(component: Component, request: &Request, keys: &Keys, engine: &Engine) -> Response {
    match component {
        Component::Send => handle::<SendApi>(request, keys, now_ms(), engine).await,
        Component::Pull => handle::<PullApi>(request, keys, now_ms(), engine).await,
        Component::Sync => handle::<SyncApi>(request, keys, now_ms(), engine).await,
        Component::Archive => handle::<ArchiveApi>(request, keys, now_ms(), engine).await,
    }
}

fn router(jobs: UnboundedSender<Job>) -> Router {
    ROUTES
        .iter()
        .fold(Router::new(), |router, route| {
            let component = route.component;
            let handler = any(move |State(jobs): State<UnboundedSender<Job>>, request: AxumRequest| {
                pass(jobs, component, request)
            });
            router.route(route.path, handler)
        })
        .with_state(jobs)
}

async fn pass(jobs: UnboundedSender<Job>, component: Component, request: AxumRequest) -> AxumResponse {
    let (head, body) = request.into_parts();
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let head = Head {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().map(str::to_owned),
        authorization: text(header::AUTHORIZATION),
        content_length: text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok()),
    };
    let Ok(body) = to_bytes(body, REQUEST_BYTES_MAX).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let (answer, answered) = oneshot::channel();
    let job = Job { component, request: Request { head, body: body.into() }, answer };
    match (jobs.send(job), answered.await) {
        (Ok(()), Ok(response)) => write(response),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn write(response: Response) -> AxumResponse {
    let mut answer = AxumResponse::builder().status(response.status);
    for (name, value) in response.headers {
        answer = answer.header(name, value);
    }
    let answer = answer.body(Body::from(response.body));
    answer.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}
