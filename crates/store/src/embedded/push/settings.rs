//! What a user allows.

use crate::embedded::clock::Counters;
use crate::embedded::settings::mute;
use crate::embedded::{Embedded, transaction};
use crate::params;
use crate::sql::SqlError;
use crate::sqlite::Sqlite;
use im_domain::push::{PushSettings, PushSettingsChange};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result};

pub(in crate::embedded) fn settings<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    change: &PushSettingsChange,
) -> Result<PushSettings> {
    if *change != PushSettingsChange::default() {
        transaction::write(store, || carry_out(store, actor, change))?;
    }
    find(store, actor)
}

fn carry_out<P: Sqlite>(store: &Embedded<P>, actor: &Actor, change: &PushSettingsChange) -> Result<()> {
    const STATEMENT: &str = "
        INSERT INTO push (tenant, user, show_content) VALUES (?1, ?2, ?3)
        ON CONFLICT DO UPDATE SET show_content = excluded.show_content";
    if let Some(show_content) = change.show_content {
        let parameters = params![actor.tenant.as_str(), actor.user.as_str(), show_content];
        store.db.execute(STATEMENT, parameters)?;
    }
    match &change.muted {
        Some(muted) => replace_muted(store, actor, muted),
        None => Ok(()),
    }
}

/// Mutes these conversations of the user and no others.
fn replace_muted<P: Sqlite>(store: &Embedded<P>, actor: &Actor, muted: &[ConversationId]) -> Result<()> {
    let before = muted_now(store, actor)?;
    let after = of_user(store, actor, muted)?;
    let mut counters = Counters::load(store)?;
    for cid in before.iter().filter(|cid| !after.contains(cid)) {
        mute(store, &mut counters, *cid, &actor.user, false)?;
    }
    for cid in after.iter().filter(|cid| !before.contains(cid)) {
        mute(store, &mut counters, *cid, &actor.user, true)?;
    }
    Ok(counters.save(store)?)
}

type Cids = std::collections::BTreeSet<i64>;

fn muted_now<P: Sqlite>(store: &Embedded<P>, actor: &Actor) -> Result<Cids, SqlError> {
    const STATEMENT: &str = "SELECT cid FROM member WHERE tenant = ?1 AND user = ?2 AND muted = 1";
    let rows = store.db.execute(STATEMENT, params![actor.tenant.as_str(), actor.user.as_str()])?;
    rows.into_iter().map(|mut row| row.int()).collect()
}

/// The conversations of these names; `invalid` if the user is no member of one.
fn of_user<P: Sqlite>(store: &Embedded<P>, actor: &Actor, names: &[ConversationId]) -> Result<Cids> {
    const STATEMENT: &str = "
        SELECT j.value, m.cid FROM json_each(?3) j
        LEFT JOIN conversation c ON c.tenant = ?1 AND c.name = j.value
        LEFT JOIN member m ON m.cid = c.cid AND m.user = ?2";
    let names: serde_json::Value = names.iter().map(ConversationId::as_str).collect();
    let parameters = params![actor.tenant.as_str(), actor.user.as_str(), names.to_string()];
    let rows = store.db.execute(STATEMENT, parameters)?;
    let cid = |mut row: crate::sql::Row| {
        let name = row.text()?;
        let stranger = || Error::invalid("muted", format!("{name} is no conversation of the user"));
        row.opt_int()?.ok_or_else(stranger)
    };
    rows.into_iter().map(cid).collect()
}

fn find<P: Sqlite>(store: &Embedded<P>, actor: &Actor) -> Result<PushSettings> {
    const STATEMENT: &str = "
        SELECT coalesce((SELECT show_content FROM push WHERE tenant = ?1 AND user = ?2), 1), c.name
        FROM (SELECT 1) LEFT JOIN (
            SELECT c.name FROM member m JOIN conversation c ON c.cid = m.cid
            WHERE m.tenant = ?1 AND m.user = ?2 AND m.muted = 1) c
        ORDER BY c.name";
    let rows = store.db.execute(STATEMENT, params![actor.tenant.as_str(), actor.user.as_str()])?;
    let mut settings = PushSettings { show_content: true, muted: Vec::new() };
    for mut row in rows {
        settings.show_content = row.flag()?;
        settings.muted.extend(row.opt_text()?.map(ConversationId::parse).transpose()?);
    }
    Ok(settings)
}
