//! Whom a push service has to wake.

use super::Tiered;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::push::{Due, PushSettings, PushSettingsChange};
use im_domain::storage::Actor;
use im_domain::{Error, Result, Tenant};

pub(super) async fn settings<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _actor: &Actor,
    _change: &PushSettingsChange,
) -> Result<PushSettings> {
    Err(Error::internal("not made yet"))
}

pub(super) async fn due<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _tenant: &Tenant,
    _limit: u32,
    _confirm: &[String],
) -> Result<Vec<Due>> {
    Err(Error::internal("not made yet"))
}
