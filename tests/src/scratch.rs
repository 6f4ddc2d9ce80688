//! Folders of a test's own, under the system's folder for such things.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Makes a folder; whoever asked removes it.
pub fn folder() -> PathBuf {
    let name = format!("im-tests-{}-{:016x}", std::process::id(), fastrand::u64(..));
    let folder = env::temp_dir().join(name);
    fs::create_dir(&folder).expect("a scratch folder can be made");
    folder
}

/// A folder that goes when this value does.
pub struct Scratch(PathBuf);

impl Scratch {
    #[expect(clippy::new_without_default, reason = "it makes a folder: nobody should get one unasked")]
    pub fn new() -> Self {
        Self(folder())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into the folder and gives its path.
    pub fn write(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).expect("the folder takes files");
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
