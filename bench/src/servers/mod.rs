//! The private servers that both subjects stand on, and their scratch folder.

pub mod postgres;
pub mod process;
pub mod redis;

use crate::failure::Outcome;
use postgres::PostgresServer;
use redis::{Fsync, RedisServer};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// Scratch folders lie where files are kept across restarts, that is, on a disk: a flush to memory
/// would be none.
const SCRATCH: &str = "/var/tmp";
/// PostgreSQL, as its own user, has to pass through.
const SCRATCH_MODE: u32 = 0o755;

pub struct Servers {
    pub redis: RedisServer,
    pub postgres: PostgresServer,
    /// Goes last, when nobody writes into it any more.
    folder: TempDir,
}

impl Servers {
    pub async fn start(fsync: Fsync) -> Outcome<Self> {
        let mode = Permissions::from_mode(SCRATCH_MODE);
        let folder = tempfile::Builder::new().prefix("im-bench-").permissions(mode).tempdir_in(SCRATCH)?;
        let redis = RedisServer::start(fsync, folder.path()).await?;
        let postgres = PostgresServer::start(folder.path()).await?;
        Ok(Self { redis, postgres, folder })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
