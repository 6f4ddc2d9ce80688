//! The tiered engine on servers of the test's own, in five modes: as it is; with everything drained
//! after each call; with everything drained and forgotten by Redis after each call, so that the next
//! one finds it in PostgreSQL alone; the same with all but the newest message of each conversation in cold segments;
//! and spread over several servers of each kind, drained after every
//! other call.

use super::backend::{Backend, INDEX_MEMBERS, START_MS, block_on, machine_ms, push_rules};
use super::settled::{FORGET, Settled};
use crate::servers::postgres::{Database, query_at};
use crate::servers::redis::{RedisServer, command_at};
use im_domain::retention::RetentionRules;
use im_domain::storage::Storage;
use im_domain::tier::TierRules;
use im_segment::{Record, Segment};
use im_store::native::{NativePostgres, NativeRedis};
use im_store::tiered::{HotDurability, Settings, Tiered};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

pub type Engine = Tiered<NativeRedis, NativePostgres>;

/// What happens after each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Nothing,
    Drain,
    /// As `Drain`, where others write and drain at the same time.
    DrainAmongOthers,
    /// `Drain`, after every other call.
    DrainNowAndThen,
    Evict,
    /// As `Evict`, and everything that may be is in cold segments.
    Pack,
    /// The same, where others are at it at the same time: nothing is forgotten.
    PackAmongOthers,
    /// Nothing; but before each call that is no append, everything that may be moves to cold segments.
    PackBefore,
}

impl After {
    fn packs(self) -> bool {
        matches!(self, After::Pack | After::PackAmongOthers)
    }
}

pub trait Mode {
    const AFTER: After;
    const REDIS_SERVERS: usize = 1;
    const DATABASES: usize = 1;
}

pub struct Hot;
pub struct Drained;
pub struct Cold;
pub struct Packed;
pub struct Spread;

/// Makes a test of each function, in every mode.
macro_rules! in_every_mode {
    ($($name:ident),+ $(,)?) => {
        mod hot {
            use super::super::tiered::Hot;
            $(#[test] fn $name() { super::$name::<Hot>(); })+
        }
        mod drained {
            use super::super::tiered::Drained;
            $(#[test] fn $name() { super::$name::<Drained>(); })+
        }
        mod cold {
            use super::super::tiered::Cold;
            $(#[test] fn $name() { super::$name::<Cold>(); })+
        }
        mod packed {
            use super::super::tiered::Packed;
            $(#[test] fn $name() { super::$name::<Packed>(); })+
        }
        mod spread {
            use super::super::tiered::Spread;
            $(#[test] fn $name() { super::$name::<Spread>(); })+
        }
    };
}
pub(super) use in_every_mode;

impl Mode for Hot {
    const AFTER: After = After::Nothing;
}

impl Mode for Drained {
    const AFTER: After = After::Drain;
}

impl Mode for Cold {
    const AFTER: After = After::Evict;
}

impl Mode for Packed {
    const AFTER: After = After::Pack;
}

impl Mode for Spread {
    const AFTER: After = After::DrainNowAndThen;
    const REDIS_SERVERS: usize = 3;
    const DATABASES: usize = 2;
}

pub struct TieredBackend<M> {
    redis: Vec<RedisServer>,
    databases: Vec<Database>,
    /// None: the clock is the machine's.
    clock: Option<Rc<Cell<u64>>>,
    rules: RefCell<RetentionRules>,
    mode: PhantomData<M>,
}

impl<M: Mode> TieredBackend<M> {
    fn start(clocked: bool, retention_ms: u64) -> Self {
        let redis = (0..M::REDIS_SERVERS).map(|_| RedisServer::start(clocked.then_some(START_MS)));
        let databases = (0..M::DATABASES).map(|_| Database::create());
        let clock = clocked.then(|| Rc::new(Cell::new(START_MS)));
        let (redis, databases) = (redis.collect(), databases.collect());
        let rules = RefCell::new(RetentionRules::all(retention_ms));
        Self { redis, databases, clock, rules, mode: PhantomData }
    }

    pub fn redis_urls(&self) -> Vec<String> {
        self.redis.iter().map(|server| server.url().to_owned()).collect()
    }

    pub fn postgres_urls(&self) -> Vec<String> {
        self.databases.iter().map(Database::url).collect()
    }

    /// Of a mode with one server of each kind: its Redis.
    pub fn redis_url(&self) -> &str {
        self.redis[0].url()
    }

    /// Of a mode with one server of each kind: its database.
    pub fn postgres_url(&self) -> String {
        self.databases[0].url()
    }

    /// Every Redis loses everything.
    pub fn flush_redis(&self) {
        for server in &self.redis {
            command_at(server.url(), "FLUSHALL", Vec::new()).unwrap();
        }
    }

    /// Deletes the keys of every Redis that match.
    pub fn forget(&self, pattern: &str) {
        for server in &self.redis {
            command_at(server.url(), "EVAL", im_store::arguments![FORGET, "0", pattern]).unwrap();
        }
    }

    pub fn drain(&self, store: &Settled) {
        block_on(store.drain());
    }

    fn place(&self) -> Place {
        Place {
            redis_urls: self.redis_urls(),
            postgres_urls: self.postgres_urls(),
            rules: self.rules.borrow().clone(),
        }
    }
}

impl<M: Mode> Backend for TieredBackend<M> {
    const REPEATS: bool = matches!(M::AFTER, After::Evict | After::Pack);

    type Store = Settled;

    fn new() -> Self {
        Self::start(false, 0)
    }

    fn clocked() -> Self {
        Self::start(true, 0)
    }

    fn keeping(retention_ms: u64) -> Self {
        Self::start(true, retention_ms)
    }

    fn set_rules(&self, rules: RetentionRules) {
        self.rules.replace(rules);
    }

    fn open(&self) -> Settled {
        match self.clock.clone() {
            None => self.place().open(M::AFTER, Box::new(machine_ms)),
            Some(clock) => self.place().open(M::AFTER, Box::new(move || clock.get())),
        }
    }

    fn tiering(&self, tier: TierRules) -> impl Storage {
        let now_ms: Box<dyn Fn() -> u64> = match self.clock.clone() {
            None => Box::new(machine_ms),
            Some(clock) => Box::new(move || clock.get()),
        };
        // Between calls everything is where it is in this mode, but for what is in segments.
        let after = match M::AFTER {
            After::Pack => After::Evict,
            after => after,
        };
        self.place().open_with(after, now_ms, tier)
    }

    fn packed(&self) -> Vec<Record> {
        let of = |url: &String| {
            let rows = query_at(url, "SELECT blob FROM segment ORDER BY cid, last_id", Vec::new()).unwrap();
            rows.into_iter().map(|mut row| row.opt_blob().unwrap().unwrap()).collect::<Vec<_>>()
        };
        let blobs: Vec<Vec<u8>> = self.postgres_urls().iter().flat_map(of).collect();
        blobs.iter().flat_map(|blob| Segment::open(blob).unwrap().read().unwrap()).collect()
    }

    fn damage(&self, from_end: usize) {
        let damage = format!(
            "UPDATE segment SET blob = set_byte(blob, length(blob) - {from_end},
                255 - get_byte(blob, length(blob) - {from_end}))"
        );
        for url in self.postgres_urls() {
            query_at(&url, &damage, Vec::new()).unwrap();
        }
    }

    fn opener(&self) -> impl Fn() -> Settled + Clone + Send + 'static {
        assert!(self.clock.is_none(), "threads cannot share a clock that the test sets");
        let place = self.place();
        // What is forgotten must not be in use.
        let after = match M::AFTER {
            After::Nothing => After::Nothing,
            After::Pack => After::PackAmongOthers,
            _ => After::DrainAmongOthers,
        };
        move || place.open(after, Box::new(machine_ms))
    }

    fn now(&self) -> u64 {
        self.clock.as_ref().map_or_else(machine_ms, |clock| clock.get())
    }

    fn set_clock(&self, ms: u64) {
        self.clock.as_ref().expect("made with `clocked` or `keeping`").set(ms);
        self.redis.iter().for_each(|server| server.set_clock(ms));
    }

    fn evict(&self, store: &Settled) {
        block_on(store.evict());
    }
}

/// What engines under test take from their surroundings.
pub fn settings(now_ms: Box<dyn Fn() -> u64>, retention: RetentionRules) -> Settings {
    Settings {
        now_ms,
        random: Box::new(rand::random),
        pause: Box::new(|ms| Box::pin(tokio::time::sleep(Duration::from_millis(ms)))),
        servers: "one list".to_owned(),
        retention,
        hot_durability: HotDurability::Everysec,
        backlog_max: 100_000,
        marker_life_s: 86_400,
        push: push_rules(),
        revision: im_domain::revision::RevisionRules::default(),
        tier: TierRules::default(),
        index_members_max: INDEX_MEMBERS,
    }
}

/// Where a store is.
#[derive(Clone)]
struct Place {
    redis_urls: Vec<String>,
    postgres_urls: Vec<String>,
    rules: RetentionRules,
}

impl Place {
    fn open(&self, after: After, now_ms: Box<dyn Fn() -> u64>) -> Settled {
        let tier = if after.packs() { TierRules::at_once() } else { TierRules::default() };
        self.open_with(after, now_ms, tier)
    }

    fn open_with(&self, after: After, now_ms: Box<dyn Fn() -> u64>, tier: TierRules) -> Settled {
        let redis = || self.redis_urls.iter().map(|url| NativeRedis::new(url).unwrap()).collect();
        let postgres = self.postgres_urls.iter().map(|url| NativePostgres::new(url).unwrap()).collect();
        let mut settings = settings(now_ms, self.rules.clone());
        settings.tier = tier;
        let engine = Tiered::new(redis(), postgres, settings).unwrap();
        Settled::new(engine, redis(), after)
    }
}
