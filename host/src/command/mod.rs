//! The commands, one file each.

mod error;
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
    /// Print a token for a user, and nothing else
    Token(token::Args),
}

impl Cli {
    /// Runs the chosen command to its end.
    pub fn run(self) -> Result<(), CommandError> {
        match self.command {
            Command::Up(args) => up::run(args),
            Command::Token(args) => token::run(args),
        }
    }
}
