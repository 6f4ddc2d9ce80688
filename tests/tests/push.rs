//! Proves that a push service learns whom to wake: users who are offline and have enough messages of
//! others, or one that waits long enough; each once, to one worker, with what their users allow to show.
//!
//! That nobody else is due shows in a witness: a user of the same tenant who becomes due last.

mod due;
mod leases;
mod rules;
mod settings;

use im_tests::client::Client;
use im_tests::push::until_due;
use im_tests::talk::{group, say_many};
use im_tests::tenant::Tenant;
use serde_json::Value;
use std::collections::BTreeMap;

/// Messages that make a user due, unless a tenant has another rule.
const ENOUGH: usize = 5;

const WITNESS: &str = "witness";

/// Makes the witness due, and gives what was given until then of everybody else.
async fn due_so_far(tenant: &Tenant) -> BTreeMap<String, Value> {
    let herald = tenant.user("herald");
    let room = format!("witness-{:08x}", fastrand::u32(..));
    group(&herald, &room, &[WITNESS]).await;
    say_many(&herald, &room, ENOUGH).await;
    let mut given = until_due(&tenant.service(), [WITNESS]).await;
    given.remove(WITNESS);
    given
}

/// A user who has never synced: nothing that is asked in its name makes a device known.
fn away(tenant: &Tenant, user: &str) -> Client {
    let claims = im_tests::token::claims(&tenant.name, user, None, "user");
    tenant.claiming(&claims)
}
