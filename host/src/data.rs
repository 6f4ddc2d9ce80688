//! The data folder: everything a running app keeps, in one place that only its owner can read.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Folders hold signing keys and messages: nobody but the owner enters.
const FOLDER_MODE: u32 = 0o700;

/// A data folder that exists.
#[derive(Debug, Clone)]
pub struct DataFolder {
    root: PathBuf,
}

/// The data folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the data folder {folder}: {source} (choose another with --data)")]
pub struct DataFolderError {
    folder: String,
    source: io::Error,
}

impl DataFolder {
    /// Opens the folder, and makes it when it is absent.
    pub fn open(root: &Path) -> Result<Self, DataFolderError> {
        make_private(root)?;
        let root = root
            .canonicalize()
            .map_err(|source| DataFolderError { folder: root.display().to_string(), source })?;
        Ok(Self { root })
    }

    /// The signing keys that `im` made for this folder.
    pub fn keys_file(&self) -> PathBuf {
        self.root.join("keys.json")
    }

    /// Compiled components. May be deleted at any time.
    pub fn cache_folder(&self) -> Result<PathBuf, DataFolderError> {
        self.subfolder("cache")
    }

    /// One file for each SQLite database.
    pub fn sqlite_folder(&self) -> Result<PathBuf, DataFolderError> {
        self.subfolder("sqlite")
    }

    /// Data of the private servers.
    pub fn servers_folder(&self) -> Result<PathBuf, DataFolderError> {
        self.subfolder("servers")
    }

    fn subfolder(&self, name: &str) -> Result<PathBuf, DataFolderError> {
        let folder = self.root.join(name);
        make_private(&folder)?;
        Ok(folder)
    }
}

fn make_private(folder: &Path) -> Result<(), DataFolderError> {
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .map_err(|source| DataFolderError { folder: folder.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn made_private_and_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a/b");
        let data = DataFolder::open(&root).unwrap();
        DataFolder::open(&root).unwrap();
        for folder in [root.clone(), data.cache_folder().unwrap(), data.sqlite_folder().unwrap()] {
            let mode = folder.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, FOLDER_MODE, "{folder:?}");
        }
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("taken");
        std::fs::write(&root, "").unwrap();
        let message = DataFolder::open(&root.join("x")).unwrap_err().to_string();
        assert!(message.contains("--data"), "{message}");
    }
}
