//! Settings of a conversation, and of a member in it.

use super::keys::Place;
use super::tell::{Tale, tell};
use super::{Tiered, limits, read, script, unknown_word, view};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::conversation::{Conversation, ConversationChange};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result};

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
        limits::INDEX_LIFE_S
    ];
    let keys = place.written();
    let (word, mut reply) = read::ask_hot(store, &place, &script::UPDATE, &keys, &arguments).await?;
    match word.as_str() {
        "ok" => tell(store, &place, &Tale::take(&mut reply)?).await?,
        "single" => {
            return Err(Error::invalid("history", "both members of a single chat see everything"));
        }
        "manage" => {
            return Err(Error::forbidden_value("history", "only an owner or an administrator changes it"));
        }
        word => return Err(unknown_word("update", word)),
    }
    view::after_change(store, actor, conversation).await
}
