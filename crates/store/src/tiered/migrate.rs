//! The schema in PostgreSQL, brought up to date by numbered steps.
//!
//! The steps are one block, so one statement and one transaction, which takes a lock first: several may
//! try at once. An empty database is set up at its first use; an older schema only by `im migrate`,
//! since an operator has to choose the moment.

use crate::params;
use crate::postgres::Postgres;
use im_domain::{Error, Result};

/// (version, name, statements); a step that was released is never changed.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "messages", include_str!("../../migrations/postgres/0001_messages.sql")),
    (2, "revisions", include_str!("../../migrations/postgres/0002_revisions.sql")),
    (3, "users", include_str!("../../migrations/postgres/0003_users.sql")),
    (4, "versions", include_str!("../../migrations/postgres/0004_versions.sql")),
    (5, "hidden", include_str!("../../migrations/postgres/0005_hidden.sql")),
    (6, "retention", include_str!("../../migrations/postgres/0006_retention.sql")),
    (7, "segments", include_str!("../../migrations/postgres/0007_segments.sql")),
    (8, "feed", include_str!("../../migrations/postgres/0008_feed.sql")),
];
/// Names the lock that steps take; any number will do that nothing else in the database uses.
const LOCK: i64 = 0x696d_2d73_746f_7265;

/// What a migration found and left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationReport {
    /// Version of the schema before; 0: there was none.
    pub found: i64,
    pub now: i64,
}

/// The version this program works with.
fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |(version, ..)| *version)
}

/// Brings a database to this program's version.
pub async fn migrate<P: Postgres>(db: &P, now_ms: u64) -> Result<MigrationReport> {
    let found = version(db).await?;
    if found > newest() {
        return Err(too_new(found));
    }
    if found < newest()
        && let Err(error) = db.query(&block(now_ms), Vec::new()).await
        // Who has waited for the lock may still see the catalogue as it was before.
        && version(db).await? < newest()
    {
        return Err(error.into());
    }
    Ok(MigrationReport { found, now: newest() })
}

/// Makes sure that a database can be worked with; one that is empty is set up.
pub(super) async fn check<P: Postgres>(db: &P, now_ms: u64) -> Result<()> {
    match is_set_up(db).await? {
        true => Ok(()),
        false => migrate(db, now_ms).await.map(|_| ()),
    }
}

/// Whether a database has the schema; an error when it has that of another version.
pub(super) async fn is_set_up<P: Postgres>(db: &P) -> Result<bool> {
    match version(db).await? {
        0 => Ok(false),
        found if found > newest() => Err(too_new(found)),
        found if found < newest() => Err(Error::internal(format!(
            "the database's schema has version {found}, this program needs {}: run `im migrate`",
            newest()
        ))),
        _ => Ok(true),
    }
}

fn too_new(found: i64) -> Error {
    let newest = newest();
    Error::internal(format!(
        "the database's schema has version {found}, this program knows {newest}: use a newer program"
    ))
}

async fn version<P: Postgres>(db: &P) -> Result<i64> {
    let there = "SELECT (to_regclass('migration') IS NOT NULL)::int";
    let exists = db.query(there, Vec::new()).await?.first_mut().map_or(Ok(false), |row| row.flag())?;
    if !exists {
        return Ok(0);
    }
    let statement = "SELECT coalesce(max(version), 0) FROM migration";
    Ok(db.query(statement, params![]).await?.first_mut().map_or(Ok(0), |row| row.int())?)
}

/// All steps as one statement, so that whoever is killed leaves nothing half done; it passes over those that
/// were made before.
fn block(now_ms: u64) -> String {
    let step = |(number, name, statements): &(i64, &str, &str)| {
        format!(
            "IF made < {number} THEN
            {statements}
            INSERT INTO migration (version, name, applied_at) VALUES ({number}, '{name}', {now_ms});
            END IF;\n"
        )
    };
    let steps: String = MIGRATIONS.iter().map(step).collect();
    format!(
        "DO $migrate$ DECLARE made bigint := 0; BEGIN
        PERFORM pg_advisory_xact_lock({LOCK});
        IF to_regclass('migration') IS NOT NULL THEN
            SELECT coalesce(max(version), 0) INTO made FROM migration;
        END IF;
        {steps}
        END $migrate$"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rise_by_one_and_no_step_ends_its_block() {
        for ((number, name, statements), expected) in MIGRATIONS.iter().zip(1..) {
            assert_eq!(*number, expected, "{name}");
            assert!(!statements.contains("$migrate$"), "{name}");
        }
    }
}
