//! The schema in PostgreSQL, brought up to date by numbered steps.
//!
//! Each step is one block, so one statement and one transaction, and takes a lock first: several may
//! try at once. An empty database is set up at its first use, by all steps at once; an older schema only by
//! `im migrate`, since an operator has to choose the moment.

use crate::params;
use crate::postgres::Postgres;
use im_domain::{Error, Result};

/// Version, name, statements.
type Step = (i64, &'static str, &'static str);

/// A step that was released is never changed.
const MIGRATIONS: &[Step] = &[
    (1, "messages", include_str!("../../migrations/postgres/0001_messages.sql")),
    (2, "users", include_str!("../../migrations/postgres/0002_users.sql")),
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
    // A set-up that ends in the middle would leave an older schema.
    let at_once = if found == 0 { MIGRATIONS.len() } else { 1 };
    let missing: Vec<Step> = MIGRATIONS.iter().copied().filter(|(number, ..)| *number > found).collect();
    for steps in missing.chunks(at_once) {
        db.query(&block(steps, now_ms), Vec::new()).await?;
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

/// Steps as one statement, which does nothing where the first of them was made before.
fn block(steps: &[Step], now_ms: u64) -> String {
    let first = steps.first().map_or(0, |(number, ..)| *number);
    let one = |(number, name, statements): &Step| {
        format!(
            "{statements}
            INSERT INTO migration (version, name, applied_at) VALUES ({number}, '{name}', {now_ms});"
        )
    };
    format!(
        "DO $migrate$ BEGIN
        PERFORM pg_advisory_xact_lock({LOCK});
        IF to_regclass('migration') IS NOT NULL THEN
            IF EXISTS (SELECT 1 FROM migration WHERE version >= {first}) THEN RETURN; END IF;
        END IF;
        {}
        END $migrate$",
        steps.iter().map(one).collect::<String>()
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
