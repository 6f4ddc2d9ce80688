//! Members come, go, and change their roles.

use super::keys::Place;
use super::tell::{Tale, tell};
use super::{Tiered, limits, read, script, unknown_word, view};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use im_domain::conversation::{Conversation, MemberChange};
use im_domain::limits::MEMBERS_MAX;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result};

pub(super) async fn change<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    conversation: &ConversationId,
    change: &MemberChange,
) -> Result<Conversation> {
    change.check()?;
    let place = Place::of(&actor.tenant, conversation);
    let mut arguments = arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        place.name.as_str(),
        actor.user.as_str(),
        actor.privileged,
        MEMBERS_MAX as u64,
        change.add.len() as u64,
        change.remove.len() as u64,
        change.roles.len() as u64,
        store.settings.index_members_max,
        store.here(place.partition),
        limits::INDEX_LIFE_S
    ];
    for user in change.add.iter().chain(&change.remove) {
        arguments.extend(arguments![user.as_str()]);
    }
    for (user, role) in &change.roles {
        arguments.extend(arguments![user.as_str(), role.number().unsigned_abs()]);
    }
    let keys = place.written();
    let (word, mut reply) = read::ask_hot(store, &place, &script::MEMBERS, &keys, &arguments).await?;
    if word != "ok" {
        return Err(refusal(&word, &mut reply));
    }
    tell(store, &place, &Tale::take(&mut reply)?).await?;
    view::after_change(store, actor, conversation).await
}

fn refusal(word: &str, reply: &mut Reply) -> Error {
    match word {
        "single" => Error::invalid("conversationId", "the members of a single chat do not change"),
        "roles" => Error::forbidden("only an owner changes roles"),
        "manage" => Error::forbidden("only an owner or an administrator changes members"),
        "owner" => Error::forbidden("only an owner removes an owner"),
        "no member" => {
            let user = reply.text().unwrap_or_default();
            Error::invalid("roles", format!("{user} is not a member"))
        }
        "full" => Error::invalid("add", format!("a conversation has at most {MEMBERS_MAX} members")),
        word => unknown_word("members", word),
    }
}
