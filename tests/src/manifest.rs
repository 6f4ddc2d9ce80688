//! Copies of the workspace's `spin.toml` with another schedule of the upkeep.

use std::fs;
use std::path::{Path, PathBuf};

/// How the manifest writes a built component, and where it is, from the workspace's folder on.
const BUILT: &str = "\"target/";
/// What the schedule's line begins with.
const SCHEDULE: &str = "schedule = ";

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("the package is a folder of the workspace").to_owned()
}

/// Writes a copy that does all of the upkeep every `interval` into `folder`, and gives its path.
pub fn with_schedule(interval: &str, folder: &Path) -> PathBuf {
    let original = root().join("spin.toml");
    let text = fs::read_to_string(&original).unwrap_or_else(|e| panic!("{}: {e}", original.display()));
    let is_schedule = |line: &&str| line.starts_with(SCHEDULE);
    assert_eq!(text.lines().filter(is_schedule).count(), 1, "one component has a schedule");
    let lines: Vec<String> = text
        .lines()
        .map(|line| match is_schedule(&line) {
            true => format!("{SCHEDULE}\"{interval}\""),
            // Paths are relative to the manifest.
            false => line.replace(BUILT, &format!("\"{}/target/", root().display())),
        })
        .collect();
    let copy = folder.join("spin.toml");
    fs::write(&copy, lines.join("\n")).expect("the folder takes files");
    copy
}
