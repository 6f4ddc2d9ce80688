//! What a fault happens to: a Redis, a PostgreSQL and one or more hosts of a test's own.

use super::on_redis;
use im_tests::client::Client;
use im_tests::keys::Key;
use im_tests::ports;
use im_tests::postgres_server::{self, PostgresServer};
use im_tests::proxy::Proxy;
use im_tests::redis_server::{self, Fsync, RedisServer};
use im_tests::server::{Server, Setup, Stores};
use im_tests::tenant::Tenant;
use serde_json::json;

const DATABASE: &str = "postgres";

/// How a stage is set up.
pub struct Plan {
    pub fsync: Fsync,
    /// On the same servers.
    pub hosts: usize,
    /// Whether the hosts reach the servers through proxies.
    pub proxied: bool,
    /// Whether the clock of Redis can be set.
    pub clock: bool,
    /// As [`Setup::schedule`].
    pub schedule: Option<&'static str>,
    /// Variables of the app, `name=value`.
    pub variables: Vec<String>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            fsync: Fsync::Everysec,
            hosts: 1,
            proxied: false,
            clock: false,
            schedule: None,
            variables: Vec::new(),
        }
    }
}

pub struct Lines {
    pub redis: Proxy,
    pub postgres: Proxy,
}

pub struct Stage {
    // First, so that they end first: what they are in need of comes after.
    pub hosts: Vec<Server>,
    pub lines: Option<Lines>,
    pub redis: RedisServer,
    pub postgres: PostgresServer,
}

impl Stage {
    /// None, with a word, where the faults do not apply.
    pub fn new(plan: Plan) -> Option<Self> {
        if !on_redis() {
            return None;
        }
        let redis = match plan.clock {
            true => RedisServer::start_with_clock(plan.fsync)?,
            false => RedisServer::start(plan.fsync),
        };
        let postgres = PostgresServer::start();
        let proxies = || Lines { redis: Proxy::to(redis.port()), postgres: Proxy::to(postgres.port()) };
        let lines = plan.proxied.then(proxies);
        let (to_redis, to_postgres) = match &lines {
            Some(lines) => (lines.redis.port(), lines.postgres.port()),
            None => (redis.port(), postgres.port()),
        };
        let stores = Stores {
            redis: redis_server::url(to_redis),
            postgres: postgres_server::url(to_postgres, DATABASE),
        };
        let hosts = hosts(&plan, &stores)?;
        Some(Self { hosts, lines, redis, postgres })
    }

    /// The same on every host.
    pub fn tenant(&self, host: usize) -> Tenant {
        Tenant::on(&self.hosts[host], "faults")
    }

    /// A user on each of the hosts.
    pub fn user(&self, user: &str) -> Vec<Client> {
        (0..self.hosts.len()).map(|host| self.tenant(host).user(user).fresh()).collect()
    }

    /// Where raw SQL goes: past every proxy.
    pub fn database(&self) -> String {
        self.postgres.url(DATABASE)
    }
}

fn hosts(plan: &Plan, stores: &Stores) -> Option<Vec<Server>> {
    let secret = (0..48).map(|_| fastrand::u8(..)).collect();
    let key = Key { kid: Some("stage".to_owned()), secret };
    let durability = format!("hot_durability={}", plan.fsync.name());
    let variables = plan.variables.iter().chain([&durability]);
    let args: Vec<String> = variables.flat_map(|set| ["--var".to_owned(), set.clone()]).collect();
    let host = |_| {
        Server::own(Setup {
            args: args.clone(),
            schedule: plan.schedule,
            keys: Some(json!({"keys": [key.to_jwk()]})),
            port: Some(ports::free()),
            stores: Some(stores.clone()),
        })
    };
    (0..plan.hosts).map(host).collect()
}
