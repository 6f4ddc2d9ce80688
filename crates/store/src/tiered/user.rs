//! What is kept of a user beside conversations: devices, and what a push may show.

use super::keys::UserPlace;
use super::{Tiered, limits, script, unknown_word};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis};
use im_domain::storage::Actor;
use im_domain::{DeviceId, Result};

/// A change of what is kept of a user.
pub(super) enum Change<'a> {
    ForgetDevice(&'a DeviceId),
    ShowContent(bool),
}

/// Changes it in the hot store, and by way of the log in SQL.
pub(super) async fn change<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    change: Change<'_>,
) -> Result<()> {
    let place = UserPlace::of(&actor.tenant, &actor.user);
    let keys = [place.clock(), place.log(), place.state()];
    let (what, value) = match change {
        Change::ForgetDevice(device) => ("device", Argument::from(device.as_str())),
        Change::ShowContent(show) => ("show", Argument::from(show)),
    };
    let arguments = arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        place.name.as_str(),
        limits::INDEX_LIFE_S,
        what,
        value
    ];
    match store.ask(place.partition, &script::SET_USER, &keys, arguments).await?.0.as_str() {
        "ok" => Ok(()),
        word => Err(unknown_word("set_user", word)),
    }
}
