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
mod twin;

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
    let rows = rows::measure(&stage, scale).await?;
    println!("{}\n", machine.text());
    println!(
        "Medians of {}; spread: highest less lowest, to the median. Redis: appendonly yes, appendfsync {}. \
         PostgreSQL: fsync on, synchronous_commit on.\n",
        scale.rounds,
        args.fsync.name()
    );
    println!("{}\n\n{}", report::table(&rows, args.fsync), report::processor_table(&rows));
    let Some(file) = &args.json else { return Ok(()) };
    let figures = json!({
        "machine": machine.json(),
        "rounds": scale.rounds,
        "redisFsync": args.fsync.name(),
        "postgres": "fsync on, synchronous_commit on",
        "rows": report::json(&rows, args.fsync),
    });
    std::fs::write(file, format!("{figures:#}\n")).doing(|| file.display().to_string())
}
