//! What the servers are made to do by a piece of work, counted while nothing else is under way: figures
//! that no other load on the machine changes.

use crate::failure::{Failure, Outcome};
use crate::servers::Servers;
use crate::servers::postgres::connect;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_postgres::Client;

/// How PostgreSQL logs a statement: of the extended protocol, and of the simple one.
const LOGGED: [&str; 2] = [" LOG:  execute ", " LOG:  statement: "];
/// How long the sessions of PostgreSQL may take to notice a changed setting.
const RELOAD: Duration = Duration::from_millis(500);
/// How commands that run a script are called.
const SCRIPT_CALLS: [&str; 2] = ["evalsha", "eval"];

/// What was done; of several times the same, the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Scripts that Redis ran.
    pub scripts: f64,
    /// Commands that Redis ran besides, be it within scripts or on their own.
    pub commands: f64,
    /// Statements that PostgreSQL ran.
    pub statements: f64,
    /// Rows that were inserted, updated and deleted in the store's tables.
    pub rows: f64,
}

impl Counts {
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |one, other| one + other)
    }

    pub fn each(self, count: usize) -> Self {
        self.with(Self::default(), |sum, _| sum / count.max(1) as f64)
    }

    fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            scripts: of(self.scripts, other.scripts),
            commands: of(self.commands, other.commands),
            statements: of(self.statements, other.statements),
            rows: of(self.rows, other.rows),
        }
    }

    pub fn json(self) -> Value {
        json!({
            "redisScripts": self.scripts,
            "redisCommands": self.commands,
            "sqlStatements": self.statements,
            "sqlRowsWritten": self.rows,
        })
    }
}

/// A number as it stands in a table: most are whole.
pub fn number(count: f64) -> String {
    match (count - count.round()).abs() < 0.005 {
        true => crate::report::thousands(count),
        false => format!("{count:.2}"),
    }
}

/// Reads the servers' own counters.
pub struct Tally<'a> {
    servers: &'a Servers,
    redis: MultiplexedConnection,
    postgres: Client,
}

impl<'a> Tally<'a> {
    /// PostgreSQL logs its statements from now on, until [`Self::end`].
    pub async fn begin(servers: &'a Servers) -> Outcome<Self> {
        let redis = redis::Client::open(servers.redis.url())?.get_multiplexed_async_connection().await?;
        let postgres = connect(&servers.postgres.url()).await?;
        let tally = Self { servers, redis, postgres };
        tally.postgres.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_walinspect").await?;
        tally.set("SET log_parameter_max_length = 0").await?;
        tally.set("SET log_statement = 'all'").await?;
        Ok(tally)
    }

    pub async fn end(self) -> Outcome {
        self.set("RESET ALL").await
    }

    async fn set(&self, setting: &str) -> Outcome {
        self.postgres.batch_execute(&format!("ALTER SYSTEM {setting}")).await?;
        self.postgres.batch_execute("SELECT pg_reload_conf()").await?;
        tokio::time::sleep(RELOAD).await;
        Ok(())
    }

    pub async fn count(&mut self, work: impl Future<Output = Outcome>) -> Outcome<Counts> {
        let lsn = self.mark().await?;
        let statements = self.statements();
        let (scripts, commands) = self.calls().await?;
        work.await?;
        let (scripts_after, commands_after) = self.calls().await?;
        let statements = self.statements() - statements;
        Ok(Counts {
            scripts: scripts_after - scripts,
            // The first of the two looks at Redis is one itself.
            commands: commands_after - commands - 1.0,
            statements: statements as f64,
            rows: self.rows_since(&lsn).await?,
        })
    }

    /// Calls of scripts and of everything else so far. Redis counts what scripts call like what clients do.
    async fn calls(&mut self) -> Outcome<(f64, f64)> {
        let stats: String = redis::cmd("INFO")
            .arg("commandstats")
            .query_async(&mut self.redis)
            .await
            .map_err(Failure::from)?;
        let calls = stats.lines().filter_map(|line| {
            let (name, numbers) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((SCRIPT_CALLS.contains(&name), numbers.split(',').next()?.parse::<f64>().ok()?))
        });
        Ok(calls.fold((0.0, 0.0), |(scripts, others), (is_script, calls)| match is_script {
            true => (scripts + calls, others),
            false => (scripts, others + calls),
        }))
    }

    /// Statements that have been logged. A line is written before the statement is run.
    fn statements(&self) -> usize {
        let log = self.servers.postgres.process.printed();
        log.lines().filter(|line| LOGGED.iter().any(|logged| line.contains(logged))).count()
    }

    /// A place in the write-ahead log.
    async fn mark(&self) -> Outcome<String> {
        const STATEMENT: &str = "SELECT pg_logical_emit_message(true, 'bench', '')::text";
        Ok(self.postgres.query_one(STATEMENT, &[]).await?.get(0))
    }

    /// Rows written since. The write-ahead log knows at once and exactly; PostgreSQL's statistics are seconds
    /// late.
    async fn rows_since(&self, lsn: &str) -> Outcome<f64> {
        const STATEMENT: &str = "
            SELECT count(*)
            FROM pg_get_wal_records_info($1::text::pg_lsn, $2::text::pg_lsn) w
            JOIN pg_class c ON c.relfilenode = substring(w.block_ref FROM 'rel \\d+/\\d+/(\\d+)')::oid
                AND c.relnamespace = 'public'::regnamespace
            WHERE w.resource_manager = 'Heap' AND w.record_type ~ '^(INSERT|UPDATE|HOT_UPDATE|DELETE)'";
        let now = self.mark().await?;
        let count: i64 = self.postgres.query_one(STATEMENT, &[&lsn, &now]).await?.get(0);
        Ok(count as f64)
    }
}
