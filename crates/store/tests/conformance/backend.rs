//! The back ends under test: what a test may ask of one, and the embedded one.

pub use crate::servers::block_on;
use im_domain::Result;
use im_domain::msg_id::ID_EPOCH_MS;
use im_domain::push::PushRules;
use im_domain::retention::RetentionRules;
use im_domain::storage::Storage;
use im_domain::tier::TierRules;
use im_segment::{Record, Segment};
use im_store::embedded::{Embedded, Environment};
use im_store::native::NativeSqlite;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tempfile::TempDir;

/// Where the clock of a test stands at first: some time in 2024.
pub const START_MS: u64 = ID_EPOCH_MS + 10_000_000_000;

/// Members up to which a conversation is noted for each of them, in tests: small, so that groups grow
/// across it.
pub const INDEX_MEMBERS: u64 = 5;

/// When users become due, in tests.
pub fn push_rules() -> PushRules {
    PushRules::parse("5", "300000", "60000").unwrap()
}

/// A store of a test's own. Its clock stands still, where the test has set it, if it was made with
/// [`Self::clocked`] or [`Self::keeping`]; else a test must not look at it.
pub trait Backend: Sized {
    /// It moves everything to the slowest place after each call: then it may tell of changes once more.
    const REPEATS: bool = false;

    type Store: Storage;

    fn new() -> Self;
    fn clocked() -> Self;
    /// Messages expire after `retention_ms`.
    fn keeping(retention_ms: u64) -> Self;
    /// The rules of all stores that are opened from now on.
    fn set_rules(&self, rules: RetentionRules);
    /// Another connection to the same store, as another instance would have.
    fn open(&self) -> Self::Store;
    /// As [`Self::open`], with rules of its own for cold segments; nothing moves but when it is asked for.
    fn tiering(&self, tier: TierRules) -> impl Storage;
    /// What is in its segments.
    fn packed(&self) -> Vec<Record>;
    /// Inverts a byte of every segment, counted from the end.
    fn damage(&self, from_end: usize);
    /// Opens it in other threads, with the time of the machine.
    fn opener(&self) -> impl Fn() -> Self::Store + Clone + Send + 'static;
    fn now(&self) -> u64;
    fn set_clock(&self, ms: u64);

    fn advance(&self, ms: u64) {
        self.set_clock(self.now() + ms);
    }

    /// Moves everything to the slowest place it can be in, where there are several.
    fn evict(&self, _: &Self::Store) {}
}

/// Makes a test of each function, on every back end.
macro_rules! on_every_back_end {
    ($($name:ident),+ $(,)?) => {
        mod embedded {
            use super::super::backend::EmbeddedBackend;
            $(#[test] fn $name() { super::$name::<EmbeddedBackend>(); })+
        }
        mod embedded_packed {
            use super::super::packed::PackedBackend;
            $(#[test] fn $name() { super::$name::<PackedBackend>(); })+
        }
        mod hot {
            use super::super::tiered::{Hot, TieredBackend};
            $(#[test] fn $name() { super::$name::<TieredBackend<Hot>>(); })+
        }
        mod drained {
            use super::super::tiered::{Drained, TieredBackend};
            $(#[test] fn $name() { super::$name::<TieredBackend<Drained>>(); })+
        }
        mod cold {
            use super::super::tiered::{Cold, TieredBackend};
            $(#[test] fn $name() { super::$name::<TieredBackend<Cold>>(); })+
        }
        mod packed {
            use super::super::tiered::{Packed, TieredBackend};
            $(#[test] fn $name() { super::$name::<TieredBackend<Packed>>(); })+
        }
        mod spread {
            use super::super::tiered::{Spread, TieredBackend};
            $(#[test] fn $name() { super::$name::<TieredBackend<Spread>>(); })+
        }
    };
}
pub(super) use on_every_back_end;

/// An embedded store in a folder of its own.
pub struct EmbeddedBackend {
    folder: TempDir,
    clock: Rc<Cell<u64>>,
    rules: RefCell<RetentionRules>,
}

impl Backend for EmbeddedBackend {
    type Store = Embedded<NativeSqlite>;

    fn new() -> Self {
        Self::keeping(0)
    }

    fn clocked() -> Self {
        Self::keeping(0)
    }

    fn keeping(retention_ms: u64) -> Self {
        let rules = RefCell::new(RetentionRules::all(retention_ms));
        Self { folder: TempDir::new().unwrap(), clock: Rc::new(Cell::new(START_MS)), rules }
    }

    fn set_rules(&self, rules: RetentionRules) {
        self.rules.replace(rules);
    }

    fn open(&self) -> Self::Store {
        self.try_open().unwrap()
    }

    fn tiering(&self, tier: TierRules) -> impl Storage {
        self.open_tiering(tier)
    }

    fn packed(&self) -> Vec<Record> {
        self.blobs().iter().flat_map(|(_, blob)| Segment::open(blob).unwrap().read().unwrap()).collect()
    }

    fn damage(&self, from_end: usize) {
        for (rowid, mut blob) in self.blobs() {
            let at = blob.len() - from_end;
            blob[at] ^= 255;
            self.raw().execute("UPDATE segment SET blob = ?2 WHERE rowid = ?1", (rowid, blob)).unwrap();
        }
    }

    fn opener(&self) -> impl Fn() -> Self::Store + Clone + Send + 'static {
        let (file, rules) = (self.file(), self.rules.borrow().clone());
        move || open(&file, rules.clone(), Box::new(machine_ms), TierRules::default()).unwrap()
    }

    fn now(&self) -> u64 {
        self.clock.get()
    }

    fn set_clock(&self, ms: u64) {
        self.clock.set(ms);
    }
}

impl EmbeddedBackend {
    pub fn try_open(&self) -> Result<Embedded<NativeSqlite>> {
        let clock = Rc::clone(&self.clock);
        open(&self.file(), self.rules.borrow().clone(), Box::new(move || clock.get()), TierRules::default())
    }

    /// As [`Backend::open`]; every look at the clock moves it on by `ms`.
    pub fn open_leaping(&self, ms: u64) -> Embedded<NativeSqlite> {
        let clock = Rc::clone(&self.clock);
        let look = move || clock.replace(clock.get() + ms);
        open(&self.file(), self.rules.borrow().clone(), Box::new(look), TierRules::default()).unwrap()
    }

    fn blobs(&self) -> Vec<(i64, Vec<u8>)> {
        let db = self.raw();
        let mut statement = db.prepare("SELECT rowid, blob FROM segment ORDER BY cid, last_id").unwrap();
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(|row| row.unwrap()).collect()
    }

    /// As [`Backend::open`], with rules of its own for cold segments.
    pub fn open_tiering(&self, tier: TierRules) -> Embedded<NativeSqlite> {
        let clock = Rc::clone(&self.clock);
        open(&self.file(), self.rules.borrow().clone(), Box::new(move || clock.get()), tier).unwrap()
    }

    /// As [`Backend::opener`].
    pub fn opener_tiering(
        &self,
        tier: TierRules,
    ) -> impl Fn() -> Embedded<NativeSqlite> + Clone + Send + 'static {
        let (file, rules) = (self.file(), self.rules.borrow().clone());
        move || open(&file, rules.clone(), Box::new(machine_ms), tier).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    /// The database file, for a look from outside.
    pub fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

fn open(
    file: &Path,
    retention: RetentionRules,
    now_ms: Box<dyn Fn() -> u64>,
    tier: TierRules,
) -> Result<Embedded<NativeSqlite>> {
    let environment = Environment {
        now_ms,
        random: Box::new(rand::random),
        retention,
        push: push_rules(),
        revision: im_domain::revision::RevisionRules::default(),
        tier,
        index_members_max: INDEX_MEMBERS,
    };
    Embedded::open(NativeSqlite::open(file)?, environment)
}

/// The time of the machine, in milliseconds since 1970.
pub fn machine_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}
