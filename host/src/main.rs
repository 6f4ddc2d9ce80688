//! `im`: runs the app of a `spin.toml` without Spin, and holds the operator's commands.

mod auth;
mod capability;
mod client;
mod command;
mod compose;
mod data;
mod limits;
mod manifest;
mod output;
mod ready;
mod runtime;
mod schedule;
mod server;
mod servers;
mod variables;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let outcome = command::Cli::parse().run();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error_line(&error.to_string());
            error.exit_code()
        }
    }
}
