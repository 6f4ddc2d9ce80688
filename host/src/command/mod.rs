//! The commands, one file each.

mod connection;
mod error;
mod key;
mod migrate;
mod pull;
mod rebalance;
mod replay;
mod send;
mod status;
mod sync;
mod token;
mod up;

use clap::{Parser, Subcommand};

pub use error::CommandError;

/// A message store for instant messaging: run it, and talk to it.
#[derive(Parser)]
#[command(name = "im", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the app of the manifest in the current folder
    Up(up::Args),
    /// Bring the PostgreSQL databases of the profile `redis` up to this version
    Migrate(migrate::Args),
    /// Add or remove servers of the profile `redis`
    Rebalance(rebalance::Args),
    /// Print a token for a user, and nothing else
    Token(token::Args),
    /// Send a message, and print its receipt
    Send(send::Args),
    /// Show the history of a conversation
    Pull(pull::Args),
    /// Show what a device does not have yet of a conversation
    Sync(sync::Args),
    /// Show the state of the store
    Status(status::Args),
    /// Send a file of chat; safe to repeat
    Replay(replay::Args),
}

impl Cli {
    /// Runs the chosen command to its end.
    pub fn run(self) -> Result<(), CommandError> {
        match self.command {
            Command::Up(args) => up::run(args),
            Command::Migrate(args) => migrate::run(args),
            Command::Rebalance(args) => rebalance::run(args),
            Command::Token(args) => token::run(args),
            Command::Send(args) => send::run(args),
            Command::Pull(args) => pull::run(args),
            Command::Sync(args) => sync::run(args),
            Command::Status(args) => status::run(args),
            Command::Replay(args) => replay::run(args),
        }
    }
}
