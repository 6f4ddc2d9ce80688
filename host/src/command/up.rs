//! `im up`: runs the app of a manifest until it is told to stop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::CommandError;
use crate::auth::{self, SigningKey};
use crate::data::DataFolder;
use crate::limits::LISTEN_DEFAULT;
use crate::manifest::{self, App, ManifestError};
use crate::output;
use crate::ready;
use crate::runtime::{self, RunningComponent};
use crate::schedule::{self, Schedule};
use crate::server::{self, AccessLog, Router, Service};
use crate::servers::{Servers, Wanted};
use crate::variables::{self, Sources};

/// Variables of the app that name its servers.
const REDIS_URL: &str = "redis_url";
const POSTGRES_URL: &str = "postgres_url";

#[derive(clap::Args)]
pub struct Args {
    /// Manifest to run
    #[arg(long, value_name = "FILE", default_value = "spin.toml")]
    manifest: PathBuf,
    /// Profile of the manifest, such as another storage
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = LISTEN_DEFAULT)]
    listen: String,
    /// Data folder: databases, signing keys, compiled components
    #[arg(long, value_name = "DIR", default_value = ".im")]
    data: PathBuf,
    /// Serve only these components
    #[arg(long, value_name = "NAME", num_args = 1..)]
    component: Vec<String>,
    /// Value of a variable of the manifest
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<String>,
    /// TOML file with values of variables
    #[arg(long, value_name = "FILE")]
    var_file: Option<PathBuf>,
    /// Run a Redis and a PostgreSQL of the app's own, with their data in the data folder
    #[arg(long)]
    with_servers: bool,
    /// What is logged on stderr
    #[arg(long, value_enum, default_value = "requests")]
    log: Log,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Log {
    /// No line for a request
    Off,
    /// One JSON line for each request
    Requests,
}

pub fn run(args: Args) -> Result<(), CommandError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(CommandError::failed)?;
    runtime.block_on(up(&args))
}

async fn up(args: &Args) -> Result<(), CommandError> {
    let profile = args.profile.as_deref();
    let mut app = manifest::load(&args.manifest, profile).map_err(|error| match error {
        ManifestError::NoProfile { .. } => CommandError::usage(error),
        _ => CommandError::failed(error),
    })?;
    app.retain(&args.component).map_err(|e| CommandError::Usage(format!("--component: {e}")))?;
    let mut sources = given_values(args, &app)?;
    let data = DataFolder::open(&args.data).map_err(CommandError::failed)?;
    add_signing_keys(&app, &data, &mut sources)?;
    // Before the slow part, so that a port in use is told at once.
    let listening = server::bind(&args.listen).await.map_err(CommandError::failed)?;
    let servers = start_servers(args, &app, &data, &mut sources).await?;
    let serving = serve(args.log, &app, &data, &sources, listening);
    let Some(mut servers) = servers else {
        return serving.await;
    };
    // Whoever starts `im` again starts them, too.
    let ended = tokio::select! {
        ended = serving => ended,
        error = servers.ended() => Err(CommandError::failed(error)),
    };
    servers.stop().await;
    ended
}

async fn serve(
    log: Log,
    app: &App,
    data: &DataFolder,
    sources: &Sources,
    (listener, address): (TcpListener, SocketAddr),
) -> Result<(), CommandError> {
    let values = sources.resolve(app).map_err(CommandError::failed)?;
    let stop = stop_signal()?;
    let components = load(app, &values, data).await?;
    let log = match log {
        Log::Off => AccessLog::off(),
        Log::Requests => AccessLog::to_stderr(),
    };
    let service = Arc::new(Service::new(Router::new(&app.routes, &components), log));
    ready::check(&service).await.map_err(CommandError::failed)?;
    let schedules = start_schedules(app, &values, &service);
    output::line(&format!("Serving {} on http://{address}", app.name));
    server::serve(listener, service, stop).await;
    runtime::stopping();
    for schedule in schedules {
        schedule.abort();
    }
    Ok(())
}

fn given_values(args: &Args, app: &App) -> Result<Sources, CommandError> {
    let file = args.var_file.as_deref();
    Ok(Sources {
        command_line: variables::from_options(&args.var, app).map_err(CommandError::usage)?,
        environment: variables::from_environment(std::env::vars_os(), app),
        file: file
            .map_or_else(|| Ok(BTreeMap::new()), |file| variables::from_file(file, app))
            .map_err(CommandError::usage)?,
        stand_in: BTreeMap::new(),
    })
}

/// Nobody gave keys: those of the data folder sign, and are made when it has none.
fn add_signing_keys(app: &App, data: &DataFolder, sources: &mut Sources) -> Result<(), CommandError> {
    if let Some(name) = &app.signing_keys
        && !sources.is_given(name)
    {
        let keys = auth::load_or_create(&data.keys_file()).map_err(CommandError::failed)?;
        sources.stand_in.insert(name.clone(), keys);
    }
    Ok(())
}

/// Starts the servers that the app has a variable for which nobody set, and sets it.
async fn start_servers(
    args: &Args,
    app: &App,
    data: &DataFolder,
    sources: &mut Sources,
) -> Result<Option<Servers>, CommandError> {
    if !args.with_servers {
        return Ok(None);
    }
    let wants = |name: &str| app.variables.contains_key(name) && !sources.is_given(name);
    let wanted = Wanted { redis: wants(REDIS_URL), postgres: wants(POSTGRES_URL) };
    let servers = Servers::start(data, wanted).await.map_err(CommandError::failed)?;
    for (name, url) in [(REDIS_URL, servers.redis_url()), (POSTGRES_URL, servers.postgres_url())] {
        if let Some(url) = url {
            sources.stand_in.insert(name.to_owned(), url.to_owned());
        }
    }
    Ok(Some(servers))
}

async fn load(
    app: &App,
    values: &BTreeMap<String, String>,
    data: &DataFolder,
) -> Result<BTreeMap<String, Arc<RunningComponent>>, CommandError> {
    let cache = data.cache_folder().map_err(CommandError::failed)?;
    let sqlite = data.sqlite_folder().map_err(CommandError::failed)?;
    let engine = runtime::new_engine(&cache).map_err(CommandError::failed)?;
    output::error_line(&format!("preparing {} components", app.components.len()));
    let loaded = runtime::load_all(&engine, app, values, sqlite).await;
    loaded.map_err(CommandError::failed)
}

/// Ready when SIGINT or SIGTERM comes.
fn stop_signal() -> Result<impl Future<Output = ()>, CommandError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CommandError::failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(CommandError::failed)?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        output::error_line("stopping");
    })
}

fn start_schedules(
    app: &App,
    values: &BTreeMap<String, String>,
    service: &Arc<Service>,
) -> Vec<tokio::task::JoinHandle<()>> {
    let mut started = Vec::new();
    for (id, component) in &app.components {
        if component.schedule.is_empty() {
            continue;
        }
        let key = match schedule_key(app, values) {
            Ok(key) => key,
            Err(why) => {
                let route = schedule::ROUTE;
                output::error_line(&format!("POST {route} of `{id}` is not called on schedule: {why}"));
                continue;
            }
        };
        for line in &component.schedule {
            let schedule = Schedule { component: id.clone(), line: line.clone(), key: key.clone() };
            started.push(tokio::spawn(schedule.run(Arc::clone(service))));
        }
    }
    started
}

/// The key that the host signs its own calls with.
fn schedule_key(app: &App, values: &BTreeMap<String, String>) -> Result<SigningKey, String> {
    let set = app.signing_keys.as_ref().and_then(|name| values.get(name));
    let set = set.ok_or("the manifest names no variable in application.tool.im.signing_keys")?;
    SigningKey::parse_symmetric(set).map_err(|e| e.to_string())
}
