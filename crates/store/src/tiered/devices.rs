//! A user's devices: when each last synced.
//!
//! Every sync is noted in Redis, in the user's own state; SQL is told by way of the log, of a new device at once
//! and of others once in a while ([`limits::DEVICE_NOTED_STEP_MS`]).

mod forget;

use super::keys::{self, UserPlace};
use super::{Tiered, limits, script, unknown_word};
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use crate::{arguments, params};
use im_domain::device::Device;
use im_domain::limits::{DEVICE_SEEN_STEP_MS, DEVICES_MAX};
use im_domain::storage::Actor;
use im_domain::{DeviceId, Error, Result};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Notes that a device has synced, which ends what waits for a push of its user.
pub(super) async fn seen<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    device: Option<&DeviceId>,
) -> Result<()> {
    let Some(device) = device else { return Ok(()) };
    let place = UserPlace::of(&actor.tenant, &actor.user);
    let keys = [place.clock(), place.log(), place.state(), place.waiting(), keys::due(actor.tenant.as_str())];
    let arguments = arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        place.name.as_str(),
        device.as_str(),
        keys::due_member(place.partition, &actor.user),
        DEVICE_SEEN_STEP_MS,
        limits::DEVICE_NOTED_STEP_MS,
        DEVICES_MAX as u64,
        limits::INDEX_LIFE_S
    ];
    let (word, mut reply) = store.ask(place.partition, &script::TOUCH, &keys, arguments).await?;
    if word != "ok" {
        return Err(unknown_word("touch", &word));
    }
    match reply.text()? {
        none if none.is_empty() => Ok(()),
        device => make_room(store, actor, &DeviceId::parse(device)?).await,
    }
}

/// Forgets a device that is one too many; where that cannot be done now, it is with a later sync.
async fn make_room<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    device: &DeviceId,
) -> Result<()> {
    match Box::pin(forget::forget(store, actor, device)).await {
        Err(Error::SqlUnavailable { .. } | Error::Overloaded { .. }) => Ok(()),
        forgotten => forgotten,
    }
}

/// The user's devices, the one seen last first; `forget` is none any more.
pub(super) async fn devices<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    forget: Option<&DeviceId>,
) -> Result<Vec<Device>> {
    if let Some(device) = forget {
        forget::forget(store, actor, device).await?;
    }
    let place = UserPlace::of(&actor.tenant, &actor.user);
    // SQL first: what leaves the log meanwhile is then in one of the two.
    let mut seen = in_sql(store, actor, &place).await?;
    let keys = [place.clock(), place.state()];
    let (_, mut reply) = store.ask(place.partition, &script::DEVICES, &keys, arguments![]).await?;
    reply.text()?;
    for (device, last_seen_ms) in hot(&mut reply)? {
        let known = seen.entry(device).or_default();
        // SQL may still have one that was forgotten.
        *known = if last_seen_ms == 0 { 0 } else { last_seen_ms.max(*known) };
    }
    let mut devices = seen
        .into_iter()
        .filter(|(_, last_seen_ms)| *last_seen_ms > 0)
        .map(|(id, last_seen_ms)| Ok(Device { id: DeviceId::parse(id)?, last_seen_ms }))
        .collect::<Result<Vec<_>>>()?;
    devices.sort_by_key(|device| Reverse(device.last_seen_ms));
    devices.truncate(DEVICES_MAX);
    Ok(devices)
}

fn hot(reply: &mut Reply) -> Result<Vec<(String, u64)>> {
    let mut found = Vec::with_capacity(reply.left() / 2);
    while reply.left() > 0 {
        found.push((reply.text()?, reply.number()?));
    }
    Ok(found)
}

async fn in_sql<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &UserPlace,
) -> Result<BTreeMap<String, u64>> {
    const STATEMENT: &str = "
        SELECT device, last_seen FROM device WHERE tenant = $1::text AND user_id = $2::text";
    let parameters = params![actor.tenant.as_str(), actor.user.as_str()];
    let rows = store.sql(place.partition).await?.query(STATEMENT, parameters).await?;
    rows.into_iter().map(|mut row| Ok((row.text()?, row.count()?))).collect()
}
