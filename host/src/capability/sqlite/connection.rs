//! A connection: opening it safely, and running one statement on it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::rows::{self, Limited};
use super::wit;
use crate::limits::{SQLITE_STATEMENT_MAX, SQLITE_STATEMENTS_CACHED, SQLITE_STEPS_PER_CHECK};

/// A connection that a guest holds. Dropped with the last handle: SQLite rolls back what is open.
#[derive(Clone)]
pub struct Connection {
    db: Arc<Mutex<rusqlite::Connection>>,
    watch: Arc<Watch>,
}

/// Stops a statement that runs too long.
struct Watch {
    born: Instant,
    /// Milliseconds since `born` at which the statement in work has to stop.
    stop_at_ms: AtomicU64,
}

impl Watch {
    fn start_statement(&self) {
        let stop_at = self.born.elapsed() + SQLITE_STATEMENT_MAX;
        self.stop_at_ms.store(millis(stop_at), Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        millis(self.born.elapsed()) > self.stop_at_ms.load(Ordering::Relaxed)
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Connection {
    /// Opens the file, and makes it when it is absent. Blocks.
    pub fn open(file: &Path) -> Result<Self, wit::Error> {
        let mut db = rusqlite::Connection::open(file).map_err(|e| rows::error(&e))?;
        db.set_prepared_statement_cache_capacity(SQLITE_STATEMENTS_CACHED);
        db.authorizer(Some(authorize)).map_err(|e| rows::error(&e))?;
        let watch = Arc::new(Watch { born: Instant::now(), stop_at_ms: AtomicU64::new(u64::MAX) });
        let watched = Arc::clone(&watch);
        db.progress_handler(SQLITE_STEPS_PER_CHECK, Some(move || watched.is_over()))
            .map_err(|e| rows::error(&e))?;
        Ok(Self { db: Arc::new(Mutex::new(db)), watch })
    }

    /// Runs one statement to its end. Blocks. Rows read before a failure are returned with it.
    pub fn execute(&self, statement: &str, parameters: Vec<wit::Value>) -> Outcome {
        let db = self.lock();
        self.watch.start_statement();
        let mut outcome = Outcome::default();
        outcome.result = outcome.read(&db, statement, parameters);
        outcome
    }

    /// The rowid of the last row inserted, or 0.
    pub fn last_insert_rowid(&self) -> i64 {
        self.lock().last_insert_rowid()
    }

    /// The rows that the last statement changed.
    pub fn changes(&self) -> u64 {
        self.lock().changes()
    }

    /// SQLite itself keeps a connection sound, so one that a panic left locked is still good.
    fn lock(&self) -> MutexGuard<'_, rusqlite::Connection> {
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a statement gave: columns, rows, and whether it came to its end.
pub struct Outcome {
    pub columns: Vec<String>,
    pub rows: Vec<wit::RowResult>,
    pub result: Result<(), wit::Error>,
}

impl Default for Outcome {
    fn default() -> Self {
        Self { columns: Vec::new(), rows: Vec::new(), result: Ok(()) }
    }
}

impl Outcome {
    fn read(
        &mut self,
        db: &rusqlite::Connection,
        statement: &str,
        parameters: Vec<wit::Value>,
    ) -> Result<(), wit::Error> {
        let mut prepared = db.prepare_cached(statement).map_err(|e| rows::error(&e))?;
        let names = prepared.column_names();
        self.columns = names.into_iter().map(str::to_owned).collect();
        let width = self.columns.len();
        let parameters = rusqlite::params_from_iter(parameters.into_iter().map(rows::to_sqlite));
        let mut found = prepared.query(parameters).map_err(|e| rows::error(&e))?;
        let mut limit = Limited::default();
        while let Some(row) = found.next().map_err(|e| rows::error(&e))? {
            self.rows.push(rows::from_sqlite(row, width, &mut limit)?);
        }
        Ok(())
    }
}

/// Settings of SQLite that hold for the whole process, and so for other components too.
const PRAGMAS_OF_PROCESS: [&str; 4] =
    ["temp_store_directory", "data_store_directory", "soft_heap_limit", "hard_heap_limit"];

/// A guest reaches its own database and no other file: no attaching, and no `VACUUM INTO`, which
/// attaches its target. The empty name and `:memory:` are temporary and SQLite's own need. A file
/// name that is no literal comes as an action that rusqlite does not know.
fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { filename: "" | ":memory:" } => Authorization::Allow,
        AuthAction::Attach { .. } | AuthAction::Unknown { .. } => Authorization::Deny,
        AuthAction::Pragma { pragma_name, .. } if is_of_process(pragma_name) => Authorization::Deny,
        _ => Authorization::Allow,
    }
}

fn is_of_process(pragma: &str) -> bool {
    PRAGMAS_OF_PROCESS.iter().any(|name| name.eq_ignore_ascii_case(pragma))
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
