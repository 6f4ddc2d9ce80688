//! A connection: opening it safely, and running one statement on it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Statement;
use rusqlite::config::DbConfig;

use super::authorize::authorize;
use super::blocking::blocking;
use super::rows::{self, Limited};
use super::turns::{Turn, Turns};
use super::watch::Watch;
use super::wit;
use crate::limits::{SQLITE_STATEMENTS_CACHED, SQLITE_STEPS_PER_CHECK};

/// A connection that a guest holds. Dropped with the last handle: SQLite rolls back what is open.
#[derive(Clone)]
pub struct Connection {
    session: Arc<Mutex<Session>>,
    watch: Arc<Watch>,
}

/// What one statement at a time works with.
struct Session {
    db: rusqlite::Connection,
    turns: Turns,
    /// Held while a transaction that writes is open.
    turn: Option<Turn>,
}

impl Connection {
    /// Opens the file, and makes it when it is absent. Blocks.
    pub fn open(file: &Path, turns: &Turns) -> Result<Self, wit::Error> {
        let watch = Arc::new(Watch::new());
        let db = open(file, Arc::clone(&watch)).map_err(|e| rows::error(&e))?;
        let session = Session { db, turns: turns.clone(), turn: None };
        Ok(Self { session: Arc::new(Mutex::new(session)), watch })
    }

    /// Runs one statement to its end. Rows read before a failure are returned with it.
    ///
    /// May be called on a thread of the server: whatever can wait for a disk or a lock hands the
    /// thread's other tasks over first. Plain reads do not; for most of them that is dearer than the
    /// read.
    pub fn execute(&self, statement: &str, parameters: Vec<wit::Value>) -> Outcome {
        let mut session = self.lock();
        self.watch.start();
        let mut outcome = Outcome::default();
        outcome.result = session.run(statement, parameters, &mut outcome);
        outcome
    }

    /// The rowid of the last row inserted, or 0.
    pub fn last_insert_rowid(&self) -> i64 {
        self.lock().db.last_insert_rowid()
    }

    /// The rows that the last statement changed.
    pub fn changes(&self) -> u64 {
        self.lock().db.changes()
    }

    /// SQLite itself keeps a connection sound, so one that a panic left locked is still good.
    fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(file: &Path, watch: Arc<Watch>) -> rusqlite::Result<rusqlite::Connection> {
    let mut db = rusqlite::Connection::open(file)?;
    db.set_prepared_statement_cache_capacity(SQLITE_STATEMENTS_CACHED);
    // Otherwise SQLite prepares a statement anew for each value bound to its LIMIT, which undoes the
    // cache: it made every page of messages three times as dear.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.authorizer(Some(authorize))?;
    db.progress_handler(SQLITE_STEPS_PER_CHECK, Some(move || watch.look()))?;
    Ok(db)
}

impl Session {
    fn run(
        &mut self,
        statement: &str,
        parameters: Vec<wit::Value>,
        outcome: &mut Outcome,
    ) -> Result<(), wit::Error> {
        let mut prepared = self.db.prepare_cached(statement).map_err(|e| rows::error(&e))?;
        let writes = !prepared.readonly();
        if writes && self.turn.is_none() {
            self.turn = self.turns.wait();
        }
        // Inside a transaction a write goes to memory; what begins or ends one meets locks and disk.
        let may_block = ends_transaction(statement) || (writes && self.db.is_autocommit());
        let result = if may_block {
            blocking(|| outcome.read(&mut prepared, parameters))
        } else {
            outcome.read(&mut prepared, parameters)
        };
        drop(prepared);
        if self.db.is_autocommit() {
            self.turn = None;
        }
        result
    }
}

fn ends_transaction(statement: &str) -> bool {
    let first = statement.split_whitespace().next().unwrap_or_default();
    let first = first.trim_end_matches(';');
    ["COMMIT", "END", "ROLLBACK"].iter().any(|word| word.eq_ignore_ascii_case(first))
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
    fn read(&mut self, prepared: &mut Statement<'_>, parameters: Vec<wit::Value>) -> Result<(), wit::Error> {
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

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
