//! Which of the 256 partitions a conversation lives in. Fixed for life: ids carry the partition.

use crate::name::{ConversationId, Tenant};
use xxhash_rust::xxh64::Xxh64;

/// Number of partitions. A change would orphan every stored id.
pub const PARTITIONS: usize = 256;

/// xxHash64 (seed 0) of `tenant`, a unit separator and `conversation`, its low byte. The separator
/// can stand in neither name, so no two pairs are hashed alike by construction.
pub fn partition_of(tenant: &Tenant, conversation: &ConversationId) -> u8 {
    let mut hash = Xxh64::new(0);
    hash.update(tenant.as_str().as_bytes());
    hash.update(b"\x1f");
    hash.update(conversation.as_str().as_bytes());
    hash.digest().to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tenant: &str, conversation: &str) -> u8 {
        partition_of(&Tenant::parse(tenant).unwrap(), &ConversationId::parse(conversation).unwrap())
    }

    #[test]
    fn the_mapping_is_the_one_that_stored_ids_were_made_with() {
        let known = [at("acme", "general"), at("acme", "random"), at("globex", "general")];
        assert_eq!(known, [117, 197, 55]);
    }

    #[test]
    fn conversations_spread_over_all_partitions() {
        let mut count = [0; PARTITIONS];
        for i in 0..25_600 {
            count[usize::from(at("acme", &format!("c{i}")))] += 1;
        }
        assert!(count.iter().all(|n| (50..200).contains(n)), "{count:?}");
    }
}
