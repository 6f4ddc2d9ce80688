//! A user's devices: a sync makes one known, and ends what waits for a push of its user.

use super::clock::Counters;
use super::index::WIDE;
use super::{Embedded, transaction};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::device::Device;
use im_domain::limits::{DEVICE_SEEN_STEP_MS, DEVICES_MAX};
use im_domain::storage::Actor;
use im_domain::{DeviceId, Result};

/// Notes that a device syncs. What it is about to read must be read after this: what is said meanwhile
/// goes on waiting.
pub(super) fn seen<P: Sqlite>(store: &Embedded<P>, actor: &Actor, device: Option<&DeviceId>) -> Result<()> {
    match device {
        Some(device) if !is_noted(store, actor, device)? => {
            transaction::write(store, || note(store, actor, device))
        }
        _ => Ok(()),
    }
}

/// Whether the device was seen a moment ago, and nothing that could wait for a push was said since any
/// was. Wide conversations are looked up.
fn is_noted<P: Sqlite>(store: &Embedded<P>, actor: &Actor, device: &DeviceId) -> Result<bool> {
    let statement = format!(
        "WITH noted AS MATERIALIZED (
            SELECT d.last_seen, p.since_version FROM device d
            JOIN push p ON p.tenant = d.tenant AND p.user = d.user
            WHERE d.tenant = ?1 AND d.user = ?2 AND d.id = ?3)
        SELECT 1 FROM noted WHERE last_seen > ?4
            AND NOT EXISTS (SELECT 1 FROM member WHERE tenant = ?1 AND user = ?2
                AND recency > noted.since_version AND recency < {WIDE})
            AND NOT EXISTS (SELECT 1 FROM member m JOIN conversation c ON c.cid = m.cid
                WHERE m.tenant = ?1 AND m.user = ?2 AND m.recency = {WIDE}
                AND c.version > noted.since_version)"
    );
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        device.as_str(),
        i64::try_from(store.now_ms()).unwrap_or(i64::MAX) - DEVICE_SEEN_STEP_MS as i64,
    ];
    Ok(!store.db.execute(&statement, parameters)?.is_empty())
}

fn note<P: Sqlite>(store: &Embedded<P>, actor: &Actor, device: &DeviceId) -> Result<()> {
    const DEVICE: &str = "
        INSERT INTO device (tenant, user, id, last_seen) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO UPDATE SET last_seen = max(last_seen, excluded.last_seen)";
    const USER: &str = "
        INSERT INTO push (tenant, user, since, since_version, seen) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT DO UPDATE SET since = excluded.since, since_version = excluded.since_version,
            seen = max(seen, excluded.seen), messages = 0, oldest = NULL, look = NULL, lease = NULL";
    let (tenant, user, now_ms) = (actor.tenant.as_str(), actor.user.as_str(), store.now_ms());
    make_room(store, actor, device)?;
    store.db.execute(DEVICE, params![tenant, user, device.as_str(), now_ms])?;
    let counters = Counters::load(store)?;
    store.db.execute(USER, params![tenant, user, counters.moment(), counters.version, now_ms])?;
    Ok(())
}

/// Forgets the devices that were seen longest ago, so that there is room for this one.
fn make_room<P: Sqlite>(store: &Embedded<P>, actor: &Actor, device: &DeviceId) -> Result<()> {
    const STATEMENT: &str = "
        SELECT id FROM device WHERE tenant = ?1 AND user = ?2 AND id <> ?3
        ORDER BY last_seen DESC, id LIMIT -1 OFFSET ?4";
    let parameters =
        params![actor.tenant.as_str(), actor.user.as_str(), device.as_str(), DEVICES_MAX as u64 - 1];
    for mut row in store.db.execute(STATEMENT, parameters)? {
        forget(store, actor, &row.text()?)?;
    }
    Ok(())
}

pub(super) fn devices<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    device: Option<&DeviceId>,
) -> Result<Vec<Device>> {
    const STATEMENT: &str = "
        SELECT id, last_seen FROM device WHERE tenant = ?1 AND user = ?2
        ORDER BY last_seen DESC, id LIMIT ?3";
    if let Some(device) = device {
        transaction::write(store, || forget(store, actor, device.as_str()))?;
    }
    let parameters = params![actor.tenant.as_str(), actor.user.as_str(), DEVICES_MAX as u64];
    let rows = store.db.execute(STATEMENT, parameters)?;
    rows.into_iter()
        .map(|mut row| Ok(Device { id: DeviceId::parse(row.text()?)?, last_seen_ms: row.count()? }))
        .collect()
}

/// Also its positions go, in conversations that the user has left, too.
fn forget<P: Sqlite>(store: &Embedded<P>, actor: &Actor, device: &str) -> Result<()> {
    const POSITIONS: &str = "
        DELETE FROM position WHERE user = ?2 AND device = ?3 AND cid IN (
            SELECT cid FROM member WHERE tenant = ?1 AND user = ?2
            UNION ALL SELECT cid FROM departed WHERE tenant = ?1 AND user = ?2)";
    const ENTRY: &str = "DELETE FROM device WHERE tenant = ?1 AND user = ?2 AND id = ?3";
    for statement in [POSITIONS, ENTRY] {
        store.db.execute(statement, params![actor.tenant.as_str(), actor.user.as_str(), device])?;
    }
    Ok(())
}
