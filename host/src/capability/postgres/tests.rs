//! Shows, on a PostgreSQL of its own, that values and errors arrive whole, and that nothing of one
//! guest is left in a session that another gets.

use std::time::{Duration, Instant};

use super::pool::Pools;
use super::session::{Connection, Outcome};
use super::wit;
use crate::capability::outbound::Slots;
use crate::data::DataFolder;
use crate::servers::{Servers, Wanted};

/// How long anything here may take before it counts as hung.
const HUNG: Duration = Duration::from_secs(20);

struct Server {
    servers: Servers,
    pools: Pools,
    url: String,
    _data: tempfile::TempDir,
}

impl Server {
    async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(data.path()).unwrap();
        let servers = Servers::start(&folder, Wanted { redis: false, postgres: true }).await.unwrap();
        let url = servers.postgres_url().unwrap().to_owned();
        Self { servers, pools: Pools::default(), url, _data: data }
    }

    async fn open(&self) -> Connection {
        let client = self.pools.get(&self.url, self.url.parse().unwrap()).await.unwrap();
        Connection::new(client, Slots::new(1).take().unwrap())
    }

    /// One number, by a session of its own.
    async fn number(&self, statement: &str) -> i64 {
        number(&self.open().await, statement).await
    }

    async fn becomes_zero(&self, statement: &str) {
        let begun = Instant::now();
        while self.number(statement).await != 0 {
            assert!(begun.elapsed() < HUNG, "{statement}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn number(connection: &Connection, statement: &str) -> i64 {
    match query(connection, statement, vec![]).await.rows.remove(0).remove(0) {
        wit::DbValue::Int64(number) => number,
        other => panic!("{other:?}"),
    }
}

async fn query(connection: &Connection, statement: &str, parameters: Vec<wit::ParameterValue>) -> Outcome {
    let outcome = connection.query(statement, parameters).await.unwrap();
    outcome.result.clone().unwrap();
    outcome
}

fn code(error: wit::Error) -> String {
    match error {
        wit::Error::QueryFailed(wit::QueryError::DbError(said)) => said.code,
        other => panic!("{other:?}"),
    }
}

const PID: &str = "SELECT pg_backend_pid()::int8";

#[tokio::test]
async fn values_and_errors() {
    let server = Server::start().await;
    let connection = server.open().await;
    values(&connection).await;
    errors(&connection).await;
    server.servers.stop().await;
}

async fn values(connection: &Connection) {
    use wit::ParameterValue as P;
    let statement = "SELECT $1::bool, $2::int2, $3::int4, $4::int8, $5::float4, $6::float8, $7::text, \
                     $8::bytea, $9::jsonb, $10::int4[], $11::int8[], $12::text[], $13::text, NULL::int8";
    let parameters = vec![
        P::Boolean(true),
        P::Int16(-2),
        P::Int32(-3),
        P::Int64(i64::MIN),
        P::Floating32(0.5),
        P::Floating64(0.25),
        P::Str("😀".into()),
        P::Binary(vec![0, 255]),
        P::Jsonb(b"{\"a\":1}".to_vec()),
        P::ArrayInt32(vec![Some(1), None]),
        P::ArrayInt64(vec![Some(2), None]),
        P::ArrayStr(vec![Some("x".into()), None]),
        P::DbNull,
    ];
    let outcome = query(connection, statement, parameters).await;
    let shown = format!("{:?}", outcome.rows);
    for value in [
        "Boolean(true)",
        "Int16(-2)",
        "Int32(-3)",
        "Int64(-9223372036854775808)",
        "Floating32(0.5)",
        "Floating64(0.25)",
        "Str(\"😀\")",
        "Binary([0, 255])",
        "ArrayInt32([Some(1), None])",
        "ArrayInt64([Some(2), None])",
        "ArrayStr([Some(\"x\"), None])",
        "DbNull",
    ] {
        assert!(shown.contains(value), "{value} in {shown}");
    }
    assert_eq!(outcome.columns.len(), 14);
    let empty = query(connection, "SELECT 1 WHERE false", vec![]).await;
    assert!(empty.columns.is_empty(), "as in Spin");
    let date = connection.query("SELECT now()", vec![]).await.unwrap().result.unwrap_err();
    assert!(
        matches!(&date, wit::Error::ValueConversionFailed(text) if text.contains("timestamptz")),
        "{date:?}"
    );
    let decimal = connection.query("SELECT $1::text", vec![P::Decimal("1".into())]).await.err().unwrap();
    assert!(matches!(&decimal, wit::Error::BadParameter(text) if text.contains("decimal")), "{decimal:?}");
}

async fn errors(connection: &Connection) {
    assert_eq!(code(connection.query("SELEC", vec![]).await.err().unwrap()), "42601");
    let late = connection.query("SELECT 1 / x FROM generate_series(1, 0, -1) x", vec![]).await.unwrap();
    assert_eq!(late.rows.len(), 1, "the rows before a failure are kept");
    assert_eq!(code(late.result.unwrap_err()), "22012");
    connection.execute("CREATE TABLE t (x int8 PRIMARY KEY)", vec![]).await.unwrap();
    let insert = async || connection.execute("INSERT INTO t VALUES (1)", vec![]).await;
    assert_eq!(insert().await.unwrap(), 1);
    assert_eq!(code(insert().await.unwrap_err()), "23505");
}

#[tokio::test]
async fn sessions_are_used_again_only_when_clean() {
    let server = Server::start().await;
    let pid = server.number(PID).await;
    assert_eq!(server.number(PID).await, pid, "a clean one comes back");

    let connection = server.open().await;
    connection.execute("SET statement_timeout = 12345", vec![]).await.unwrap();
    drop(connection);
    let setting = "SELECT setting::int8 FROM pg_settings WHERE name = 'statement_timeout'";
    assert_eq!(server.number(setting).await, 0, "settings do not stay");

    let connection = server.open().await;
    connection.execute("CREATE TABLE t (x int8)", vec![]).await.unwrap();
    connection.execute("BEGIN", vec![]).await.unwrap();
    connection.execute("INSERT INTO t VALUES (1)", vec![]).await.unwrap();
    let in_transaction = number(&connection, PID).await;
    drop(connection);
    assert_ne!(server.number(PID).await, in_transaction);
    assert_eq!(server.number("SELECT count(*) FROM t").await, 0);
    server.becomes_zero("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'").await;
    server.servers.stop().await;
}

#[tokio::test]
async fn a_transaction_that_was_not_noticed_is_found_on_reuse() {
    let server = Server::start().await;
    let client = server.pools.get(&server.url, server.url.parse().unwrap()).await.unwrap();
    client.batch_execute("CREATE TABLE t (x int8)").await.unwrap();
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    drop(client);
    assert_eq!(server.number("SELECT count(*) FROM t").await, 0);
    server.servers.stop().await;
}

#[tokio::test]
async fn a_statement_that_is_given_up_is_cancelled() {
    let server = Server::start().await;
    let connection = server.open().await;
    let slept = number(&connection, PID).await;
    let sleep = connection.query("SELECT pg_sleep(3600)", vec![]);
    assert!(tokio::time::timeout(Duration::from_millis(200), sleep).await.is_err());
    drop(connection);
    assert_ne!(server.number(PID).await, slept);
    server.becomes_zero("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(3600%' AND pid <> pg_backend_pid()").await;
    server.servers.stop().await;
}
