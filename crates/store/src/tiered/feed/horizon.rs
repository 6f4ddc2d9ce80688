//! Up to where SQL has everything.

use super::super::{Tiered, keys, script, stamp, topology, unknown_word};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::{Error, MsgId, Result};
use std::collections::BTreeSet;

pub(super) struct Horizon {
    pub stamp: MsgId,
    /// Partitions in whose logs a revision waits.
    pub unsettled: BTreeSet<u8>,
}

/// Asks every server, by one call each.
pub(super) async fn read<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<Horizon> {
    let mut horizon = Horizon { stamp: MsgId::MAX, unsettled: BTreeSet::new() };
    for node in 0..store.nodes.len() {
        let partitions = topology::partitions_of(node, store.nodes.len());
        if partitions.is_empty() {
            continue;
        }
        let keys: Vec<String> =
            partitions.iter().flat_map(|one| [keys::clock(*one), keys::log(*one)]).collect();
        let (word, mut reply) = store.ask_node(node, &script::HORIZON, &keys, arguments![]).await?;
        if word != "ok" {
            return Err(unknown_word("horizon", &word));
        }
        horizon.stamp = horizon.stamp.min(stamp::join(reply.number()?, reply.number()?));
        while reply.left() > 0 {
            let place = usize::try_from(reply.number()?).ok().and_then(|number| number.checked_sub(1));
            let partition = place.and_then(|place| partitions.get(place));
            horizon
                .unsettled
                .insert(*partition.ok_or_else(|| Error::internal("there is no such partition"))?);
        }
    }
    Ok(horizon)
}
