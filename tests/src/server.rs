//! The server under test.
//!
//! `IM_URL`: a running server; the key that signs tokens comes from `IM_KEY` (a JWK, a JWK Set or a
//! bare secret) or from `IM_DATA/keys.json`. Otherwise the suite starts the binary `IM_BIN`, or
//! `target/release/im` of this workspace, on a scratch data folder; where `IM_PROFILE` asks for Redis
//! and PostgreSQL, on a Redis and a database of its own.

use crate::keys::Key;
use crate::postgres_server::PostgresServer;
use crate::process::{Process, Signal};
use crate::profile::Profile;
use crate::redis_server::{Fsync, RedisServer};
use crate::{manifest, raw, scratch};
use serde_json::Value;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How long a server may take from its first line to its first answer: it may have to compile.
const READY_WITHIN: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// The folder of compiled components in a data folder. It may be absent; copying it only spares
/// each server of a test's own the seconds it takes to compile them again.
const CACHE: &str = "cache";

static SHARED: LazyLock<Server> =
    LazyLock::new(|| Server::outside().unwrap_or_else(|| Server::start(Setup::default(), None)));

/// How a server of one's own is started.
#[derive(Default)]
pub struct Setup {
    /// More arguments of `im up`.
    pub args: Vec<String>,
    /// How often the server calls its upkeep, as `spin.toml` says it; absent: as it does say it.
    pub schedule: Option<&'static str>,
    /// The JWK Set to put into the data folder first; absent: the server makes its own.
    pub keys: Option<Value>,
    /// The port; absent: a free one, another at each start.
    pub port: Option<u16>,
    /// Where Redis and PostgreSQL are; absent: the server gets its own.
    pub stores: Option<Stores>,
}

/// The addresses of a Redis and a database.
#[derive(Clone, Debug)]
pub struct Stores {
    pub redis: String,
    pub postgres: String,
}

pub struct Server {
    base: String,
    key: Key,
    own: Option<Own>,
}

struct Own {
    /// Absent while the server is down.
    process: Option<Process>,
    data: PathBuf,
    args: Vec<String>,
    /// It lives as long as the server, which is in need of it.
    _redis: Option<RedisServer>,
}

impl Server {
    /// The server that the tests of this process share.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// The shared server if the suite has started it, and its data folder is here therefore.
    pub fn shared_own() -> Option<&'static Self> {
        let shared = Self::shared();
        if shared.own.is_none() {
            println!("skipped: IM_URL is set, and this test needs the server's data folder");
        }
        shared.own.is_some().then_some(shared)
    }

    /// A server that a test has to itself, to stop and to break; none if the suite runs against a
    /// server from outside.
    pub fn own(setup: Setup) -> Option<Self> {
        if env::var_os("IM_URL").is_some() {
            println!("skipped: IM_URL is set, and this test needs a server it may stop");
            return None;
        }
        let compiled = Self::shared().data().join(CACHE);
        Some(Self::start(setup, Some(&compiled)))
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The data folder of a server of one's own.
    pub fn data(&self) -> &Path {
        &self.own.as_ref().expect("a server of one's own").data
    }

    /// Ends the process; its data stay.
    pub fn stop(&mut self, signal: Signal) {
        let own = self.own.as_mut().expect("a server of one's own");
        own.process.take().expect("the server runs").end(signal);
    }

    /// Starts a stopped server again on the same data; its address may be another then.
    pub fn start_again(&mut self) {
        let own = self.own.as_mut().expect("a server of one's own");
        assert!(own.process.is_none(), "the server runs already");
        let process = launch(own);
        self.base = ready_address(&process);
        own.process = Some(process);
    }

    fn outside() -> Option<Self> {
        let base = env::var("IM_URL").ok()?;
        let key = match (env::var("IM_KEY"), env::var("IM_DATA")) {
            (Ok(key), _) => Key::parse(&key),
            (_, Ok(data)) => key_of(Path::new(&data)),
            _ => panic!("IM_URL needs IM_KEY, or IM_DATA with a keys.json"),
        };
        Some(Self { base: base.trim_end_matches('/').to_owned(), key, own: None })
    }

    /// `compiled`: where another server has put its compiled components.
    fn start(setup: Setup, compiled: Option<&Path>) -> Self {
        let data = scratch::folder();
        if let Some(keys) = &setup.keys {
            fs::write(data.join("keys.json"), keys.to_string()).expect("the folder takes files");
        }
        if let Some(compiled) = compiled.filter(|folder| folder.is_dir()) {
            copy_folder(compiled, &data.join(CACHE)).expect("compiled components can be copied");
        }
        let mut args = setup.args;
        let mut redis = None;
        if Profile::current() == Profile::Redis {
            let stores = setup.stores.unwrap_or_else(|| {
                let own = redis.insert(RedisServer::start(Fsync::Everysec));
                Stores { redis: own.url(), postgres: PostgresServer::shared().new_database() }
            });
            args.extend(stores.args());
        }
        args.extend(["--listen".to_owned(), format!("127.0.0.1:{}", setup.port.unwrap_or(0))]);
        if let Some(interval) = setup.schedule {
            let manifest = manifest::with_schedule(interval, &data);
            args.extend(["--manifest".to_owned(), manifest.display().to_string()]);
        }
        let mut own = Own { process: None, data, args, _redis: redis };
        let process = launch(&own);
        let base = ready_address(&process);
        let key = key_of(&own.data);
        own.process = Some(process);
        Self { base, key, own: Some(own) }
    }
}

impl Stores {
    /// What tells `im up` of them.
    fn args(&self) -> Vec<String> {
        let redis = format!("redis_url={}", self.redis);
        let postgres = format!("postgres_url={}", self.postgres);
        ["--profile", "redis", "--var", &redis, "--var", &postgres].map(str::to_owned).into()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.process.take().is_none() {
            // Nobody else will: a running process takes its folder with it.
            let _ = fs::remove_dir_all(&self.data);
        }
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// The binary `im` under test.
pub fn program() -> PathBuf {
    let built = || manifest::root().join("target/release/im");
    let program = env::var_os("IM_BIN").map_or_else(built, PathBuf::from);
    assert!(
        program.is_file(),
        "{} is not there: build it (cargo xtask build), or set IM_BIN or IM_URL",
        program.display()
    );
    program
}

fn launch(own: &Own) -> Process {
    let data = own.data.display().to_string();
    let fixed = ["up", "--data", &data, "--log", "off"];
    let args: Vec<String> = fixed.map(str::to_owned).into_iter().chain(own.args.clone()).collect();
    Process::start(&program(), &args, &manifest::root(), &own.data)
}

/// Waits until the process answers.
fn ready_address(process: &Process) -> String {
    let base = process.address();
    let began = Instant::now();
    while began.elapsed() < READY_WITHIN {
        if raw::get(&base, "/api/health").is_ok_and(|answer| answer.status == 200) {
            return base;
        }
        std::thread::sleep(POLL);
    }
    panic!("no healthy answer within {READY_WITHIN:?}: {:#?}", process.printed());
}

fn key_of(data: &Path) -> Key {
    let file = data.join("keys.json");
    let text = fs::read_to_string(&file);
    Key::parse(&text.unwrap_or_else(|e| panic!("{}: {e}", file.display())))
}
