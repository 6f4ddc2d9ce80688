//! The back ends under test.

use im_domain::Result;
use im_domain::msg_id::ID_EPOCH_MS;
use im_store::embedded::{Embedded, Environment};
use im_store::native::NativeSqlite;
use std::cell::Cell;
use std::rc::Rc;
use tempfile::TempDir;

/// Where the clock of a test stands at first: some time in 2024.
const START_MS: u64 = ID_EPOCH_MS + 10_000_000_000;

/// An embedded store in a folder of its own, with a clock that the test sets.
pub struct EmbeddedBackend {
    folder: TempDir,
    clock: Rc<Cell<u64>>,
    retention_ms: u64,
}

impl EmbeddedBackend {
    pub fn new() -> Self {
        Self::keeping(0)
    }

    /// Messages expire after `retention_ms`.
    pub fn keeping(retention_ms: u64) -> Self {
        Self { folder: TempDir::new().unwrap(), clock: Rc::new(Cell::new(START_MS)), retention_ms }
    }

    /// Another connection to the same store, as another instance would have.
    pub fn open(&self) -> Embedded<NativeSqlite> {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Embedded<NativeSqlite>> {
        self.with_clock(Cell::get)
    }

    /// As [`Self::open`]; every look at the clock moves it on by `ms`.
    pub fn open_leaping(&self, ms: u64) -> Embedded<NativeSqlite> {
        self.with_clock(move |clock| clock.replace(clock.get() + ms)).unwrap()
    }

    fn with_clock(&self, look: impl Fn(&Cell<u64>) -> u64 + 'static) -> Result<Embedded<NativeSqlite>> {
        let clock = Rc::clone(&self.clock);
        let environment = Environment {
            now_ms: Box::new(move || look(&clock)),
            random: Box::new(rand::random),
            retention_ms: self.retention_ms,
        };
        Embedded::open(NativeSqlite::open(&self.folder.path().join("store.db"))?, environment)
    }

    pub fn now(&self) -> u64 {
        self.clock.get()
    }

    pub fn set_clock(&self, ms: u64) {
        self.clock.set(ms);
    }

    pub fn advance(&self, ms: u64) {
        self.clock.set(self.clock.get() + ms);
    }

    /// The database file, for a look from outside.
    pub fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.folder.path().join("store.db")).unwrap()
    }
}

/// Polls a future to its end; on native ports nothing ever waits.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// A store on this file, with the time of the machine; for tests that need several threads.
pub fn at(file: &std::path::Path) -> Embedded<NativeSqlite> {
    let now_ms = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        since.as_millis() as u64
    };
    let environment =
        Environment { now_ms: Box::new(now_ms), random: Box::new(rand::random), retention_ms: 0 };
    Embedded::open(NativeSqlite::open(file).unwrap(), environment).unwrap()
}
