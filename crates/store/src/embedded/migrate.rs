//! The schema, brought up to date by numbered steps on first use.

use super::{Embedded, index, transaction};
use crate::params;
use crate::sql::SqlError;
use crate::sqlite::Sqlite;
use im_domain::{Error, Result};

/// (version, name, statements); a step that was released is never changed.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "messages", include_str!("../../migrations/sqlite/0001_messages.sql")),
    (2, "changes", include_str!("../../migrations/sqlite/0002_changes.sql")),
    (3, "revisions", include_str!("../../migrations/sqlite/0003_revisions.sql")),
    (4, "audit", include_str!("../../migrations/sqlite/0004_audit.sql")),
    (5, "hidden", include_str!("../../migrations/sqlite/0005_hidden.sql")),
    (6, "retention", include_str!("../../migrations/sqlite/0006_retention.sql")),
    (7, "segments", include_str!("../../migrations/sqlite/0007_segments.sql")),
    (8, "feed", include_str!("../../migrations/sqlite/0008_feed.sql")),
];

/// Applies the steps this database has not seen, each in a transaction of its own.
pub(super) fn migrate<P: Sqlite>(store: &Embedded<P>) -> Result<()> {
    let newest = MIGRATIONS.last().map_or(0, |(version, ..)| *version);
    let found = version(store)?;
    if found > newest {
        let reason = format!("the schema has version {found}, this program knows {newest}: use a newer one");
        return Err(Error::internal(reason));
    }
    for (number, name, statements) in MIGRATIONS.iter().filter(|(number, ..)| *number > found) {
        transaction::write(store, || step(store, *number, name, statements))?;
    }
    Ok(())
}

fn version<P: Sqlite>(store: &Embedded<P>) -> Result<i64, SqlError> {
    let rows = store.db.execute("PRAGMA user_version", Vec::new())?;
    rows.into_iter().next().map_or(Ok(0), |mut row| row.int())
}

fn step<P: Sqlite>(store: &Embedded<P>, number: i64, name: &str, statements: &str) -> Result<()> {
    if version(store)? >= number {
        return Ok(()); // Another instance was faster.
    }
    for statement in split(statements) {
        store.run_statement(statement)?;
    }
    let now = store.now_ms();
    match number {
        1 => begin(store, now)?,
        2 => index::widen(store)?,
        _ => {}
    }
    let insert = "INSERT INTO migration (version, name, applied_at) VALUES (?1, ?2, ?3)";
    store.db.execute(insert, params![number, name, now])?;
    store.run_statement(&format!("PRAGMA user_version = {number}"))?;
    Ok(())
}

/// A new store, of a lineage of its own.
fn begin<P: Sqlite>(store: &Embedded<P>, now: u64) -> Result<(), SqlError> {
    let insert = "INSERT INTO store (id, epoch, epoch_since) VALUES (1, ?1, ?2)";
    store.db.execute(insert, params![store.random_name(), now]).map(|_| ())
}

/// The statements of a file: each ends with the line that ends in a semicolon.
fn split(statements: &str) -> impl Iterator<Item = &str> {
    statements.split_inclusive(";\n").map(str::trim).filter(|statement| statement.ends_with(';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rise_by_one_and_every_statement_is_found() {
        for ((number, name, statements), expected) in MIGRATIONS.iter().zip(1..) {
            assert_eq!(*number, expected, "{name}");
            let semicolons = statements.lines().filter(|line| line.ends_with(';')).count();
            assert_eq!(split(statements).count(), semicolons, "{name}");
        }
    }
}
