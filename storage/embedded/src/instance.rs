//! What one instance of the component keeps between requests: the engine with its connection.

use crate::sqlite::SpinSqlite;
use im_contract::surroundings::{now_ms, random};
use im_domain::limits::INDEX_MEMBERS_MAX;
use im_domain::push::PushRules;
use im_domain::retention::RetentionRules;
use im_domain::revision::RevisionRules;
use im_domain::tier::TierRules;
use im_domain::{Error, Result};
use im_store::embedded::{Embedded, Environment};
use spin_sdk::variables;
use std::cell::RefCell;
use std::rc::Rc;

type Engine = Embedded<SpinSqlite>;

thread_local! {
    static ENGINE: RefCell<Option<Rc<Engine>>> = const { RefCell::new(None) };
}

/// Runs `call` on the instance's engine.
pub async fn with_engine<T>(call: impl AsyncFnOnce(Rc<Engine>) -> Result<T>) -> Result<T> {
    let outcome = match engine().await {
        Ok(engine) => call(engine).await,
        Err(error) => Err(error),
    };
    forget_after(&outcome);
    outcome
}

/// The instance's engine; opened by its first request. Several may open at once: the last wins, and
/// the others close when their requests end.
async fn engine() -> Result<Rc<Engine>> {
    if let Some(engine) = ENGINE.with_borrow(Clone::clone) {
        return Ok(engine);
    }
    let environment = Environment {
        now_ms: Box::new(now_ms),
        random: Box::new(random),
        retention: RetentionRules::parse(&get("retention_ms").await?, &get("legal_hold").await?)?,
        push: push_rules().await?,
        revision: RevisionRules::parse(&get("recall_ms").await?, &get("edit_ms").await?)?,
        tier: TierRules::parse(&get("tier_after_ms").await?, &get("tier_window").await?)?,
        index_members_max: INDEX_MEMBERS_MAX,
    };
    let engine = Rc::new(Embedded::open(SpinSqlite::open()?, environment)?);
    ENGINE.set(Some(Rc::clone(&engine)));
    Ok(engine)
}

/// After a call that failed for the database's sake the next one opens a new connection.
fn forget_after<T>(outcome: &Result<T>) {
    if matches!(outcome, Err(Error::SqlUnavailable { .. } | Error::Internal { .. })) {
        ENGINE.set(None);
    }
}

async fn push_rules() -> Result<PushRules> {
    PushRules::parse(
        &get("push_messages").await?,
        &get("push_wait_ms").await?,
        &get("push_offline_ms").await?,
    )
}

async fn get(name: &str) -> Result<String> {
    let value = variables::get(name).await;
    value.map_err(|error| Error::internal(format!("variable {name}: {error:?}")))
}
