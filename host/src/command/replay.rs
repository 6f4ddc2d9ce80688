//! `im replay`: sends a file of chat; sent again, it changes nothing.

use std::path::PathBuf;
use std::sync::Arc;

use super::CommandError;
use super::connection::{ServiceOptions, run_client};
use crate::client::limits::{ATTEMPTS_REPLAY, CONCURRENCY_DEFAULT, CONCURRENCY_MAX};
use crate::client::replay::{self, Source};
use crate::client::{Client, Effort};
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// Chat: NDJSON, plain or gzip, with conversationId, senderId, ts and text on each line
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Tenant to send to
    #[arg(long, value_name = "T", required_unless_present = "token")]
    tenant: Option<String>,
    /// Conversations sent at once
    #[arg(long, value_name = "N", default_value_t = CONCURRENCY_DEFAULT,
          value_parser = clap::value_parser!(u16).range(1..=i64::from(CONCURRENCY_MAX)))]
    concurrency: u16,
    #[command(flatten)]
    service: ServiceOptions,
}

pub fn run(args: Args) -> Result<(), CommandError> {
    let source = Source::new(&args.file).map_err(CommandError::usage)?;
    let effort = Effort { connections_max: args.concurrency, attempts_max: ATTEMPTS_REPLAY };
    let client = args.service.client(args.tenant.as_deref(), effort)?;
    run_client(replay(&source, client, args.concurrency))
}

async fn replay(source: &Source, client: Client, concurrency: u16) -> Result<(), CommandError> {
    let in_file = |reason: String| CommandError::Failed(format!("{}: {reason}", source.name()));
    let census = replay::census(source.lines().map_err(CommandError::failed)?);
    let census = census.map_err(|fault| in_file(fault.to_string()))?;
    let lines = source.lines().map_err(CommandError::failed)?;
    let tally = replay::send(Arc::new(client), census, lines, concurrency).await;
    output::line(&tally.summary());
    tally.failure().map_or(Ok(()), |reason| Err(in_file(reason)))
}
