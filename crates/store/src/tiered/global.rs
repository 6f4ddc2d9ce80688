//! What has changed for a user over all conversations.
//!
//! The index says in which conversations something has changed; those with too many members to tell each
//! are looked up. How they stand is asked afterwards, so it is at least as new as what was noted, and
//! the cursor goes no further than what was noted.

mod walk;

use super::keys::{Place, partition_of_user};
use super::standing::{Standing, standing};
use super::warm::warm;
use super::{Tiered, index};
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::global::{Changes, GlobalCursor};
use im_domain::page::Reset;
use im_domain::storage::Actor;
use im_domain::{MsgId, Result};
use std::collections::HashMap;
use walk::{Taken, Walk};

pub(super) async fn changes<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    cursor: Option<&GlobalCursor>,
    limit: u32,
) -> Result<Changes> {
    let limit = limit as usize;
    let noted = index::changes(store, actor, cursor, limit + 1).await?;
    let cursor = cursor.filter(|_| noted.reset.is_none());
    let mut walk = Walk::new(store.nodes.len(), &noted, cursor, limit);
    walk.take_noted(&noted);
    let mut places: Vec<Place> = walk.taken.iter().map(|taken| taken.place.clone()).collect();
    if !walk.has_more {
        places.extend(noted.looked_up.iter().cloned());
    }
    places.sort_unstable();
    places.dedup();
    let mut found = standing(store, actor, &places).await?;
    if !walk.has_more {
        make_hot(store, actor, &noted.looked_up, &mut found).await?;
        walk.take_looked_up(&noted, &found, |place| store.node_of(place.partition));
    }
    let own = store.node_of(partition_of_user(&actor.tenant, &actor.user));
    let describe = |taken: &Taken| {
        let node = store.node_of(taken.place.partition);
        taken.describe(&found, walk.known_before(node, node == own))
    };
    let changed = walk.taken.iter().filter_map(describe).collect::<Result<_>>()?;
    Ok(Changes {
        changed,
        has_more: walk.has_more,
        reset: noted.reset.map(|reason| Reset { reason, oldest: MsgId::NONE }),
        cursor: walk.cursor(noted.epoch).to_string(),
    })
}

/// Makes conversations hot that are to be looked up: what has changed in them is known of hot ones alone.
async fn make_hot<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    looked_up: &[Place],
    found: &mut HashMap<String, Standing>,
) -> Result<()> {
    let is_cold = |place: &&Place| found.get(&place.name).is_some_and(|one| one.is_cold);
    let cold: Vec<Place> = looked_up.iter().filter(is_cold).cloned().collect();
    if cold.is_empty() {
        return Ok(());
    }
    for place in &cold {
        warm(store, place).await?;
    }
    // All of them: the cursor moves to the latest.
    found.extend(standing(store, actor, looked_up).await?);
    Ok(())
}
