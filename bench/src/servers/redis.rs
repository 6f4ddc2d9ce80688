//! A private Redis with an append-only file.

use super::process::{Process, bound, free_port, output};
use crate::failure::{Doing, Outcome};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;

/// When Redis flushes a write to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fsync {
    Always,
    Everysec,
    No,
}

impl Fsync {
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Everysec => "everysec",
            Self::No => "no",
        }
    }

    /// What the store may believe of it.
    pub fn durability(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Everysec | Self::No => "everysec",
        }
    }
}

pub struct RedisServer {
    pub process: Process,
    pub port: u16,
}

impl RedisServer {
    pub async fn start(fsync: Fsync, folder: &Path) -> Outcome<Self> {
        let data = folder.join("redis");
        fs::create_dir(&data)?;
        let port = free_port()?;
        let mut command = bound("KILL", None, Path::new("redis-server"));
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
        command.arg("--dir").arg(&data).args(["--appendonly", "yes", "--appendfsync", fsync.name()]);
        // A rewrite of the file would come in the middle of some figure, and not in that of another.
        command.args(["--maxmemory-policy", "noeviction", "--auto-aof-rewrite-percentage", "0"]);
        let mut process = Process::start("redis", command, Signal::TERM, folder)?;
        let url = url(port);
        process.wait_for(async || ping(&url).await).await.doing(|| "redis-server".to_owned())?;
        Ok(Self { process, port })
    }

    pub fn url(&self) -> String {
        url(self.port)
    }
}

pub fn version() -> Outcome<String> {
    let mut command = Command::new("redis-server");
    command.arg("--version");
    let text = output(command)?;
    Ok(text.split(' ').find_map(|word| word.strip_prefix("v=")).unwrap_or("?").to_owned())
}

fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

async fn ping(url: &str) -> Option<()> {
    let mut link = redis::Client::open(url).ok()?.get_multiplexed_async_connection().await.ok()?;
    redis::cmd("PING").query_async(&mut link).await.ok()
}
