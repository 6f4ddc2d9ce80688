//! Ports that look at what passes: how much a call takes at once, and what comes between two calls.

use super::site::{Site, settings_on};
use im_store::native::{NativePostgres, NativeRedis};
use im_store::postgres::Postgres;
use im_store::redis::{Argument, Redis, RedisError};
use im_store::sql::{Row, SqlError, Value};
use im_store::tiered::HotDurability::Everysec;
use im_store::tiered::Tiered;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Called with each statement before it is run. It must not wait for anything on this thread.
type Before = Box<dyn Fn(&str)>;
/// The same of scripts, with how many keys each has.
type BeforeScript = Box<dyn Fn(usize)>;

#[derive(Default)]
pub struct Watch {
    /// Most keys of a script.
    pub keys_max: Cell<usize>,
    /// Most elements of an array that a statement took.
    pub array_max: Cell<usize>,
    /// Bytes of the longest text that a statement took.
    pub text_bytes_max: Cell<usize>,
    /// The last statement that holds this text, with its parameters.
    pub wanted: RefCell<String>,
    pub found: RefCell<Option<(String, Vec<Value>)>>,
    pub before: RefCell<Option<Before>>,
    pub before_script: RefCell<Option<BeforeScript>>,
}

fn raise(most: &Cell<usize>, found: usize) {
    most.set(most.get().max(found));
}

impl Watch {
    fn see(&self, statement: &str, parameters: &[Value]) {
        for parameter in parameters {
            match parameter {
                Value::Text(text) => raise(&self.text_bytes_max, text.len()),
                Value::Texts(texts) => raise(&self.array_max, texts.len()),
                Value::Integers(numbers) => raise(&self.array_max, numbers.len()),
                _ => {}
            }
        }
        let wanted = self.wanted.borrow();
        if !wanted.is_empty() && statement.contains(wanted.as_str()) {
            *self.found.borrow_mut() = Some((statement.to_owned(), parameters.to_vec()));
        }
        if let Some(before) = self.before.borrow().as_ref() {
            before(statement);
        }
    }
}

pub struct WatchedRedis(pub NativeRedis, pub Rc<Watch>);
pub struct WatchedPostgres(pub NativePostgres, pub Rc<Watch>);

impl Redis for WatchedRedis {
    async fn command(
        &self,
        name: &str,
        arguments: Vec<Argument>,
    ) -> Result<Vec<im_store::redis::Value>, RedisError> {
        if let ("EVALSHA" | "EVAL", Some(Argument::Integer(keys))) = (name, arguments.get(1)) {
            raise(&self.1.keys_max, *keys as usize);
            if let Some(before) = self.1.before_script.borrow().as_ref() {
                before(*keys as usize);
            }
        }
        self.0.command(name, arguments).await
    }

    fn connections_lost(&self) -> u64 {
        self.0.connections_lost()
    }
}

impl Postgres for WatchedPostgres {
    async fn query(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        self.1.see(statement, &parameters);
        self.0.query(statement, parameters).await
    }
}

pub type Watched = Tiered<WatchedRedis, WatchedPostgres>;

pub fn watched(site: &Site) -> (Watched, Rc<Watch>) {
    let watch = Rc::<Watch>::default();
    let settings = settings_on(&site.redis_urls(), &site.postgres_urls(), Everysec);
    let redis = |url: &String| WatchedRedis(NativeRedis::new(url).unwrap(), Rc::clone(&watch));
    let postgres = |url: &String| WatchedPostgres(NativePostgres::new(url).unwrap(), Rc::clone(&watch));
    let redis = site.redis_urls().iter().map(redis).collect();
    let postgres = site.postgres_urls().iter().map(postgres).collect();
    (Tiered::new(redis, postgres, settings).unwrap(), watch)
}
