//! A private PostgreSQL that flushes every commit.

use super::process::{Process, bound, free_port, output};
use crate::failure::{Doing, Outcome, fail};
use rustix::process::{Signal, geteuid};
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio_postgres::{Client, NoTls};

/// Where Debian keeps it, a folder for each major version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The version that the figures are about.
const VERSION: &str = "15";
/// The user it runs as when we are root, which it refuses.
const USER: &str = "postgres";
/// Who owns the database.
const ROLE: &str = "im";
const DATABASE: &str = "postgres";

pub struct PostgresServer {
    pub process: Process,
    url: String,
}

impl PostgresServer {
    pub async fn start(folder: &Path) -> Outcome<Self> {
        let data = folder.join("postgres");
        initialize(&data)?;
        let port = free_port()?;
        let mut command = bound("QUIT", user(), &programs()?.join("postgres"));
        command.arg("-D").arg(&data);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=400",
            "fsync=on",
            "synchronous_commit=on",
            // Room for the log of a run, so that a checkpoint comes by its time and not by its size.
            "max_wal_size=8GB",
            // The default is 128 MB, which no server of this kind runs with.
            "shared_buffers=1GB",
        ] {
            command.args(["-c", setting]);
        }
        command.args(["-c", &format!("port={port}")]);
        let mut process = Process::start("postgres", command, Signal::QUIT, folder)?;
        let url = format!("postgres://{ROLE}@127.0.0.1:{port}/{DATABASE}?sslmode=disable");
        process.wait_for(async || connect(&url).await.ok()).await.doing(|| "postgres".to_owned())?;
        Ok(Self { process, url })
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }
}

/// A connection, driven by the runtime until the client is dropped.
pub async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

pub fn version() -> Outcome<String> {
    let mut command = Command::new(programs()?.join("postgres"));
    command.arg("--version");
    let text = output(command)?;
    Ok(text.split(' ').nth(2).unwrap_or("?").to_owned())
}

fn initialize(data: &Path) -> Outcome {
    fs::create_dir(data)?;
    if let Some(user) = user() {
        let (id, group) = ids(user)?;
        chown(data, Some(id), Some(group))?;
    }
    let mut command = bound("QUIT", user(), &programs()?.join("initdb"));
    command.arg("-D").arg(data).args(["--username", ROLE, "--auth=trust", "--encoding=UTF8"]);
    command.args(["--locale=C", "--no-instructions"]);
    output(command).map(drop)
}

fn programs() -> Outcome<PathBuf> {
    let folder = Path::new(VERSIONS).join(VERSION).join("bin");
    match folder.join("initdb").is_file() {
        true => Ok(folder),
        false => fail(format!("PostgreSQL {VERSION} is not installed: apt install postgresql-{VERSION}")),
    }
}

fn user() -> Option<&'static str> {
    geteuid().is_root().then_some(USER)
}

fn ids(user: &str) -> Outcome<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find(|line| line.split(':').next() == Some(user));
    let mut numbers = line.into_iter().flat_map(|line| line.split(':').skip(2)).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(id)), Some(Ok(group))) => Ok((id, group)),
        _ => fail(format!("there is no user {user}: install postgresql")),
    }
}
