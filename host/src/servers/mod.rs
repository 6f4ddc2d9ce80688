//! Private servers of `im up --with-servers`: a Redis and a PostgreSQL for this data folder alone.
//!
//! They listen on this machine only, on free ports, behind passwords of their own; their data lives
//! as long as the folder. They end with `im`: told to when it ends, and by the kernel when it is
//! killed.

mod folder;
mod owner;
mod postgres;
mod process;
mod programs;
mod redis;
mod secret;

use std::io;

use folder::Folder;
use owner::Owner;
use process::Process;

use crate::data::DataFolder;
use crate::output;

/// Why there are no servers. The text is the one line a person sees.
#[derive(Debug, thiserror::Error)]
pub enum ServersError {
    #[error("--with-servers: {program} is not installed: apt install {package}")]
    Missing { program: &'static str, package: String },
    #[error("--with-servers: another im runs the servers in {0}")]
    InUse(String),
    #[error("--with-servers: {what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("--with-servers: {name} does not start: {why}")]
    NotStarted { name: &'static str, why: String },
    #[error("--with-servers: {name} has ended: {why}")]
    Ended { name: &'static str, why: String },
    #[error("--with-servers: no free port: {0}")]
    NoPort(io::Error),
}

impl ServersError {
    fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Which servers are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub redis: bool,
    pub postgres: bool,
}

/// Running servers, and where they are.
pub struct Servers {
    /// Locked as long as they run.
    _folder: Folder,
    redis: Option<(Process, String)>,
    postgres: Option<(Process, String)>,
}

impl Servers {
    /// Starts the servers and waits until each answers. When one does not, none is left.
    ///
    /// To be called on the main thread: the kernel ends the servers when the thread does.
    pub async fn start(data: &DataFolder, wanted: Wanted) -> Result<Self, ServersError> {
        let folder = Folder::lock(data)?;
        let mut servers = Self { _folder: folder.clone(), redis: None, postgres: None };
        let started = servers.start_each(&folder, wanted).await;
        if let Err(error) = started {
            servers.stop().await;
            return Err(error);
        }
        Ok(servers)
    }

    async fn start_each(&mut self, folder: &Folder, wanted: Wanted) -> Result<(), ServersError> {
        if wanted.redis {
            self.redis = Some(redis::start(folder).await?);
            output::error_line(&format!("redis runs in {}", folder.redis().display()));
        }
        if wanted.postgres {
            self.postgres = Some(postgres::start(folder, &Owner::find()?).await?);
            output::error_line(&format!("postgres runs in {}", folder.postgres().display()));
        }
        Ok(())
    }

    /// Where Redis is, its password included.
    pub fn redis_url(&self) -> Option<&str> {
        self.redis.as_ref().map(|(_, url)| url.as_str())
    }

    /// Where PostgreSQL is, its password included.
    pub fn postgres_url(&self) -> Option<&str> {
        self.postgres.as_ref().map(|(_, url)| url.as_str())
    }

    /// Waits until one of them ends, which none should.
    pub async fn ended(&mut self) -> ServersError {
        let ended = async |server: &mut Option<(Process, String)>| match server {
            Some((process, _)) => process.ended().await,
            None => std::future::pending().await,
        };
        tokio::select! {
            why = ended(&mut self.redis) => why,
            why = ended(&mut self.postgres) => why,
        }
    }

    /// Ends them, and waits until they have written what they hold.
    pub async fn stop(self) {
        let stop = async |server: Option<(Process, String)>| {
            if let Some((process, _)) = server {
                process.stop().await;
            }
        };
        tokio::join!(stop(self.redis), stop(self.postgres));
    }
}
