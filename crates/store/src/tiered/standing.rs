//! How conversations stand for one of their members: many at once, from the servers that have them and from
//! SQL.

use super::keys::Place;
use super::view::{Facts, State, Versions, View, cold, complete};
use super::{Tiered, limits, persist};
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::conversation::Conversation;
use im_domain::global::LookedUp;
use im_domain::storage::Actor;
use im_domain::{ConversationId, MsgId, Result};
use std::collections::{BTreeMap, HashMap};

pub(super) struct Standing {
    pub conversation: Conversation,
    /// The newest message; none: there is none.
    pub head: MsgId,
    /// Number by which it stands in lists.
    pub placed: u64,
    pub versions: Versions,
    /// It is not hot: its versions are not known.
    pub is_cold: bool,
    /// Number of the last change of the member's read position, and of the member's own settings.
    pub read_version: u64,
    pub set_version: u64,
    /// Number of the change with which the member last hid something.
    pub hidden_version: u64,
    /// Of a conversation that is hot: up to this number no change of any that its server was asked about is missing.
    pub seen_up_to: LookedUp,
}

/// The conversations, by name; those that the user is no member of are left out. However many there are, each server
/// is asked about [`limits::VIEWS_PER_CALL_MAX`] at a time: see [`Standing::seen_up_to`].
pub(super) async fn standing<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    places: &[Place],
) -> Result<HashMap<String, Standing>> {
    let mut found = HashMap::with_capacity(places.len());
    let mut is_cold: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut seen: BTreeMap<usize, LookedUp> = BTreeMap::new();
    for (node, places) in parts(store, places) {
        let (last_change, views) = View::all(store, node, &places, Some(actor)).await?;
        let seen_up_to = *seen.entry(node).or_insert(last_change);
        for (place, mut view) in places.into_iter().zip(views) {
            complete(store, &place, &actor.user, &mut view).await?;
            if view.state == State::Untrusted {
                persist::reach_now(store, place.partition).await?;
            }
            match view.facts() {
                Some(facts) => {
                    let id = ConversationId::parse(place.conversation())?;
                    let standing = Standing::of(actor, &view, facts, id, seen_up_to)?;
                    found.extend(standing.map(|one| (place.name.clone(), one)));
                }
                None => {
                    let database = store.home(place.partition).await?;
                    is_cold.entry(database).or_default().push(place.conversation().to_owned());
                }
            }
        }
    }
    for (database, names) in is_cold {
        for part in names.chunks(limits::VIEWS_PER_CALL_MAX) {
            for (id, view) in cold(store, database, actor, part.to_vec()).await? {
                let Some(facts) = view.facts() else { continue };
                let name = format!("{}/{id}", actor.tenant);
                found.extend(
                    Standing::of(actor, &view, facts, id, LookedUp::default())?.map(|one| (name, one)),
                );
            }
        }
    }
    Ok(found)
}

impl Standing {
    fn of(
        actor: &Actor,
        view: &View,
        facts: &Facts,
        id: ConversationId,
        seen_up_to: LookedUp,
    ) -> Result<Option<Self>> {
        let Some(member) = &facts.member else { return Ok(None) };
        Ok(Some(Self {
            conversation: facts.conversation(actor, id, &view.epoch)?,
            head: facts.head(),
            placed: facts.placed,
            versions: facts.versions,
            is_cold: view.state != State::Hot,
            read_version: member.read_version,
            set_version: member.set_version,
            hidden_version: member.hidden_version,
            seen_up_to,
        }))
    }
}

/// The conversations of each server, as many at a time as one call asks about.
fn parts<R: Redis, P: Postgres>(store: &Tiered<R, P>, places: &[Place]) -> Vec<(usize, Vec<Place>)> {
    let mut groups: BTreeMap<usize, Vec<Place>> = BTreeMap::new();
    for place in places {
        groups.entry(store.node_of(place.partition)).or_default().push(place.clone());
    }
    let parts = |(node, places): (usize, Vec<Place>)| {
        let parts = places.chunks(limits::VIEWS_PER_CALL_MAX).map(|part| (node, part.to_vec()));
        parts.collect::<Vec<_>>()
    };
    groups.into_iter().flat_map(parts).collect()
}
