//! Where the servers keep their data, and the lock that lets one `im` at a time run them.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ServersError;
use crate::data::DataFolder;

/// The folder of the servers, locked as long as a handle to it lives.
#[derive(Clone)]
pub struct Folder {
    root: PathBuf,
    _lock: Arc<File>,
}

impl Folder {
    /// Opens the folder for this process alone.
    pub fn lock(data: &DataFolder) -> Result<Self, ServersError> {
        let make = |e| ServersError::Io { what: "no folder".into(), source: std::io::Error::other(e) };
        let root = data.servers_folder().map_err(make)?;
        let what = || format!("cannot lock {}", root.display());
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(root.join("lock"));
        let file = file.map_err(ServersError::io(what()))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { root, _lock: Arc::new(file) }),
            Err(TryLockError::WouldBlock) => Err(ServersError::InUse(root.display().to_string())),
            Err(TryLockError::Error(source)) => Err(ServersError::Io { what: what(), source }),
        }
    }

    pub fn redis(&self) -> PathBuf {
        self.root.join("redis")
    }

    pub fn postgres(&self) -> PathBuf {
        self.root.join("postgres")
    }

    /// A database cluster that is still being made.
    pub fn postgres_unfinished(&self) -> PathBuf {
        self.root.join("postgres.new")
    }

    /// What a server prints.
    pub fn log(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.log"))
    }

    /// The password of a server.
    pub fn secret(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.secret"))
    }
}

/// The last line of a log with something on it.
pub fn last_line(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("it printed nothing").to_owned()
}
