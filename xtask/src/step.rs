//! Steps: programs that are run one after the other, each announced.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Why a command stopped, in one line.
pub struct Failure(pub String);

pub type Outcome<T = ()> = Result<T, Failure>;

/// The folder of the workspace.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The local host.
pub fn im() -> PathBuf {
    target().join("release/im")
}

/// The cargo that runs this program.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Announces a step and runs it; its output goes to the terminal.
pub fn run(what: &str, command: &mut Command) -> Outcome {
    println!("==> {what}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure(format!("{what}: failed ({status})"))),
        Err(error) => Err(Failure(format!("{what}: cannot run {}: {error}", name(command)))),
    }
}

/// Runs a program quietly, and gives what it printed.
pub fn output(command: &mut Command) -> Outcome<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure(format!("cannot run {}: {error}", name(command))))?;
    if !output.status.success() {
        return Err(Failure(format!("{} failed ({})", name(command), output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn name(command: &Command) -> String {
    AsRef::<OsStr>::as_ref(command.get_program()).to_string_lossy().into_owned()
}
