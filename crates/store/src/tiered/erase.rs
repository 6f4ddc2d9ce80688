//! Erasing a user.
//!
//! First SQL gets everything that was acknowledged, and what the user has said goes from the dead letters. Then, by way of
//! the log, which keeps the order and moves with a partition, it goes from SQL; and what is hot of a conversation is let
//! go of, so that it is made hot again from what SQL has. Killed anywhere, a part is repeated safely.

mod letters;

use super::feed::{self, Feed};
use super::keys::{self, Place, UserPlace};
use super::{Tiered, audit, export, limits, overloaded, persist, read, script, stamp, unknown_word};
use crate::audit::Deed;
use crate::erase::{Eraser, Erasure, Outcome, may_erase};
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::{arguments, params};
use im_domain::erase::Erased;
use im_domain::export::ExportCursor;
use im_domain::storage::Actor;
use im_domain::{MsgId, Result, UserId};

/// That it was asked is on disk before anything goes.
pub(super) async fn erase<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    user: &UserId,
    cursor: ExportCursor,
) -> Result<Erased> {
    may_erase(actor, &super::retention::of(store, &actor.tenant))?;
    let partition = UserPlace::of(&actor.tenant, user).partition;
    audit::note(store, actor, partition, Deed::erasure_of(user)).await?;
    let mut held = Vec::new();
    if cursor == ExportCursor::START {
        export::reach_all(store).await?;
        held = letters::disown(store, &actor.tenant, user).await?;
    }
    let feed = feed::read(store, &actor.tenant).await?;
    let mut erased = crate::erase::part(&feed, &actor.user, user, cursor).await?;
    erased.held.extend(held);
    erased.held.sort_unstable();
    erased.held.dedup();
    Ok(erased)
}

impl<R: Redis, P: Postgres> Eraser for Feed<'_, R, P> {
    async fn erase(&self, erasure: &Erasure<'_>) -> Result<Outcome> {
        let place = Place::of(self.tenant, &erasure.kept.name);
        if log(self.store, &place, erasure).await? == Outcome::Held {
            return Ok(Outcome::Held);
        }
        let markers = erasure
            .sent
            .iter()
            .map(|sent| place.marker(erasure.user.as_str(), &sent.client_msg_id))
            .collect();
        drop_hot(self.store, &place, markers).await?;
        Ok(Outcome::Erased)
    }

    async fn forget(&self, user: &UserId) -> Result<()> {
        let place = UserPlace::of(self.tenant, user);
        let mut keys =
            vec![place.clock(), place.log(), place.state(), place.waiting(), keys::due(self.tenant.as_str())];
        keys.extend(keys::index(self.tenant, user));
        let arguments = arguments![
            u64::from(place.partition),
            self.store.settings.backlog_max,
            place.name.as_str(),
            keys::due_member(place.partition, user)
        ];
        match self.store.ask(place.partition, &script::ERASE_USER, &keys, arguments).await?.0.as_str() {
            "ok" => persist::reach_now(self.store, place.partition).await,
            word => Err(unknown_word("erase_user", word)),
        }
    }
}

/// Adds it to the log of the conversation's partition. Whether it is held is seen where a hold counts from the moment it
/// is set: the conversation is made hot for that.
async fn log<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    erasure: &Erasure<'_>,
) -> Result<Outcome> {
    let lines: String = erasure.sent.iter().map(|sent| format!("{}\n", stamp::text(sent.msg_id))).collect();
    let arguments = arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        place.name.as_str(),
        erasure.user.as_str(),
        erasure.by.as_str(),
        erasure.leaves,
        lines
    ];
    match read::ask_hot(store, place, &script::ERASE, &place.written(), &arguments).await?.0.as_str() {
        "ok" => Ok(Outcome::Erased),
        "held" => Ok(Outcome::Held),
        word => Err(unknown_word("erase", word)),
    }
}

/// Waits until SQL has the log, and lets go of what is hot of a conversation. Where others write all the time it may
/// have to be tried again.
async fn drop_hot<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    markers: Vec<String>,
) -> Result<()> {
    let mut keys = vec![place.clock()];
    keys.extend(place.state());
    keys.extend(markers);
    for _ in 0..limits::ATTEMPTS_MAX {
        persist::reach_now(store, place.partition).await?;
        let up_to = persisted(store, place.partition).await?;
        let (word, _) =
            store.ask(place.partition, &script::DROP, &keys, arguments![stamp::text(up_to)]).await?;
        match word.as_str() {
            "ok" => return Ok(()),
            "busy" => {}
            word => return Err(unknown_word("drop", word)),
        }
    }
    Err(overloaded())
}

/// Up to which stamp SQL has a partition's log.
async fn persisted<R: Redis, P: Postgres>(store: &Tiered<R, P>, partition: u8) -> Result<MsgId> {
    const STATEMENT: &str = "SELECT clock FROM partition_state WHERE partition = $1::bigint AND home = 1";
    let mut rows = store.sql(partition).await?.query(STATEMENT, params![u64::from(partition)]).await?;
    Ok(rows.first_mut().ok_or_else(overloaded)?.msg_id()?)
}
