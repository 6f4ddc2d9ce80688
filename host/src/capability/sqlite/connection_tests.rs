//! Shows what a guest may and may not do with a connection, on a file in a temporary folder.

use std::time::Duration;

use rusqlite::StatementStatus;

use super::*;

fn open() -> (tempfile::TempDir, Connection) {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(&dir.path().join("default.db"), &Turns::default()).unwrap();
    (dir, connection)
}

fn run(connection: &Connection, statement: &str, parameters: Vec<wit::Value>) -> Outcome {
    connection.execute(statement, parameters)
}

fn message(outcome: Outcome) -> String {
    match outcome.result.unwrap_err() {
        wit::Error::Io(text) => text,
        other => format!("{other:?}"),
    }
}

#[test]
fn values_come_back_as_they_went() {
    let (_dir, db) = open();
    let values = vec![
        wit::Value::Integer(i64::MIN),
        wit::Value::Real(0.5),
        wit::Value::Text("😀".into()),
        wit::Value::Blob(vec![0, 255]),
        wit::Value::Null,
    ];
    let outcome = run(&db, "SELECT ? AS a, ?, ?, ?, ?", values.clone());
    assert_eq!(outcome.columns[0], "a");
    assert_eq!(format!("{:?}", outcome.rows[0].values), format!("{values:?}"));
    outcome.result.unwrap();
}

#[test]
fn no_other_file_is_reached() {
    let (dir, db) = open();
    let other = dir.path().join("other.db").display().to_string();
    for statement in [
        format!("ATTACH '{other}' AS o"),
        format!("ATTACH '{other}' || '' AS o"),
        format!("VACUUM INTO '{other}'"),
        format!("VACUUM INTO '{other}' || ''"),
        "PRAGMA Temp_Store_Directory = '/'".into(),
        "PRAGMA hard_heap_limit = 1".into(),
    ] {
        let text = message(run(&db, &statement, vec![]));
        assert!(text.contains("authoriz"), "{statement}: {text}");
    }
    let parameter = vec![wit::Value::Text(other)];
    let text = message(run(&db, "ATTACH ? AS o", parameter));
    assert!(text.contains("authoriz"), "{text}");
    run(&db, "ATTACH ':memory:' AS m", vec![]).result.unwrap();
    run(&db, "VACUUM", vec![]).result.unwrap();
    assert!(!dir.path().join("other.db").exists());
}

#[test]
fn text_that_is_not_utf8_is_an_error() {
    let (_dir, db) = open();
    let text = message(run(&db, "SELECT CAST(x'ff' AS TEXT)", vec![]));
    assert!(text.contains("UTF-8"), "{text}");
}

#[test]
fn rows_before_a_failure_are_kept() {
    let (_dir, db) = open();
    let outcome = run(&db, "SELECT 'a' UNION ALL SELECT CAST(x'ff' AS TEXT)", vec![]);
    assert_eq!(outcome.rows.len(), 1);
    assert!(outcome.result.is_err());
}

#[test]
fn two_statements_in_one_are_refused() {
    let (_dir, db) = open();
    assert!(message(run(&db, "SELECT 1; SELECT 2", vec![])).contains("Multiple statements"));
}

#[test]
fn a_dropped_connection_rolls_back() {
    let (dir, db) = open();
    run(&db, "CREATE TABLE t (x)", vec![]).result.unwrap();
    run(&db, "BEGIN IMMEDIATE", vec![]).result.unwrap();
    run(&db, "INSERT INTO t VALUES (1)", vec![]).result.unwrap();
    assert_eq!(db.changes(), 1);
    assert_eq!(db.last_insert_rowid(), 1);
    drop(db);
    let again = Connection::open(&dir.path().join("default.db"), &Turns::default()).unwrap();
    assert!(run(&again, "SELECT * FROM t", vec![]).rows.is_empty());
}

#[test]
fn a_statement_out_of_time_is_stopped() {
    let (_dir, db) = open();
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
    let mut session = db.lock();
    db.watch.stop_at(Duration::ZERO);
    let stopped = session.run(endless, vec![], &mut Outcome::default()).unwrap_err();
    assert!(format!("{stopped:?}").contains("interrupted"), "{stopped:?}");
}

#[test]
fn a_bound_limit_does_not_prepare_anew() {
    let (_dir, db) = open();
    let read = |limit| run(&db, "SELECT 1 LIMIT ?", vec![wit::Value::Integer(limit)]).result.unwrap();
    (1..5).for_each(read);
    let session = db.lock();
    let statement = session.db.prepare_cached("SELECT 1 LIMIT ?").unwrap();
    assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
}

#[test]
fn the_turn_to_write_lasts_as_long_as_the_transaction() {
    let (_dir, db) = open();
    let has_turn = |statement: &str| {
        run(&db, statement, vec![]).result.unwrap();
        db.lock().turn.is_some()
    };
    assert!(!has_turn("CREATE TABLE t (x)"));
    assert!(!has_turn("SELECT * FROM t"));
    assert!(has_turn("BEGIN IMMEDIATE"));
    assert!(has_turn("INSERT INTO t VALUES (1)"));
    assert!(!has_turn("COMMIT"));
    assert!(!has_turn("BEGIN"), "nothing is written yet");
    assert!(has_turn("INSERT INTO t VALUES (1)"));
    assert!(!has_turn("rollback;"));
    assert!(!has_turn("INSERT INTO t VALUES (1)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_writers_take_turns() {
    const WRITERS: i64 = 8;
    const ROWS_EACH: i64 = 20;
    let dir = tempfile::tempdir().unwrap();
    let (file, turns) = (dir.path().join("default.db"), Turns::default());
    let db = Connection::open(&file, &turns).unwrap();
    run(&db, "PRAGMA journal_mode = WAL", vec![]).result.unwrap();
    run(&db, "CREATE TABLE t (x)", vec![]).result.unwrap();
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let db = Connection::open(&file, &turns).unwrap();
            // Without turns most of the writers would fail.
            run(&db, "PRAGMA busy_timeout = 0", vec![]).result.unwrap();
            tokio::task::spawn_blocking(move || {
                for _ in 0..ROWS_EACH {
                    for statement in ["BEGIN IMMEDIATE", "INSERT INTO t VALUES (1)", "COMMIT"] {
                        run(&db, statement, vec![]).result.unwrap();
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let counted = run(&db, "SELECT count(*) FROM t", vec![]);
    assert!(matches!(counted.rows[0].values[0], wit::Value::Integer(n) if n == WRITERS * ROWS_EACH));
}
