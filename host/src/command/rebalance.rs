//! `im rebalance`: databases of the profile `redis` are added or removed while the app runs, and Redis
//! servers while it rests.

mod lists;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use im_store::arguments;
use im_store::native::{NativePostgres, NativeRedis};
use im_store::postgres::Postgres;
use im_store::redis::Redis;
use im_store::tiered::config::{Config, ServerUrl};
use im_store::tiered::rebalance::{self, Moved};
use im_store::tiered::{HotDurability, Tiered, limits};

use super::CommandError;
use super::connection::run_client;
use crate::output;
use lists::{DatabaseArgs, Databases, Hot, HotArgs};

type Engine = Tiered<NativeRedis, NativePostgres>;

/// To add databases: `declare`, give every instance the new list, `move`, `finish`. To remove some:
/// `declare`, `move`, give every instance the new list, `finish`. Lists grow and shrink at their end. Each
/// step is safe to repeat, and goes on where it was stopped.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(clap::Subcommand)]
enum Step {
    /// Record which databases there are to be; new ones are set up. Both lists are good from then on
    Declare(DatabaseArgs),
    /// Move what has to move; the app goes on meanwhile
    Move(DatabaseArgs),
    /// Make the new list the only good one, and delete what was left behind
    Finish(DatabaseArgs),
    /// Change the Redis servers: no instance may run meanwhile
    Redis(HotArgs),
}

pub fn run(args: Args) -> Result<(), CommandError> {
    // The store names its leases and moves by chance; without any it must not begin.
    random().map_err(CommandError::failed)?;
    match args.step {
        Step::Declare(args) => declare(&args.read()?),
        Step::Move(args) => move_partitions(&args.read()?),
        Step::Finish(args) => finish(&args.read()?),
        Step::Redis(args) => redis(&args.read()?),
    }
}

fn declare(lists: &Databases) -> Result<(), CommandError> {
    run_client(async {
        let engine = connect(&lists.redis, lists.longer()).await?;
        rebalance::declare(&engine, lists.to.len()).await.map_err(CommandError::failed)?;
        output::line(&format!("declared: {} databases, now {}", lists.to.len(), lists.from.len()));
        Ok(())
    })
}

fn move_partitions(lists: &Databases) -> Result<(), CommandError> {
    run_client(async {
        let engine = connect(&lists.redis, lists.longer()).await?;
        let told = |moved| output::line(&done(&moved));
        rebalance::move_partitions(&engine, told).await.map_err(CommandError::failed)?;
        output::line("every partition is at its place");
        Ok(())
    })
}

fn done(moved: &Moved) -> String {
    let Moved { partition, from, to, left } = moved;
    format!("partition {partition}: from database {} to {}, {left} left", from + 1, to + 1)
}

fn finish(lists: &Databases) -> Result<(), CommandError> {
    run_client(async {
        let engine = connect(&lists.redis, lists.longer()).await?;
        rebalance::finish(&engine).await.map_err(CommandError::failed)?;
        output::line(&format!("finished: {} databases", lists.to.len()));
        Ok(())
    })
}

fn redis(lists: &Hot) -> Result<(), CommandError> {
    run_client(async {
        let engine = connect(&lists.from, &lists.postgres).await?;
        let mut added = Vec::new();
        for url in lists.to.iter().filter(|url| !lists.from.iter().any(|old| old.as_str() == url.as_str())) {
            added.push(hot(url).await?);
        }
        let count = lists.to.len();
        rebalance::change_redis(&engine, &added, count).await.map_err(CommandError::failed)?;
        output::line(&format!("everything is in PostgreSQL; start the app with the {count} Redis servers"));
        Ok(())
    })
}

/// An engine on these servers, each of which has answered: the engine's own errors say no more than
/// that one is away.
async fn connect(redis: &[ServerUrl], postgres: &[ServerUrl]) -> Result<Engine, CommandError> {
    let mut nodes = Vec::with_capacity(redis.len());
    for url in redis {
        nodes.push(hot(url).await?);
    }
    let mut databases = Vec::with_capacity(postgres.len());
    for url in postgres {
        databases.push(database(url).await.map_err(|why| told(url, &why))?);
    }
    let config = Config {
        redis: redis.to_vec(),
        postgres: postgres.to_vec(),
        // A server that was started again meanwhile is taken to have lost its last writes.
        hot_durability: HotDurability::Everysec,
        backlog_max: limits::BACKLOG_ENTRIES_MAX,
        marker_life_s: limits::MARKER_LIFE_S_DEFAULT,
        retention: im_domain::retention::RetentionRules::default(),
        push: im_domain::push::PushRules::default(),
        revision: im_domain::revision::RevisionRules::default(),
        tier: im_domain::tier::TierRules::default(),
    };
    let pause = |ms| -> im_store::tiered::Pause { Box::pin(tokio::time::sleep(Duration::from_millis(ms))) };
    let chance = || random().unwrap_or_else(|_| since_1970().as_nanos());
    let settings = config.settings(Box::new(now_ms), Box::new(chance), Box::new(pause));
    Tiered::new(nodes, databases, settings).map_err(CommandError::failed)
}

async fn hot(url: &ServerUrl) -> Result<NativeRedis, CommandError> {
    let redis = NativeRedis::new(url.as_str()).map_err(|why| told(url, &why.to_string()))?;
    redis.command("PING", arguments![]).await.map_err(|why| told(url, &why.to_string()))?;
    Ok(redis)
}

async fn database(url: &ServerUrl) -> Result<NativePostgres, String> {
    let database = NativePostgres::new(url.as_str()).map_err(|why| why.to_string())?;
    database.query("SELECT 1::bigint", Vec::new()).await.map_err(|why| why.to_string())?;
    Ok(database)
}

fn told(url: &ServerUrl, why: &str) -> CommandError {
    CommandError::Failed(format!("{}: {}", url.name(), url.clean(why)))
}

fn random() -> Result<u128, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn now_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_is_told_with_places_counted_from_one() {
        let moved = Moved { partition: 7, from: 0, to: 2, left: 3 };
        assert_eq!(done(&moved), "partition 7: from database 1 to 3, 3 left");
    }
}
