//! What the engine says to its servers, kept: an engine in this program runs an operation once, over
//! ports that record, and its last script call and statement are then said again by raw clients. So
//! bounds are of exactly what the store does, whatever that comes to be.

use crate::failure::{Failure, Outcome};
use crate::surroundings::{now_ms, pause, random};
use im_store::native::{NativePostgres, NativeRedis};
use im_store::postgres::Postgres;
use im_store::redis::{Argument, Redis, RedisError, Value as Reply};
use im_store::sql::{Row, SqlError, Value};
use im_store::tiered::Tiered;
use im_store::tiered::config::Config;
use std::cell::RefCell;
use std::rc::Rc;

const SCRIPT_CALL: &str = "EVALSHA";

/// The last things said.
#[derive(Default)]
pub struct Tape {
    pub script: RefCell<Vec<Vec<u8>>>,
    pub statement: RefCell<Option<(String, Vec<Value>)>>,
}

pub struct RecordedRedis(NativeRedis, Rc<Tape>);

pub struct RecordedPostgres(NativePostgres, Rc<Tape>);

/// An engine that is recorded.
pub fn engine(config: &Config) -> Outcome<(Tiered<RecordedRedis, RecordedPostgres>, Rc<Tape>)> {
    let tape = Rc::<Tape>::default();
    let redis =
        config.redis.iter().map(|url| Ok(RecordedRedis(NativeRedis::new(url.as_str())?, Rc::clone(&tape))));
    let postgres = config
        .postgres
        .iter()
        .map(|url| Ok(RecordedPostgres(NativePostgres::new(url.as_str())?, Rc::clone(&tape))));
    let settings = config.settings(Box::new(now_ms), Box::new(random), Box::new(pause));
    let redis = redis.collect::<Outcome<_>>()?;
    let engine = Tiered::new(redis, postgres.collect::<Outcome<_>>()?, settings);
    Ok((engine.map_err(|error| Failure(error.to_string()))?, tape))
}

impl Redis for RecordedRedis {
    async fn command(&self, name: &str, arguments: Vec<Argument>) -> Result<Vec<Reply>, RedisError> {
        if name == SCRIPT_CALL {
            let word = |argument: &Argument| match argument {
                Argument::Integer(number) => number.to_string().into_bytes(),
                Argument::Bytes(bytes) => bytes.clone(),
            };
            let words = [name.as_bytes().to_vec()].into_iter().chain(arguments.iter().map(word));
            self.1.script.replace(words.collect());
        }
        self.0.command(name, arguments).await
    }

    fn connections_lost(&self) -> u64 {
        self.0.connections_lost()
    }
}

impl Postgres for RecordedPostgres {
    async fn query(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        self.1.statement.replace(Some((statement.to_owned(), parameters.clone())));
        self.0.query(statement, parameters).await
    }
}
