//! Single chats: a pair of users always maps to the same conversation id.

use crate::error::{Error, Result};
use crate::name::{ConversationId, Tenant, UserId};
use sha2::{Digest, Sha256};

/// Ids with this prefix are made by the store alone. Were they free, somebody could take the id of
/// two other users' chat before they first write to each other.
pub const PAIR_PREFIX: &str = "single:";
/// Bytes of the hash that stand in the id: 160 bits, out of reach of a chosen collision.
const HASH_BYTES: usize = 20;

/// Two users in the order of their names.
pub fn in_order<'a>(a: &'a UserId, b: &'a UserId) -> (&'a UserId, &'a UserId) {
    if a <= b { (a, b) } else { (b, a) }
}

/// The id of the chat between `a` and `b`, the same whichever comes first.
pub fn pair_conversation(tenant: &Tenant, a: &UserId, b: &UserId) -> Result<ConversationId> {
    let (low, high) = in_order(a, b);
    let mut hash = Sha256::new();
    for part in [tenant.as_str(), low.as_str(), high.as_str()] {
        hash.update(part.as_bytes());
        hash.update(b"\x1f");
    }
    let mut id = String::from(PAIR_PREFIX);
    for byte in hash.finalize().iter().take(HASH_BYTES) {
        id.push_str(&format!("{byte:02x}"));
    }
    ConversationId::parse(id)
}

/// Refuses an id that only the store may make.
pub fn check_not_reserved(id: &ConversationId) -> Result<()> {
    if id.as_str().starts_with(PAIR_PREFIX) {
        return Err(Error::invalid(
            "conversationId",
            format!("ids that begin with {PAIR_PREFIX} are made by the store"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_one_id_and_other_pairs_have_others() {
        let tenant = Tenant::parse("t").unwrap();
        let [a, b, c] = ["alice", "bob", "alicebob"].map(|u| UserId::parse(u).unwrap());
        let id = pair_conversation(&tenant, &a, &b).unwrap();
        assert_eq!(id, pair_conversation(&tenant, &b, &a).unwrap());
        assert_ne!(id, pair_conversation(&tenant, &a, &c).unwrap());
        assert!(check_not_reserved(&id).is_err());
    }
}
