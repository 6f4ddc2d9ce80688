//! Whom a push service has to wake.
//!
//! The drain tells the servers that have the users of the messages that SQL has ([`wake`]); a device that syncs ends
//! what waits ([`super::devices::seen`]). What waits is kept in Redis alone: a server that has lost it, or is
//! away when it is told, wakes its users with the next message. How much there is to be told is found out
//! when a user is given to a push service ([`due`]).

pub(super) mod deferred;
mod due;
mod lease;
mod preview;
mod standing;
mod talk;
pub(super) mod wake;

pub(super) use due::due;

use super::keys::UserPlace;
use super::{Tiered, list, script, user};
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::Value;
use crate::{arguments, params};
use im_domain::conversation::ConversationChange;
use im_domain::push::{PushSettings, PushSettingsChange};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result, Tenant, UserId};
use std::collections::{BTreeMap, BTreeSet};

/// A user's settings, changed as asked. Conversations are muted one by one: a call that fails in between is
/// repeated.
pub(super) async fn settings<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    change: &PushSettingsChange,
) -> Result<PushSettings> {
    let mut mine = muted(store, actor).await?;
    let wanted = change.muted.as_ref().map(|muted| muted.iter().collect::<BTreeSet<_>>());
    if let Some(stranger) = wanted.iter().flatten().find(|id| !mine.contains_key(**id)) {
        return Err(Error::invalid("muted", format!("{stranger} is not a conversation of the user")));
    }
    if let Some(show) = change.show_content {
        user::change(store, actor, user::Change::ShowContent(show)).await?;
    }
    for (id, is_muted) in &mut mine {
        let wanted = wanted.as_ref().map_or(*is_muted, |wanted| wanted.contains(id));
        if wanted != *is_muted {
            let change = ConversationChange { muted: Some(wanted), ..ConversationChange::default() };
            super::settings::update(store, actor, id, &change).await?;
            *is_muted = wanted;
        }
    }
    let show_content = match change.show_content {
        Some(show) => show,
        None => shows(store, actor).await?,
    };
    let muted = mine.into_iter().filter(|(_, is_muted)| *is_muted).map(|(id, _)| id).collect();
    Ok(PushSettings { show_content, muted })
}

/// The user's conversations, and whether each is muted.
async fn muted<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
) -> Result<BTreeMap<ConversationId, bool>> {
    let places = list::names(store, actor).await?;
    let asked = places.into_iter().map(|place| (place, actor.user.clone())).collect::<Vec<_>>();
    let standings = standing::all(store, &actor.tenant, &asked).await?;
    let mut found = BTreeMap::new();
    for ((place, _), standing) in asked.iter().zip(standings) {
        if let Some(standing) = standing {
            found.insert(ConversationId::parse(place.conversation())?, standing.muted);
        }
    }
    Ok(found)
}

/// Whether a push to the user may show what was said.
async fn shows<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: &Actor) -> Result<bool> {
    let place = UserPlace::of(&actor.tenant, &actor.user);
    let keys = [place.clock(), place.state()];
    let (_, mut reply) = store.ask(place.partition, &script::DEVICES, &keys, arguments![]).await?;
    match reply.text()?.as_str() {
        "" => {
            let database = store.home(place.partition).await?;
            Ok(!reticent(store, &actor.tenant, &[(database, &actor.user)]).await?.contains(&actor.user))
        }
        show => Ok(show == "1"),
    }
}

/// Those of some users, each with the database to ask, who as far as SQL knows allow no push to show what
/// was said.
async fn reticent<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    users: &[(usize, &UserId)],
) -> Result<BTreeSet<UserId>> {
    const STATEMENT: &str = "
        SELECT user_id FROM user_setting WHERE tenant = $1::text AND user_id = ANY ($2::text[])
            AND show_content = 0";
    let mut databases: BTreeMap<usize, Vec<Option<String>>> = BTreeMap::new();
    for (database, user) in users {
        databases.entry(*database).or_default().push(Some(user.to_string()));
    }
    let mut found = BTreeSet::new();
    for (database, users) in databases {
        let mut parameters = params![tenant.as_str()];
        parameters.push(Value::Texts(users));
        for mut row in store.database(database)?.query(STATEMENT, parameters).await? {
            found.insert(UserId::parse(row.text()?)?);
        }
    }
    Ok(found)
}
