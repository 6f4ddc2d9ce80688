//! What one instance of the component keeps between requests: the engine with its connections.

use crate::postgres::SpinPostgres;
use crate::redis::SpinRedis;
use crate::variables;
use im_contract::surroundings::{now_ms, random};
use im_domain::{Error, Result};
use im_store::tiered::{Pause, Tiered};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

type Engine = Tiered<SpinRedis, SpinPostgres>;

thread_local! {
    static ENGINE: RefCell<Option<Rc<Engine>>> = const { RefCell::new(None) };
}

/// Runs `call` on the instance's engine.
pub async fn with_engine<T>(call: impl AsyncFnOnce(Rc<Engine>) -> Result<T>) -> Result<T> {
    let engine = engine().await?;
    let outcome = call(Rc::clone(&engine)).await;
    forget_after(&outcome, &engine);
    outcome
}

/// The instance's engine; made by its first request, and connected to nothing yet. When several make
/// one at once, all use the first.
async fn engine() -> Result<Rc<Engine>> {
    if let Some(engine) = ENGINE.with_borrow(Clone::clone) {
        return Ok(engine);
    }
    let made = make().await?;
    Ok(ENGINE.with_borrow_mut(|kept| Rc::clone(kept.get_or_insert_with(|| Rc::new(made)))))
}

async fn make() -> Result<Engine> {
    let config = variables::config().await?;
    let redis = config.redis.iter().cloned().map(SpinRedis::new).collect();
    let postgres = config.postgres.iter().cloned().map(SpinPostgres::new).collect();
    let pause = |ms| -> Pause { Box::pin(spin_sdk::time::sleep(Duration::from_millis(ms))) };
    Tiered::new(redis, postgres, config.settings(Box::new(now_ms), Box::new(random), Box::new(pause)))
}

/// After a fault of the store the next request begins anew.
fn forget_after<T>(outcome: &Result<T>, engine: &Rc<Engine>) {
    if matches!(outcome, Err(Error::Internal { .. })) {
        ENGINE.with_borrow_mut(|kept| kept.take_if(|kept| Rc::ptr_eq(kept, engine)));
    }
}
