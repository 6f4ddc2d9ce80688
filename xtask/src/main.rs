//! The project's own commands. It uses nothing but the standard library, so that it is built in
//! seconds on a fresh machine.

// A command line talks to its user.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod build;
mod servers;
mod step;
mod test;
mod up;

use std::process::ExitCode;
use step::Failure;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  build          builds the components and the local host `im`
  up [OPTIONS]   builds, then runs the app on 127.0.0.1:3000 with its data in .im/, and prints
                 commands to try it; OPTIONS go to `im up` (see `im up --help`)
  test           every check and every test
  soak [SECONDS] writes, kills and restarts again and again, and checks that nothing is lost
                 (600 seconds unless said otherwise)
  bench redis [OPTIONS]
                 builds, then measures the profile `redis` beside the bounds of its servers;
                 OPTIONS: --json FILE, --quick, --only requests|sync|writes,
                 --fsync always|everysec|no";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let outcome = match arguments.first().map(String::as_str) {
        Some("build") if rest.is_empty() => build::build(),
        Some("up") => up::up(rest),
        Some("test") if rest.is_empty() => test::test(),
        Some("soak") if rest.len() <= 1 => test::soak(rest.first().map(String::as_str)),
        Some("bench") if rest.first().is_some_and(|what| what == "redis") => bench::redis(rest),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(reason)) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
