//! Builds the components and the local host.

use crate::step::{Failure, Outcome, cargo, output, run};
use std::process::{Command, Stdio};

/// The target of the components.
pub const WASM_TARGET: &str = "wasm32-wasip2";
/// The packages that are components.
pub const COMPONENTS: [&str; 6] =
    ["im-send", "im-pull", "im-sync", "im-archive", "im-storage-embedded", "im-storage-redis-sql"];

pub fn build() -> Outcome {
    tools()?;
    components()?;
    host()
}

/// Makes sure that what a build needs is there.
pub fn tools() -> Outcome {
    if !runs("cc", &["--version"]) {
        return Err(Failure("a C compiler is needed: install gcc (Debian: apt-get install gcc)".into()));
    }
    if has_wasm_target()? {
        return Ok(());
    }
    if !runs("rustup", &["--version"]) {
        let reason = format!("this rustc cannot build for {WASM_TARGET}: install rustup, which can add it");
        return Err(Failure(reason));
    }
    let add = &mut Command::new("rustup");
    run("adding the target wasm32-wasip2", add.args(["target", "add", WASM_TARGET]))
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let quiet = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn has_wasm_target() -> Outcome<bool> {
    let libraries =
        output(Command::new("rustc").args(["--print", "target-libdir", "--target", WASM_TARGET]))?;
    Ok(std::fs::read_dir(libraries).is_ok_and(|mut files| files.next().is_some()))
}

pub fn components() -> Outcome {
    let mut command = cargo();
    command.args(["build", "--locked", "--profile", "wasm", "--target", WASM_TARGET]);
    for component in COMPONENTS {
        command.args(["--package", component]);
    }
    run("building the components", &mut command)
}

pub fn host() -> Outcome {
    run("building the local host", cargo().args(["build", "--locked", "--release", "--package", "im-host"]))
}
