//! Proves that what the contract does not allow is refused with the right code, naming the field,
//! and that nothing of it was stored: each test looks at the room it tried to disturb.

mod access;
mod batches;
mod bodies;
mod fields;
mod limits;
mod names;
mod recall;
mod routes;
mod sync;
mod tokens;

use im_tests::client::Client;
use im_tests::talk::{contents, conversation, group, say};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::Value;

/// A group `room` of Ann, its owner, and Ben, with one message in it.
struct Room {
    tenant: Tenant,
    ann: Client,
    ben: Client,
    /// The message.
    first: Value,
    before: Value,
}

impl Room {
    async fn new(label: &str) -> Self {
        let tenant = Tenant::new(label);
        let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
        group(&ann, "room", &["ben"]).await;
        let first = say(&ann, "room", "first").await;
        let before = conversation(&ann, "room").await;
        Self { tenant, ann, ben, first, before }
    }

    /// Expects everything to be as it was made.
    async fn untouched(&self) {
        assert_eq!(conversation(&self.ann, "room").await, self.before);
        assert_eq!(contents(&self.ann, "room").await, ["first"]);
        assert_eq!(contents(&self.ben, "room").await, ["first"]);
        for user in [&self.ann, &self.ben] {
            assert_eq!(list_all(user, 100).await.len(), 1, "no conversation came into being");
        }
    }
}
