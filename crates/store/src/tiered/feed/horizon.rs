//! Up to where SQL has everything.

use super::super::{Tiered, keys, script, stamp, topology, unknown_word};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::{Error, MsgId, Result};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct Horizon {
    pub stamp: MsgId,
    /// Partitions in whose logs a revision waits.
    pub unsettled: BTreeSet<u8>,
}

/// Asks every server, by one call each, and those that are behind the others by a second one: messages that a server has
/// given while its clock was ahead are told of at once, and not when the others have come there.
pub(super) async fn read<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<Horizon> {
    let mut stamps = BTreeMap::new();
    let mut unsettled = BTreeSet::new();
    for node in 0..store.nodes.len() {
        if let Some(stamp) = ask(store, node, 0, &mut unsettled).await? {
            stamps.insert(node, stamp);
        }
    }
    let furthest = stamps.values().max().map_or(0, |stamp| stamp::ms(*stamp));
    for (node, stamp) in stamps.iter_mut().filter(|(_, stamp)| stamp::ms(**stamp) < furthest) {
        *stamp = ask(store, *node, furthest, &mut unsettled).await?.unwrap_or_default();
    }
    Ok(Horizon { stamp: stamps.into_values().min().unwrap_or_default(), unsettled })
}

/// The horizon of a server that has partitions; `at_least`: to go as far as this, in milliseconds since the zero of ids, if it can.
async fn ask<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    node: usize,
    at_least: u64,
    unsettled: &mut BTreeSet<u8>,
) -> Result<Option<MsgId>> {
    let partitions = topology::partitions_of(node, store.nodes.len());
    if partitions.is_empty() {
        return Ok(None);
    }
    let keys: Vec<String> = partitions.iter().flat_map(|one| [keys::clock(*one), keys::log(*one)]).collect();
    let (word, mut reply) = store.ask_node(node, &script::HORIZON, &keys, arguments![at_least]).await?;
    if word != "ok" {
        return Err(unknown_word("horizon", &word));
    }
    let horizon = stamp::join(reply.number()?, reply.number()?);
    while reply.left() > 0 {
        let place = usize::try_from(reply.number()?).ok().and_then(|number| number.checked_sub(1));
        let partition = place.and_then(|place| partitions.get(place));
        unsettled.insert(*partition.ok_or_else(|| Error::internal("there is no such partition"))?);
    }
    Ok(Some(horizon))
}
