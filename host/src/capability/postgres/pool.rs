//! The pools of one component, one for each address.

use std::sync::{Mutex, PoisonError};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use tokio_postgres::{Config, NoTls};

use super::{error, wit};
use crate::limits::{POSTGRES_POOL_CONNECTIONS_MAX, POSTGRES_POOLS_MAX};

/// Runs before a session is used again. Fails, and the session is thrown away, when a transaction is
/// open in it: only then has the transaction begun before the statement. The rest makes it as new;
/// statements prepared earlier stay, because the driver knows some of them by name.
const RECYCLE: &str = "SELECT 1 / (now() = statement_timestamp())::int; \
    CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; \
    SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES";

/// Pools by address, the one used last at the end.
#[derive(Debug, Default)]
pub struct Pools(Mutex<Vec<(String, Pool)>>);

impl Pools {
    /// A session with the server at an address; waits for one when all are in use.
    pub async fn get(&self, address: &str, config: Config) -> Result<Object, wit::Error> {
        let pool = self.pool(address, config)?;
        pool.get().await.map_err(|e| error::cannot_connect(&e))
    }

    fn pool(&self, address: &str, config: Config) -> Result<Pool, wit::Error> {
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = pools.iter().position(|(known, _)| known == address);
        let pool = match known {
            Some(index) => pools.remove(index).1,
            None => make(config)?,
        };
        if pools.len() >= POSTGRES_POOLS_MAX {
            // Its sessions close as they come back.
            pools.remove(0);
        }
        pools.push((address.to_owned(), pool.clone()));
        Ok(pool)
    }
}

fn make(config: Config) -> Result<Pool, wit::Error> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Custom(RECYCLE.into()) };
    let manager = Manager::from_config(config, NoTls, recycling);
    let pool = Pool::builder(manager).max_size(POSTGRES_POOL_CONNECTIONS_MAX).build();
    pool.map_err(|e| error::cannot_connect(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_not_used_longest_goes() {
        let pools = Pools::default();
        let use_pool = |address: &str| pools.pool(address, Config::new()).unwrap();
        use_pool("first");
        for number in 1..POSTGRES_POOLS_MAX {
            use_pool(&number.to_string());
        }
        use_pool("first");
        use_pool("one too many");
        let kept = pools.0.lock().unwrap();
        assert_eq!(kept.len(), POSTGRES_POOLS_MAX);
        assert_eq!(kept[kept.len() - 2].0, "first");
        assert!(!kept.iter().any(|(address, _)| address == "1"));
    }
}
