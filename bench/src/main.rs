//! Measures the profile `redis`: the product, the same engine without components, and what its servers
//! can do at the most, all in one run on one machine. `cargo xtask bench redis` builds and runs it.

mod bounds;
mod failure;
mod load;
mod machine;
mod meter;
mod recorder;
mod report;
mod rows;
mod scene;
mod scratch_table;
mod servers;
mod stage;
mod stats;
mod subject;
mod surroundings;
mod sync;
mod tally;
mod twin;
mod writes;

use clap::{Parser, Subcommand};
use failure::{Doing, Failure, Outcome, fail};
use machine::Machine;
use serde_json::json;
use servers::redis::Fsync;
use stage::{Scale, Stage};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use subject::Built;

#[derive(Parser)]
#[command(name = "im-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures the Redis and PostgreSQL back end, and prints a table
    Redis(RedisArgs),
    /// The native twin, as the measurement starts it
    #[command(hide = true)]
    Twin(twin::TwinArgs),
}

#[derive(clap::Args)]
struct RedisArgs {
    /// Writes the figures to a file, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Two short rounds on less data: to see that it works
    #[arg(long)]
    quick: bool,
    /// Measures one part alone
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// When Redis flushes writes to the disk
    #[arg(long, value_enum, default_value = "everysec")]
    fsync: Fsync,
    #[arg(long, value_name = "FILE", default_value = "target/release/im")]
    im: PathBuf,
    /// Folder with the built components
    #[arg(long, value_name = "DIR", default_value = "target/wasm32-wasip2/wasm")]
    components: PathBuf,
    #[arg(long, value_name = "FILE", default_value = "spin.toml")]
    manifest: PathBuf,
}

/// A part of the measurement.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Sends, pulls and drains
    Requests,
    /// Devices that follow their conversations
    Sync,
    /// What a message writes, by the number of members
    Writes,
}

const FULL: Scale = Scale { rounds: 5, length: Duration::from_secs(3), depth: 1_000_000, rows: 50_000 };
const QUICK: Scale = Scale { rounds: 2, length: Duration::from_secs(1), depth: 100_000, rows: 10_000 };

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Redis(args) => redis(&args),
        Command::Twin(args) => twin::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(reason)) => {
            eprintln!("im-bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// All on the main thread: the kernel ends what it has started when it ends.
fn redis(args: &RedisArgs) -> Outcome {
    let machine = Machine::look()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            outcome = measure(args, &machine) => outcome,
            _ = tokio::signal::ctrl_c() => fail("interrupted"),
        }
    })
}

async fn measure(args: &RedisArgs, machine: &Machine) -> Outcome {
    let im = std::fs::canonicalize(&args.im).doing(|| args.im.display().to_string())?;
    let built = Built { im, components: args.components.clone(), manifest: args.manifest.clone() };
    let scale = if args.quick { QUICK } else { FULL };
    let stage = Stage::set(&built, args.fsync, scale).await?;
    let figures = Figures::take(&stage, args.only).await?;
    println!("{}\n", machine.text());
    println!(
        "Medians of {}; spread: highest less lowest, to the median. Redis: appendonly yes, appendfsync {}. \
         PostgreSQL: fsync on, synchronous_commit on.\n",
        scale.rounds,
        args.fsync.name()
    );
    println!("{}", figures.tables(args.fsync).join("\n\n"));
    let Some(file) = &args.json else { return Ok(()) };
    let figures = json!({
        "machine": machine.json(),
        "rounds": scale.rounds,
        "redisFsync": args.fsync.name(),
        "postgres": "fsync on, synchronous_commit on",
        "rows": report::json(&figures.requests, args.fsync),
        "sync": sync::json(&figures.sync),
        "writes": writes::json(&figures.writes),
    });
    std::fs::write(file, format!("{figures:#}\n")).doing(|| file.display().to_string())
}

/// What was measured; parts that were left out are empty.
struct Figures {
    requests: Vec<rows::Row>,
    sync: Vec<sync::Row>,
    writes: Vec<writes::Row>,
}

impl Figures {
    async fn take(stage: &Stage, only: Option<Part>) -> Outcome<Self> {
        let mut figures = Self { requests: Vec::new(), sync: Vec::new(), writes: Vec::new() };
        let is_wanted = |part| only.is_none_or(|only| only == part);
        if is_wanted(Part::Requests) {
            figures.requests = rows::measure(stage).await?;
        }
        if is_wanted(Part::Sync) {
            figures.sync = sync::measure(stage).await?;
        }
        if is_wanted(Part::Writes) {
            figures.writes = writes::measure(stage).await?;
        }
        Ok(figures)
    }

    fn tables(&self, fsync: Fsync) -> Vec<String> {
        let mut tables = Vec::new();
        if !self.requests.is_empty() {
            tables.extend([report::table(&self.requests, fsync), report::processor_table(&self.requests)]);
        }
        if !self.sync.is_empty() {
            tables.extend([sync::table(&self.sync), sync::work_table(&self.sync)]);
        }
        if !self.writes.is_empty() {
            tables.push(writes::table(&self.writes));
        }
        tables
    }
}
