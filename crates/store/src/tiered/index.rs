//! The index of a user: which conversations the user has, and when something changed in each.
//!
//! Scripts keep it as they write (see prelude.lua). It is complete from the moment on at which it was made
//! from SQL under the server's present run; who asks for less is told to begin anew.

use super::keys::{self, Place, partition_of_user};
use super::standing::standing;
use super::version::version_of;
use super::{Tiered, layout, limits, script, unknown_word};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use im_domain::global::GlobalCursor;
use im_domain::page::ResetReason;
use im_domain::partition::PARTITIONS;
use im_domain::storage::Actor;
use im_domain::{Error, Result};

/// What an index holds.
pub(super) struct Contents {
    /// Conversations with too many members to tell each of every message.
    pub looked_up: Vec<Place>,
    /// The others, newest first, with the number of the change with which something was said last.
    pub numbered: Vec<(Place, u64)>,
}

impl Contents {
    pub fn places(self) -> Vec<Place> {
        self.looked_up.into_iter().chain(self.numbered.into_iter().map(|(place, _)| place)).collect()
    }
}

/// The conversations of a user: all that are looked up, and of the others those with a number of at most
/// `up_to`, about `limit` of them, and one more at least if there are more.
pub(super) async fn contents<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    up_to: Option<u64>,
    limit: Option<usize>,
) -> Result<Contents> {
    // Entries of the same number as the one before which to go on may stand before it.
    const SAME_NUMBER: usize = 8;
    let up_to = up_to.map_or_else(|| "(+inf".to_owned(), |number| number.to_string());
    let count = limit.map_or_else(|| "-1".to_owned(), |limit| (limit + SAME_NUMBER).to_string());
    let mut reply = ask(store, actor, &script::CONTENTS, arguments![up_to, count]).await?;
    let looked_up = names(actor, &mut reply)?;
    let mut numbered = Vec::new();
    while reply.left() > 0 {
        let (place, number) = (place(actor, &reply.text()?), reply.number()?);
        numbered.extend(place.map(|place| (place, number)));
    }
    Ok(Contents { looked_up, numbered })
}

/// Conversations in which something else than what was said has changed; the user may have left them.
pub(super) async fn left<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: &Actor) -> Result<Vec<Place>> {
    let [_, other] = keys::index(&actor.tenant, &actor.user);
    let node = store.node_of(partition_of_user(&actor.tenant, &actor.user));
    let mut reply = script::LEFT.run(&store.node(node)?.redis, &[other], &[]).await?;
    reply.text()?;
    let mut places = Vec::with_capacity(reply.left());
    while reply.left() > 0 {
        places.extend(place(actor, &reply.text()?));
    }
    Ok(places)
}

/// What has changed, as the index says.
pub(super) struct Noted {
    pub epoch: String,
    /// Why the cursor is no good; then everything is named, from the start.
    pub reset: Option<ResetReason>,
    /// Number of the last change of the index's server.
    pub last: u64,
    pub looked_up: Vec<Place>,
    /// Oldest first for each kind.
    pub changes: Vec<NotedChange>,
}

pub(super) struct NotedChange {
    pub place: Place,
    pub number: u64,
    /// Something was said; otherwise something else has changed.
    pub is_said: bool,
}

/// What has changed since a cursor; of each kind at least `limit` if there are as many.
pub(super) async fn changes<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    cursor: Option<&GlobalCursor>,
    limit: usize,
) -> Result<Noted> {
    let epoch = cursor.map_or("", |cursor| cursor.epoch.as_str());
    let said = cursor.map_or(0, |cursor| cursor.known.noted);
    let other = cursor.and_then(|cursor| cursor.walk.as_ref()).map_or(said, |walk| said.max(walk.last));
    let arguments = arguments![epoch, said, other, limit as u64];
    let mut reply = ask(store, actor, &script::CHANGES, arguments).await?;
    let epoch = reply.text()?;
    let reset = match reply.text()?.as_str() {
        "epoch" => Some(ResetReason::EpochChanged),
        "expired" => Some(ResetReason::Expired),
        "ahead" => Some(ResetReason::PositionAhead),
        _ => None,
    };
    let last = reply.number()?;
    let looked_up = names(actor, &mut reply)?;
    let mut changes = Vec::new();
    while reply.left() > 0 {
        let is_said = reply.text()? == "s";
        let (place, number) = (place(actor, &reply.text()?), reply.number()?);
        changes.extend(place.map(|place| NotedChange { place, number, is_said }));
    }
    Ok(Noted { epoch, reset, last, looked_up, changes })
}

fn place(actor: &Actor, conversation: &str) -> Option<Place> {
    Place::named(&format!("{}/{conversation}", actor.tenant))
}

/// Names after their number.
fn names(actor: &Actor, reply: &mut Reply) -> Result<Vec<Place>> {
    let count = reply.number()?;
    let mut places = Vec::new();
    for _ in 0..count {
        places.extend(place(actor, &reply.text()?));
    }
    Ok(places)
}

/// Asks a script about a user's index; one that is not complete is made so first.
async fn ask<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    script: &script::Script,
    more: Vec<Argument>,
) -> Result<Reply> {
    let partition = partition_of_user(&actor.tenant, &actor.user);
    let [said, other] = keys::index(&actor.tenant, &actor.user);
    let keys = [said, other, keys::clock(partition)];
    let node = store.node_of(partition);
    for _ in 0..limits::ATTEMPTS_MAX {
        let mut arguments = arguments![limits::INDEX_LIFE_S];
        arguments.extend(more.iter().cloned());
        let (word, reply) = store.ask_node(node, script, &keys, arguments).await?;
        match word.as_str() {
            "incomplete" => complete(store, actor, node, &keys).await?,
            "ok" => return Ok(reply),
            word => return Err(unknown_word("of an index", word)),
        }
    }
    Err(Error::internal("a user's index was made complete again and again"))
}

/// Makes a user's index complete: what SQL knows goes in first, so that from then on whatever is said is
/// noted; then how the conversations stand now orders them.
async fn complete<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    node: usize,
    keys: &[String],
) -> Result<()> {
    const STATEMENT: &str = "
        SELECT c.name, greatest(c.shown_msg_id, c.cid), c.member_count
        FROM member m JOIN conversation c ON c.cid = m.cid
        WHERE m.tenant = $1::text AND m.user_id = $2::text";
    every_partition_is_listed(store).await?;
    let run = store.run(node).await?;
    let keys = keys.get(..2).unwrap_or_default();
    let redis = &store.node(node)?.redis;
    let mut places = Vec::new();
    let mut arguments: Vec<Argument> = arguments![limits::INDEX_LIFE_S, run.as_str(), false];
    for database in &store.databases {
        let parameters = crate::params![actor.tenant.as_str(), actor.user.as_str()];
        for mut row in database.query(STATEMENT, parameters).await? {
            let (name, newest, members) = (row.text()?, row.msg_id()?, row.count()?);
            arguments.extend(entry(&name, version_of(newest), members > store.settings.index_members_max));
            places.extend(place(actor, &name));
        }
    }
    script::INDEX.run(redis, keys, &arguments).await?;
    let mut arguments: Vec<Argument> = arguments![limits::INDEX_LIFE_S, run.as_str(), true];
    for standing in standing(store, actor, &places).await?.values() {
        let conversation = &standing.conversation;
        let is_wide = conversation.member_count > store.settings.index_members_max;
        arguments.extend(entry(conversation.id.as_str(), standing.placed, is_wide));
    }
    script::INDEX.run(redis, keys, &arguments).await?;
    Ok(())
}

fn entry(name: &str, number: u64, is_wide: bool) -> Vec<Argument> {
    arguments![name, if is_wide { "+inf".to_owned() } else { number.to_string() }]
}

/// While databases are added or removed, a shorter list may miss some that have partitions.
pub(super) async fn every_partition_is_listed<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    const STATEMENT: &str = "SELECT count(*) FROM partition_state WHERE home = 1";
    if layout::is_longest(store).await? {
        return Ok(());
    }
    let mut listed = 0;
    for database in &store.databases {
        listed +=
            database.query(STATEMENT, Vec::new()).await?.first_mut().map_or(Ok(0), |row| row.count())?;
    }
    match listed >= PARTITIONS as u64 {
        true => Ok(()),
        false => Err(Error::internal("partitions are in databases that the list does not have")),
    }
}
