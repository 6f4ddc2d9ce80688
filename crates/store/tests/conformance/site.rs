//! Servers that a test treats badly, and engines on any of them.

use super::backend::{block_on, machine_ms};
use super::settled::{FORGET, HOT_KEYS};
use super::talk::*;
use super::tiered::{Engine, settings};
use crate::servers::postgres::Database;
use crate::servers::redis::{RedisServer, command_at};
use im_domain::message::{Ack, Receipt};
use im_domain::retention::RetentionRules;
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_domain::{Error, Result};
use im_store::arguments;
use im_store::native::{NativePostgres, NativeRedis};
use im_store::tiered::{HotDurability, Settings, Tiered};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// How long a store may take to be itself again.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Site {
    pub redis: Vec<RedisServer>,
    pub databases: Vec<Database>,
}

impl Site {
    /// With Redis servers that keep nothing.
    pub fn new(redis: usize, databases: usize) -> Self {
        let redis = (0..redis).map(|_| RedisServer::start(None)).collect();
        Self { redis, databases: (0..databases).map(|_| Database::create()).collect() }
    }

    /// With one Redis server that keeps what it holds, and one database.
    pub fn keeping(durability: HotDurability) -> Self {
        let redis = RedisServer::keeping(match durability {
            HotDurability::Everysec => "everysec",
            HotDurability::Always => "always",
        });
        Self { redis: vec![redis], databases: vec![Database::create()] }
    }

    pub fn redis_urls(&self) -> Vec<String> {
        self.redis.iter().map(|server| server.url().to_owned()).collect()
    }

    pub fn postgres_urls(&self) -> Vec<String> {
        self.databases.iter().map(Database::url).collect()
    }

    /// Leaves nothing in Redis that is in SQL, too.
    pub fn evict(&self) {
        for server in &self.redis {
            command_at(server.url(), "EVAL", arguments![FORGET, "0", HOT_KEYS]).unwrap();
        }
    }

    pub fn engine(&self) -> Engine {
        self.promising(HotDurability::Everysec)
    }

    pub fn promising(&self, durability: HotDurability) -> Engine {
        engine_on(&self.redis_urls(), &self.postgres_urls(), durability)
    }
}

/// What an engine on these servers takes from its surroundings.
pub fn settings_on(redis: &[String], postgres: &[String], durability: HotDurability) -> Settings {
    let mut settings = settings(Box::new(machine_ms), RetentionRules::default());
    let mut hasher = DefaultHasher::new();
    (redis, postgres).hash(&mut hasher);
    settings.servers = format!("{:016x}", hasher.finish());
    settings.hot_durability = durability;
    settings
}

pub fn engine_on(redis: &[String], postgres: &[String], durability: HotDurability) -> Engine {
    let settings = settings_on(redis, postgres, durability);
    let redis = redis.iter().map(|url| NativeRedis::new(url).unwrap()).collect();
    let postgres = postgres.iter().map(|url| NativePostgres::new(url).unwrap()).collect();
    Tiered::new(redis, postgres, settings).unwrap()
}

/// Tries again while a server is away.
pub async fn patiently<T>(mut call: impl AsyncFnMut() -> Result<T>) -> T {
    let began = Instant::now();
    loop {
        match call().await {
            Ok(value) => return value,
            Err(Error::HotUnavailable { .. } | Error::SqlUnavailable { .. } | Error::Overloaded { .. })
                if began.elapsed() < PATIENCE =>
            {
                tokio::time::sleep(Duration::from_millis(10)).await
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Sends a message as often as it takes.
pub async fn send_at_last(store: &impl Storage, sender: &str, conversation: &str, n: usize) -> Receipt {
    patiently(async || {
        let one = draft(sender, conversation, &format!("{sender}-{n}"), &format!("message {n}"));
        store.append(&actor(sender), vec![one], Ack::Accepted).await?.remove(0)
    })
    .await
}

pub fn drain(store: &impl Storage) {
    let began = Instant::now();
    // Whoever drained before and ended in the middle keeps the lease for a while.
    while block_on(patiently(async || store.run(&[Task::Drain], 10_000).await)).backlog > 0 {
        assert!(began.elapsed() < PATIENCE, "the backlog does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = block_on(store.status(&actor("a").tenant)).unwrap();
    assert_eq!((status.backlog, status.dead_letters), (0, 0));
}
