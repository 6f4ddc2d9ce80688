//! Settings of a conversation, and of a member in it.

use super::keys::Place;
use super::tell::{Tale, tell};
use super::{Tiered, limits, persist, read, script, unknown_word, view};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::conversation::{Conversation, ConversationChange, SettingsRefusal};
use im_domain::retention::KeepFor;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Result};

pub(super) async fn update<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    conversation: &ConversationId,
    change: &ConversationChange,
) -> Result<Conversation> {
    change.check()?;
    let place = Place::of(&actor.tenant, conversation);
    let arguments = arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        place.name.as_str(),
        actor.user.as_str(),
        actor.privileged,
        change.muted.map_or("", |muted| if muted { "1" } else { "0" }),
        change.history.map(|history| history.number().to_string()).unwrap_or_default(),
        store.settings.index_members_max,
        store.here(place.partition),
        limits::INDEX_LIFE_S,
        change.keep_for.map_or_else(String::new, keep),
        change.legal_hold.map_or("", |held| if held { "1" } else { "0" })
    ];
    let keys = place.written();
    let (word, mut reply) = read::ask_hot(store, &place, &script::UPDATE, &keys, &arguments).await?;
    match word.as_str() {
        "ok" => tell(store, &place, &Tale::take(&mut reply)?).await?,
        "single" => return Err(SettingsRefusal::SingleHistory.into()),
        "manage" => return Err(SettingsRefusal::History.into()),
        "hold" => return Err(SettingsRefusal::Hold.into()),
        "keep" => return Err(SettingsRefusal::Retention.into()),
        word => return Err(unknown_word("update", word)),
    }
    if change.legal_hold.is_some() {
        // What is told to be held is purged no more, and stands in the audit: SQL has to know.
        persist::reach_now(store, place.partition).await?;
    }
    view::after_change(store, actor, conversation).await
}

/// As `update.lua` takes it.
fn keep(keep_for: KeepFor) -> String {
    keep_for.ms().map_or_else(|| "-".to_owned(), |ms| ms.to_string())
}
