//! A kill is a port whose calls all fail from some point on. The call at that point is made or not made.

use im_store::native::{NativePostgres, NativeRedis};
use im_store::postgres::Postgres;
use im_store::redis::{Argument, Redis, RedisError, Value};
use im_store::sql::{Row, SqlError};
use std::cell::Cell;
use std::rc::Rc;

/// Calls after which the engine is dead; the last one is made if `last_is_made`.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    pub after: usize,
    pub last_is_made: bool,
}

pub struct Mortal {
    kill: Option<Kill>,
    calls: Cell<usize>,
}

/// What becomes of a call.
enum Fate {
    Made,
    MadeInVain,
    NotMade,
}

impl Mortal {
    pub fn new(kill: Option<Kill>) -> Self {
        Self { kill, calls: Cell::new(0) }
    }

    fn fate(&self) -> Fate {
        let call = self.calls.get();
        self.calls.set(call + 1);
        match self.kill {
            Some(kill) if call == kill.after && kill.last_is_made => Fate::MadeInVain,
            Some(kill) if call >= kill.after => Fate::NotMade,
            _ => Fate::Made,
        }
    }

    pub fn died(&self) -> bool {
        self.kill.is_some_and(|kill| self.calls.get() > kill.after)
    }
}

pub struct MortalRedis(pub NativeRedis, pub Rc<Mortal>);
pub struct MortalPostgres(pub NativePostgres, pub Rc<Mortal>);

impl Redis for MortalRedis {
    async fn command(&self, name: &str, arguments: Vec<Argument>) -> Result<Vec<Value>, RedisError> {
        let gone = || Err(RedisError::Unreachable("killed".to_owned()));
        match self.1.fate() {
            Fate::Made => self.0.command(name, arguments).await,
            Fate::MadeInVain => self.0.command(name, arguments).await.and_then(|_| gone()),
            Fate::NotMade => gone(),
        }
    }

    fn connections_lost(&self) -> u64 {
        self.0.connections_lost()
    }
}

impl Postgres for MortalPostgres {
    async fn query(
        &self,
        statement: &str,
        parameters: Vec<im_store::sql::Value>,
    ) -> Result<Vec<Row>, SqlError> {
        let gone = || Err(SqlError::Unavailable("killed".to_owned()));
        match self.1.fate() {
            Fate::Made => self.0.query(statement, parameters).await,
            Fate::MadeInVain => self.0.query(statement, parameters).await.and_then(|_| gone()),
            Fate::NotMade => gone(),
        }
    }
}
