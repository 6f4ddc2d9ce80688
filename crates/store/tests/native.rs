//! Proves that the native ports do what the traits say, on real servers: values come back as they
//! were, errors tell their kind, and a lost connection is opened again. And that the clock of a
//! test's Redis stands where it was set.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod servers;

use im_store::native::{NativePostgres, NativeRedis};
use im_store::postgres::Postgres;
use im_store::redis::{Redis, RedisError, Value as Reply};
use im_store::sql::{Row, SqlError, Value};
use im_store::{arguments, params};
use servers::block_on;
use servers::postgres::Database;
use servers::redis::{self, RedisServer};

fn bytes(text: &str) -> Reply {
    Reply::Bytes(text.as_bytes().to_vec())
}

#[test]
fn redis_gives_flat_replies_and_errors_by_kind() {
    let server = RedisServer::start(None);
    let port = NativeRedis::new(server.url()).unwrap();
    let command = |name: &str, arguments| block_on(port.command(name, arguments));
    let script = "return {1, {'a', {false, 'b'}}, redis.status_reply('FINE'), {}}";
    let flat = [Reply::Integer(1), bytes("a"), Reply::Nil, bytes("b"), bytes("FINE")];
    assert_eq!(command("EVAL", arguments![script, "0"]).unwrap(), flat);
    let odd = vec![0_u8, 255, 13, 10];
    assert_eq!(command("SET", arguments!["k", odd.clone()]).unwrap(), [bytes("OK")]);
    assert_eq!(command("GET", arguments!["k"]).unwrap(), [Reply::Bytes(odd)]);
    let nested = command("EVAL", arguments!["return {1, redis.error_reply('MINE it is')}", "0"]);
    assert!(matches!(nested, Err(RedisError::Failed(_))), "{nested:?}");
    assert_eq!(command("EVALSHA", arguments!["0".repeat(40), "0"]), Err(RedisError::NoScript));
    assert!(matches!(command("INCR", arguments!["k"]), Err(RedisError::Failed(_))));
    assert!(matches!(command("LPUSH", arguments!["k", "v"]), Err(RedisError::Failed(_))));
    command("CONFIG", arguments!["SET", "maxmemory", "1"]).unwrap();
    assert!(matches!(command("SET", arguments!["l", "v"]), Err(RedisError::Busy(_))));
    let in_script = command("EVAL", arguments!["redis.call('SET', KEYS[1], 'v')", "1", "l"]);
    assert!(matches!(in_script, Err(RedisError::Busy(_))), "{in_script:?}");
    command("CONFIG", arguments!["SET", "maxmemory", "0"]).unwrap();
    command("CONFIG", arguments!["SET", "min-replicas-to-write", "1"]).unwrap();
    assert!(matches!(command("SET", arguments!["l", "v"]), Err(RedisError::Busy(_))));
    command("REPLICAOF", arguments!["127.0.0.1", "1"]).unwrap();
    assert!(matches!(command("SET", arguments!["l", "v"]), Err(RedisError::Busy(_))));
}

#[test]
fn redis_is_connected_to_again() {
    let server = RedisServer::start(None);
    let port = NativeRedis::new(server.url()).unwrap();
    let ping = || block_on(port.command("PING", arguments![]));
    assert_eq!(ping().unwrap(), [bytes("PONG")]);
    redis::command_at(server.url(), "CLIENT", arguments!["KILL", "TYPE", "normal"]).unwrap();
    let lost = ping();
    assert!(matches!(lost, Err(RedisError::Unreachable(_))), "{lost:?}");
    assert_eq!(ping().unwrap(), [bytes("PONG")]);
    drop(server);
    for _ in 0..2 {
        assert!(matches!(ping(), Err(RedisError::Unreachable(_))));
    }
}

#[test]
fn a_clock_that_is_set_stands_where_it_was_set_to() {
    let start_ms = 1_714_067_200_123;
    let server = RedisServer::start(Some(start_ms));
    let now_ms = || {
        let reply =
            redis::command_at(server.url(), "EVAL", arguments!["return redis.call('TIME')", "0"]).unwrap();
        let numbers: Vec<u64> = reply
            .into_iter()
            .map(|value| match value {
                Reply::Bytes(bytes) => String::from_utf8(bytes).unwrap().parse().unwrap(),
                other => panic!("{other:?}"),
            })
            .collect();
        numbers[0] * 1_000 + numbers[1] / 1_000
    };
    let leaps = [0, 1, 999, 86_400_000, 400 * 86_400_000, 35 * 365 * 86_400_000];
    for set in leaps.map(|leap| start_ms + leap).into_iter().chain([start_ms - 60_001, start_ms]) {
        server.set_clock(set);
        assert_eq!((now_ms(), now_ms()), (set, set));
    }
}

fn columns(mut rows: Vec<Row>, count: usize) -> Vec<Value> {
    assert_eq!(rows.len(), 1);
    let mut row = rows.remove(0);
    (0..count).map(|_| row.value().unwrap()).collect()
}

#[test]
fn postgres_gives_values_back_and_takes_null_for_any() {
    let database = Database::create();
    let port = NativePostgres::new(&database.url()).unwrap();
    let query = |statement: &str, parameters| block_on(port.query(statement, parameters));
    let echo = "SELECT $1::bigint, $2::float8, $3::text, $4::bytea, $5::bigint[], $6::text[]";
    let values = vec![
        Value::Integer(i64::MIN),
        Value::Real(0.5),
        Value::Text("\u{10ffff} ś".into()),
        Value::Blob(vec![0, 255]),
        Value::Integers(vec![Some(1), None, Some(i64::MAX)]),
        Value::Texts(vec![Some("a".into()), None, Some(String::new())]),
    ];
    for _ in 0..2 {
        assert_eq!(columns(query(echo, values.clone()).unwrap(), 6), values);
        assert_eq!(columns(query(echo, vec![Value::Null; 6]).unwrap(), 6), vec![Value::Null; 6]);
    }
    let others = "SELECT 1::int2, 2::int4, true, 'n'::name, 'v'::varchar, 0.5::float4";
    let expected = params![1_i64, 2_i64, true, "n", "v"];
    let mut found = columns(query(others, vec![]).unwrap(), 6);
    assert_eq!(found.pop(), Some(Value::Real(0.5)));
    assert_eq!(found, expected);
}

#[test]
fn postgres_errors_tell_their_kind() {
    let database = Database::create();
    let port = NativePostgres::new(&database.url()).unwrap();
    let query = |statement: &str, parameters| block_on(port.query(statement, parameters)).map(drop);
    query("CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL)", vec![]).unwrap();
    let insert = "INSERT INTO t VALUES ($1::bigint, $2::text)";
    query(insert, params![1_i64, "v"]).unwrap();
    for refused in [params![1_i64, "v"], params![2_i64, "a\0b"], vec![Value::Integer(2), Value::Null]] {
        let answer = query(insert, refused);
        assert!(matches!(answer, Err(SqlError::Refused(_))), "{answer:?}");
    }
    for (wrong, parameters) in [
        ("SELECT", params![1_i64]),
        ("NONSENSE", vec![]),
        ("SELECT * FROM nowhere", vec![]),
        (insert, params!["text", "v"]),
        ("SELECT now()", vec![]),
    ] {
        let answer = query(wrong, parameters);
        assert!(matches!(answer, Err(SqlError::Failed(_))), "{wrong}: {answer:?}");
    }
    query("ALTER TABLE t ADD COLUMN w bigint", vec![]).unwrap();
    query(insert, params![3_i64, "v"]).unwrap();
}

#[test]
fn postgres_is_connected_to_again() {
    let database = Database::create();
    let port = NativePostgres::new(&database.url()).unwrap();
    let query = || block_on(port.query("SELECT 1", vec![])).map(drop);
    query().unwrap();
    let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    servers::postgres::query_at(&database.url(), end, vec![]).unwrap();
    // The client may have noticed already.
    if let Err(lost) = query() {
        assert!(matches!(lost, SqlError::Unavailable(_)), "{lost:?}");
    }
    query().unwrap();
    let nobody = NativePostgres::new("postgres://im@127.0.0.1:1/x?sslmode=disable").unwrap();
    let answer = block_on(nobody.query("SELECT 1", vec![])).map(drop);
    assert!(matches!(answer, Err(SqlError::Unavailable(_))), "{answer:?}");
}
