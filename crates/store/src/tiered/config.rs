//! What an operator sets for the tiered store: variables as text, checked. Errors name the variable
//! and never show its value: it may hold a password.

mod server_url;

use super::limits::BACKLOG_ENTRIES_MAX;
use super::{HotDurability, Pause, Settings};
use im_domain::limits::INDEX_MEMBERS_MAX;
use im_domain::push::PushRules;
use im_domain::retention::RetentionRules;
use im_domain::revision::RevisionRules;
use im_domain::tier::TierRules;
use im_domain::{Error, Result};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

pub use server_url::ServerUrl;

/// Servers in one list: as many as the 256 partitions can be dealt out to with four for each.
pub const SERVERS_MAX: usize = 64;
/// Longest life of an idempotency marker, in seconds: a year. Markers are memory of Redis.
pub const DEDUP_SECONDS_MAX: u64 = 365 * 24 * 60 * 60;

const REDIS_SCHEMES: &[&str] = &["redis", "rediss"];
const POSTGRES_SCHEMES: &[&str] = &["postgres", "postgresql"];

/// The variables as given; each is named as its field.
#[derive(Default)]
pub struct Given {
    /// URLs of Redis servers, separated by commas.
    pub redis_url: String,
    /// URLs of PostgreSQL databases, separated by commas.
    pub postgres_url: String,
    /// `everysec` or `always`.
    pub hot_durability: String,
    /// A number of log entries.
    pub backlog_max: String,
    pub dedup_seconds: String,
    /// See [`RetentionRules::parse`].
    pub retention_ms: String,
    pub legal_hold: String,
    /// See [`PushRules::parse`].
    pub push_messages: String,
    pub push_wait_ms: String,
    pub push_offline_ms: String,
    /// See [`RevisionRules::parse`].
    pub recall_ms: String,
    pub edit_ms: String,
    /// See [`TierRules::parse`].
    pub tier_after_ms: String,
    pub tier_window: String,
}

/// The variables, checked.
#[derive(Debug)]
pub struct Config {
    pub redis: Vec<ServerUrl>,
    pub postgres: Vec<ServerUrl>,
    pub hot_durability: HotDurability,
    pub backlog_max: u64,
    pub marker_life_s: u64,
    pub retention: RetentionRules,
    pub push: PushRules,
    pub revision: RevisionRules,
    pub tier: TierRules,
}

impl Config {
    pub fn parse(given: &Given) -> Result<Self> {
        Ok(Self {
            redis: redis_servers("redis_url", &given.redis_url)?,
            postgres: databases("postgres_url", &given.postgres_url)?,
            hot_durability: durability(&given.hot_durability)?,
            backlog_max: number("backlog_max", &given.backlog_max, 1..=BACKLOG_ENTRIES_MAX)?,
            marker_life_s: number("dedup_seconds", &given.dedup_seconds, 1..=DEDUP_SECONDS_MAX)?,
            retention: RetentionRules::parse(&given.retention_ms, &given.legal_hold)?,
            revision: RevisionRules::parse(&given.recall_ms, &given.edit_ms)?,
            tier: TierRules::parse(&given.tier_after_ms, &given.tier_window)?,
            push: PushRules::parse(&given.push_messages, &given.push_wait_ms, &given.push_offline_ms)?,
        })
    }

    /// What the engine takes, with the clock and the chance of its surroundings.
    pub fn settings(
        &self,
        now_ms: Box<dyn Fn() -> u64>,
        random: Box<dyn Fn() -> u128>,
        pause: Box<dyn Fn(u64) -> Pause>,
    ) -> Settings {
        Settings {
            now_ms,
            random,
            pause,
            servers: self.servers(),
            retention: self.retention.clone(),
            hot_durability: self.hot_durability,
            backlog_max: self.backlog_max,
            marker_life_s: self.marker_life_s,
            push: self.push.clone(),
            revision: self.revision.clone(),
            tier: self.tier,
            index_members_max: INDEX_MEMBERS_MAX,
        }
    }
}

impl Config {
    /// Tells this list of servers from others, without naming any: the hash of their URLs in order.
    fn servers(&self) -> String {
        let urls = [&self.redis, &self.postgres]
            .map(|list| list.iter().map(ServerUrl::as_str).collect::<Vec<_>>().join(","));
        format!("{:016x}", xxhash_rust::xxh64::xxh64(urls.join(" ").as_bytes(), 0))
    }
}

/// A list of PostgreSQL databases; `variable` is what errors call it.
pub fn databases(variable: &str, text: &str) -> Result<Vec<ServerUrl>> {
    servers(variable, "postgres", text, POSTGRES_SCHEMES)
}

/// A list of Redis servers; `variable` is what errors call it.
pub fn redis_servers(variable: &str, text: &str) -> Result<Vec<ServerUrl>> {
    servers(variable, "redis", text, REDIS_SCHEMES)
}

fn servers(variable: &str, kind: &str, text: &str, schemes: &[&str]) -> Result<Vec<ServerUrl>> {
    if text.trim().is_empty() {
        return Err(wrong(variable, "is not set: it takes one URL or several, separated by commas"));
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > SERVERS_MAX {
        return Err(wrong(variable, &format!("has more than {SERVERS_MAX} URLs")));
    }
    let url = |(index, part): (usize, &&str)| {
        let number = index.saturating_add(1);
        ServerUrl::parse(format!("{kind} {number}"), part, schemes)
            .map_err(|problem| wrong(variable, &format!("URL {number} of {}: {problem}", parts.len())))
    };
    let urls = parts.iter().enumerate().map(url).collect::<Result<Vec<_>>>()?;
    let mut seen = BTreeSet::new();
    match urls.iter().all(|url| seen.insert(url.as_str())) {
        true => Ok(urls),
        // Two places of one server would be taken for two servers.
        false => Err(wrong(variable, "names a server twice")),
    }
}

fn durability(text: &str) -> Result<HotDurability> {
    match text.trim() {
        "everysec" => Ok(HotDurability::Everysec),
        "always" => Ok(HotDurability::Always),
        _ => Err(wrong("hot_durability", "must be `everysec` or `always`")),
    }
}

fn number(variable: &str, text: &str, range: RangeInclusive<u64>) -> Result<u64> {
    let number = text.trim().parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let bounds = match *range.end() {
            u64::MAX => format!("{} or more", range.start()),
            end => format!("{} to {end}", range.start()),
        };
        wrong(variable, &format!("must be a whole number, {bounds}"))
    })
}

fn wrong(variable: &str, problem: &str) -> Error {
    Error::internal(format!("{variable} {problem}"))
}

#[cfg(test)]
mod tests;
