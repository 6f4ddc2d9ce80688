//! From the manifest's components to running ones: composed, compiled (or taken from the cache) and
//! linked, several at once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use wasmtime::Engine;
use wasmtime::component::{Linker, types};
use wasmtime_wasi_http::p3::bindings::ServicePre;

use super::component::RunningComponent;
use super::state::GuestState;
use super::worker::InstanceMaker;
use crate::capability::outbound::Outbound;
use crate::capability::sqlite::Databases;
use crate::capability::{self, Grants, postgres};
use crate::compose::{self, ComposeError};
use crate::manifest::{App, Component, outbound};
use crate::output;

/// What a component must export to answer HTTP.
const HANDLER_EXPORT: &str = "wasi:http/handler@0.3.0";

/// A component that cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("component `{id}`: {problem}")]
    Outbound { id: String, problem: String },
    #[error("component `{id}`: {source}")]
    Compose { id: String, source: ComposeError },
    #[error("component `{id}` is not valid: {problem}")]
    Compile { id: String, problem: String },
    #[error("component `{id}` does not export `{HANDLER_EXPORT}`: it answers no HTTP")]
    NoHandler { id: String },
    #[error("component `{id}` cannot be linked: {problem}")]
    Link { id: String, problem: String },
    #[error("cannot prepare the host's interfaces: {0}")]
    Host(String),
    #[error("a thread that compiles has panicked")]
    Panicked,
}

/// Loads every component of the app; the first failure ends it.
pub async fn load_all(
    engine: &Engine,
    app: &App,
    values: &BTreeMap<String, String>,
    sqlite_folder: PathBuf,
) -> Result<BTreeMap<String, Arc<RunningComponent>>, LoadError> {
    let linker = Arc::new(linker(engine).map_err(|e| LoadError::Host(format!("{e:#}")))?);
    let databases = Databases { folder: sqlite_folder, ..Databases::default() };
    let mut tasks = Vec::new();
    for (id, component) in &app.components {
        let (id, component) = (id.clone(), component.clone());
        let grants = grants(&id, &component, values, &databases)?;
        let linker = Arc::clone(&linker);
        tasks.push(tokio::task::spawn_blocking(move || load(&id, &component, grants, &linker)));
    }
    let mut loaded = BTreeMap::new();
    for task in tasks {
        let component = task.await.map_err(|_| LoadError::Panicked)??;
        loaded.insert(component.id().to_string(), component);
    }
    Ok(loaded)
}

fn grants(
    id: &str,
    component: &Component,
    values: &BTreeMap<String, String>,
    databases: &Databases,
) -> Result<Grants, LoadError> {
    let variables = component.variables.iter();
    let variables = variables.map(|(name, template)| (name.clone(), template.fill(values))).collect();
    let allowed = component.sqlite_databases.clone();
    let rules = outbound::rules(&component.allowed_outbound_hosts, values)
        .map_err(|problem| LoadError::Outbound { id: id.into(), problem })?;
    Ok(Grants {
        variables: Arc::new(variables),
        sqlite: Arc::new(Databases { allowed, ..databases.clone() }),
        outbound: Arc::new(Outbound::new(id, rules)),
        postgres: Arc::new(postgres::Pools::default()),
    })
}

fn linker(engine: &Engine) -> wasmtime::Result<Linker<GuestState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi::p3::add_to_linker(&mut linker)?;
    wasmtime_wasi_http::p3::add_to_linker(&mut linker)?;
    capability::add_to_linker(&mut linker)?;
    Ok(linker)
}

fn load(
    id: &str,
    component: &Component,
    grants: Grants,
    linker: &Linker<GuestState>,
) -> Result<Arc<RunningComponent>, LoadError> {
    let started = Instant::now();
    let bytes = compose::compose(component).map_err(|source| LoadError::Compose { id: id.into(), source })?;
    let compiled = wasmtime::component::Component::from_binary(linker.engine(), &bytes)
        .map_err(|e| LoadError::Compile { id: id.into(), problem: format!("{e:#}") })?;
    if !exports_handler(&compiled.component_type(), linker.engine()) {
        return Err(LoadError::NoHandler { id: id.into() });
    }
    let linked = linker
        .instantiate_pre(&compiled)
        .and_then(ServicePre::new)
        .map_err(|e| LoadError::Link { id: id.into(), problem: format!("{e:#}") })?;
    output::note(&format!(
        "  {id}: {} KiB, ready in {} ms",
        bytes.len() / 1024,
        started.elapsed().as_millis()
    ));
    Ok(RunningComponent::new(InstanceMaker { id: id.into(), component: linked, grants }))
}

fn exports_handler(component: &types::Component, engine: &Engine) -> bool {
    component.exports(engine).any(|(name, _)| name == HANDLER_EXPORT)
}
