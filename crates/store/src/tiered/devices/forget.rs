//! Forgetting a device: its positions in all conversations go, and then it itself.
//!
//! Positions are in hot conversations, in SQL and in logs. A hot conversation is told that the device starts anew,
//! and its log, so that SQL follows in order; one that is not hot, of which SQL has a position, is made hot
//! first. Killed anywhere, forgetting is repeated safely, and the device is listed until it is done.

use super::super::keys::Place;
use super::super::warm::{Warmth, warm};
use super::super::{Tiered, index, limits, list, script, unknown_word, user};
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::{arguments, params};
use im_domain::storage::Actor;
use im_domain::{DeviceId, Error, Result};
use std::collections::BTreeMap;

pub(super) async fn forget<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    device: &DeviceId,
) -> Result<()> {
    let mut nodes: BTreeMap<usize, Vec<Followed>> = BTreeMap::new();
    for (place, in_sql) in followed(store, actor, device).await? {
        nodes.entry(store.node_of(place.partition)).or_default().push(Followed { place, in_sql });
    }
    for (node, all) in nodes {
        for part in all.chunks(limits::FORGET_CONVERSATIONS_MAX) {
            leave(store, actor, device, node, part).await?;
        }
    }
    user::change(store, actor, user::Change::ForgetDevice(device)).await
}

/// A conversation in which the device may have a position.
#[derive(Clone)]
struct Followed {
    place: Place,
    in_sql: bool,
}

/// Conversations of the user, and those left of which SQL has a position of the device.
async fn followed<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    device: &DeviceId,
) -> Result<BTreeMap<Place, bool>> {
    const STATEMENT: &str = "
        SELECT c.name FROM position p JOIN conversation c ON c.cid = p.cid
        WHERE p.user_id = $2::text AND p.device = $3::text AND c.tenant = $1::text";
    let names = list::names(store, actor).await?;
    let mut found: BTreeMap<Place, bool> = names.into_iter().map(|place| (place, false)).collect();
    index::every_partition_is_listed(store).await?;
    for database in &store.databases {
        let parameters = params![actor.tenant.as_str(), actor.user.as_str(), device.as_str()];
        for mut row in database.query(STATEMENT, parameters).await? {
            found.extend(
                Place::named(&format!("{}/{}", actor.tenant, row.text()?)).map(|place| (place, true)),
            );
        }
    }
    Ok(found)
}

/// Forgets the device in conversations of one server.
async fn leave<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    device: &DeviceId,
    node: usize,
    part: &[Followed],
) -> Result<()> {
    let mut part = part.to_vec();
    for _ in 0..limits::ATTEMPTS_MAX {
        let keys: Vec<String> = part.iter().flat_map(|followed| followed.place.written()).collect();
        let mut arguments = arguments![store.settings.backlog_max, actor.user.as_str(), device.as_str()];
        for Followed { place, in_sql } in &part {
            arguments.extend(arguments![u64::from(place.partition), place.name.as_str(), *in_sql]);
        }
        let (word, mut reply) = store.ask_node(node, &script::FORGET, &keys, arguments).await?;
        if word != "ok" {
            return Err(unknown_word("forget", &word));
        }
        let mut cold = Vec::new();
        for followed in part {
            if reply.number()? > 0 {
                // One that is missing from SQL has no positions.
                if matches!(warm(store, &followed.place).await?, Warmth::Hot) {
                    cold.push(Followed { in_sql: true, ..followed });
                }
            }
        }
        if cold.is_empty() {
            return Ok(());
        }
        part = cold;
    }
    Err(Error::internal("a conversation was made hot again and again"))
}
