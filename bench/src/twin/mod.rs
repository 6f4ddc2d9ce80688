//! The native twin: the same routes, checks and engine, without components.
//!
//! An axum server on as many threads as there are cores. Each thread has a runtime of its own with its
//! share of the connections, and an engine with its own links to Redis and PostgreSQL. Futures of the
//! engine are not `Send` and those of axum's handlers have to be, so a handler passes its request to a
//! task of the same thread and waits for the answer: no request changes threads.

mod connections;
mod worker;

use crate::failure::{Doing, Failure, Outcome, fail};
use im_http::Keys;
use im_store::tiered::config::{Config, Given};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;
use worker::Worker;

#[derive(clap::Args)]
pub struct TwinArgs {
    #[arg(long)]
    pub redis_url: String,
    #[arg(long)]
    pub postgres_url: String,
    #[arg(long)]
    pub hot_durability: String,
    /// File with the secret that tokens are checked with.
    #[arg(long)]
    pub key_file: PathBuf,
}

/// Serves until it is killed.
pub fn run(args: &TwinArgs) -> Outcome {
    let config = Arc::new(config(&args.redis_url, &args.postgres_url, &args.hot_durability)?);
    let keys = Arc::new(Keys::parse(&std::fs::read_to_string(&args.key_file)?)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let threads = std::thread::available_parallelism()?.get();
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (sender, connections) = mpsc::unbounded_channel();
            let worker = Worker { config: Arc::clone(&config), keys: Arc::clone(&keys), address };
            std::thread::spawn(move || worker.run(connections));
            sender
        })
        .collect();
    println!("serving on http://{address}");
    for (index, connection) in listener.incoming().enumerate() {
        let connection = connection?;
        connection.set_nodelay(true)?;
        connection.set_nonblocking(true)?;
        let is_taken = workers.get(index % threads).is_some_and(|worker| worker.send(connection).is_ok());
        if !is_taken {
            return fail("a worker has ended");
        }
    }
    Ok(())
}

/// What the store is set up with; everything else as `spin.toml` has it by default.
pub fn config(redis_url: &str, postgres_url: &str, hot_durability: &str) -> Outcome<Config> {
    let given = Given {
        redis_url: redis_url.to_owned(),
        postgres_url: postgres_url.to_owned(),
        hot_durability: hot_durability.to_owned(),
        backlog_max: "100000".to_owned(),
        dedup_seconds: "86400".to_owned(),
        retention_ms: "0".to_owned(),
        legal_hold: String::new(),
        push_messages: "5".to_owned(),
        push_wait_ms: "300000".to_owned(),
        push_offline_ms: "60000".to_owned(),
        recall_ms: "120000".to_owned(),
        edit_ms: "86400000".to_owned(),
        tier_after_ms: "0".to_owned(),
        tier_window: String::new(),
    };
    Config::parse(&given).map_err(|error| Failure(error.to_string())).doing(|| "the store".to_owned())
}
