//! Transactions.

use super::Embedded;
use crate::sqlite::Sqlite;
use im_domain::Result;

/// Runs `work` in a transaction: all of it is stored, or, when it fails, nothing.
///
/// It begins IMMEDIATE: a transaction that first reads and then writes would fail, not wait, when
/// another writer came between. Should the program die within, SQLite takes the changes back.
pub(super) fn write<P: Sqlite, T>(store: &Embedded<P>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    store.run_statement("BEGIN IMMEDIATE")?;
    let outcome = work().and_then(|value| {
        store.run_statement("COMMIT")?;
        Ok(value)
    });
    if outcome.is_err() {
        // A failed statement may have ended the transaction already; then there is none to end.
        let _ended = store.run_statement("ROLLBACK");
    }
    outcome
}

/// Runs `work`, all statements of which see one state of the database.
pub(super) fn read<P: Sqlite, T>(store: &Embedded<P>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    store.run_statement("BEGIN")?;
    let outcome = work();
    // Nothing was written; a failed statement may have ended the transaction already.
    let _ended = store.run_statement("ROLLBACK");
    outcome
}

/// As [`write`], and on disk when it returns.
pub(super) fn write_flushed<P: Sqlite, T>(
    store: &Embedded<P>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    store.run_statement("PRAGMA synchronous = FULL")?;
    let outcome = write(store, || {
        let value = work()?;
        // What is to be on disk may have been written by earlier commits: without a change of its
        // own this one would flush nothing.
        store.run_statement("UPDATE store SET flushes = flushes + 1 WHERE id = 1")?;
        Ok(value)
    });
    store.run_statement("PRAGMA synchronous = NORMAL")?;
    outcome
}
