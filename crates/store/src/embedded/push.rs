//! Whom a push service has to wake.

use super::Embedded;
use crate::sqlite::Sqlite;
use im_domain::push::{Due, PushSettings, PushSettingsChange};
use im_domain::storage::Actor;
use im_domain::{Error, Result, Tenant};

pub(super) fn settings<P: Sqlite>(
    _store: &Embedded<P>,
    _actor: &Actor,
    _change: &PushSettingsChange,
) -> Result<PushSettings> {
    Err(Error::internal("not made yet"))
}

pub(super) fn due<P: Sqlite>(
    _store: &Embedded<P>,
    _tenant: &Tenant,
    _limit: u32,
    _confirm: &[String],
) -> Result<Vec<Due>> {
    Err(Error::internal("not made yet"))
}
