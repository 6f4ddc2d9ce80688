//! What is measured: `im up` with its components, and the twin. Both stand on the same servers, and
//! one rests while the other is measured.

use crate::failure::{Doing, Outcome, fail};
use crate::load::{Http, Link, body, post};
use crate::servers::Servers;
use crate::servers::process::{Process, bound, output};
use crate::servers::redis::Fsync;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the manifest writes where a component is.
const BUILT: &str = "\"target/wasm32-wasip2/wasm/";
/// What begins the manifest's line with the schedule of the upkeep.
const SCHEDULE: &str = "schedule = ";
/// How long one run of the upkeep may take, in milliseconds: as long as the API allows.
const RUN_MS: u64 = 25_000;
pub const TENANT: &str = "bench";
pub const USER: &str = "alice";

/// Where what was built is.
pub struct Built {
    pub im: PathBuf,
    pub components: PathBuf,
    pub manifest: PathBuf,
}

/// Who asks.
pub struct Tokens {
    pub user: String,
    pub service: String,
}

pub struct Subject {
    pub process: Process,
    pub address: String,
}

/// Makes the key, and tokens signed with it.
pub fn tokens(built: &Built, servers: &Servers) -> Outcome<Tokens> {
    let secret = format!("{:032x}{:032x}", crate::surroundings::random(), crate::surroundings::random());
    fs::write(key_file(servers), &secret)?;
    let token = |scope: &str| {
        let mut command = Command::new(&built.im);
        command.args(["token", "--tenant", TENANT, "--user", USER, "--scope", scope, "--ttl", "86400"]);
        command.args(["--key", &secret]);
        output(command)
    };
    Ok(Tokens { user: token("user")?, service: token("service")? })
}

fn key_file(servers: &Servers) -> PathBuf {
    servers.folder().join("key")
}

impl Subject {
    /// `im up` on the components, with the upkeep on no schedule.
    pub async fn im(built: &Built, servers: &Servers, fsync: Fsync) -> Outcome<Self> {
        let mut migrate = Command::new(&built.im);
        migrate.args(["migrate", "--postgres-url", &servers.postgres.url()]);
        output(migrate)?;
        let manifest = servers.folder().join("spin.toml");
        fs::write(&manifest, manifest_without_schedule(built)?)?;
        let mut command = bound("KILL", None, &built.im);
        command.arg("up").arg("--manifest").arg(&manifest).args(["--profile", "redis", "--log", "off"]);
        command.args(["--listen", "127.0.0.1:0"]).arg("--data").arg(servers.folder().join("im"));
        for (name, value) in [
            ("redis_url", servers.redis.url()),
            ("postgres_url", servers.postgres.url()),
            ("hot_durability", fsync.durability().to_owned()),
            ("jwt_keys", fs::read_to_string(key_file(servers))?),
        ] {
            command.args(["--var", &format!("{name}={value}")]);
        }
        Self::start("im", command, servers).await
    }

    pub async fn twin(servers: &Servers, fsync: Fsync) -> Outcome<Self> {
        let mut command = bound("KILL", None, &std::env::current_exe()?);
        command.arg("twin").args(["--redis-url", &servers.redis.url()]);
        command.args(["--postgres-url", &servers.postgres.url()]);
        command.args(["--hot-durability", fsync.durability()]).arg("--key-file").arg(key_file(servers));
        Self::start("twin", command, servers).await
    }

    async fn start(name: &str, command: Command, servers: &Servers) -> Outcome<Self> {
        let mut process = Process::start(name, command, Signal::TERM, servers.folder())?;
        let address = process.address().await.doing(|| name.to_owned())?;
        Ok(Self { process, address })
    }

    /// Posts on a connection of its own.
    pub async fn post(&self, path: &str, token: &str, request: &Value) -> Outcome<Value> {
        let mut link = Link::open(&self.address, Http { holds: "" }).await?;
        let request = post(path, token, &request.to_string());
        let answer = link.exchange(&request).await;
        let answer = answer.doing(|| format!("{path} ({})", self.process.last_line()))?;
        Ok(serde_json::from_slice(body(answer))?)
    }

    /// Runs the drain until nothing waits; gives how many messages it stored.
    pub async fn drain(&self, tokens: &Tokens) -> Outcome<u64> {
        let request = json!({ "tasks": ["drain"], "maxMs": RUN_MS });
        let mut drained = 0;
        loop {
            let report = self.post("/api/archive/run", &tokens.service, &request).await?;
            let number = |name: &str| report.get(name).and_then(Value::as_u64);
            if number("deadLettered") != Some(0) {
                return fail(format!("messages were given up: {report}"));
            }
            drained += number("drained").unwrap_or(0);
            if number("backlog") == Some(0) {
                return Ok(drained);
            }
        }
    }
}

fn manifest_without_schedule(built: &Built) -> Outcome<String> {
    let text = fs::read_to_string(&built.manifest).doing(|| built.manifest.display().to_string())?;
    let components = format!("\"{}/", absolute(&built.components)?.display());
    let lines = text.lines().map(|line| match line.starts_with(SCHEDULE) {
        true => format!("{SCHEDULE}[]"),
        false => line.replace(BUILT, &components),
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn absolute(path: &Path) -> Outcome<PathBuf> {
    fs::canonicalize(path).doing(|| path.display().to_string())
}
