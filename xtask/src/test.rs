//! Every check and every test.

use crate::build::{self, COMPONENTS, WASM_TARGET};
use crate::servers;
use crate::step::{Failure, Outcome, cargo, run};
use std::process::Command;

/// Length of a soak unless said otherwise.
const SOAK_SECONDS_DEFAULT: &str = "600";

pub fn test() -> Outcome {
    build::tools()?;
    servers::install()?;
    run("formatting", cargo().args(["fmt", "--all", "--check"]))?;
    build::components()?;
    run(
        "lints of the components",
        deny_warnings(cargo().args(["clippy", "--locked", "--target", WASM_TARGET]), &COMPONENTS),
    )?;
    run(
        "lints",
        native(cargo().args(["clippy", "--locked", "--release", "--all-targets"]))
            .args(["--", "-D", "warnings"]),
    )?;
    build::host()?;
    run("tests", native(cargo().args(["test", "--locked", "--release"])))?;
    let black_box = &mut cargo();
    black_box.args(["test", "--locked", "--release", "--package", "im-tests"]);
    run("black-box tests on Redis and PostgreSQL", black_box.env("IM_PROFILE", "redis"))
}

/// Writes, kills, restarts and checks for a given time.
pub fn soak(seconds: Option<&str>) -> Outcome {
    let seconds = seconds.unwrap_or(SOAK_SECONDS_DEFAULT);
    if seconds.parse::<u32>().is_err() {
        return Err(Failure(format!("soak: {seconds} is not a number of seconds")));
    }
    build::build()?;
    let soak = ["test", "--locked", "--release", "--package", "im-tests", "--test", "black_box"];
    let command = &mut cargo();
    command.args(soak).args(["--", "crash::", "--nocapture"]);
    run("soak", command.env("IM_SOAK_SECONDS", seconds))
}

/// Every package but those that are components and nothing else.
fn native(command: &mut Command) -> &mut Command {
    command.arg("--workspace");
    for component in COMPONENTS {
        command.args(["--exclude", component]);
    }
    command
}

fn deny_warnings<'a>(command: &'a mut Command, packages: &[&str]) -> &'a mut Command {
    for package in packages {
        command.args(["--package", package]);
    }
    command.args(["--", "-D", "warnings"])
}
