//! What a user has said or done, and what was done to what the user has said, among the dead letters.

use super::super::keys::{self, Place};
use super::super::{Tiered, script, unknown_word, upkeep};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::Value;
use im_domain::{ConversationId, Result, Tenant, UserId};

/// Letters of a partition that are looked at.
const LETTERS_READ_MAX: u64 = 1_000;

/// Drops them, but for those of conversations under legal hold: these it gives.
pub(super) async fn disown<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    user: &UserId,
) -> Result<Vec<ConversationId>> {
    let mut held = Vec::new();
    for backlog in upkeep::backlogs(store, None).await?.into_iter().filter(|backlog| backlog.dead > 0) {
        let found = drop_of(store, tenant, user, backlog.partition, &[]).await?;
        let may_go = not_held(store, tenant, backlog.partition, &found).await?;
        held.extend(match may_go.is_empty() {
            true => found,
            false => drop_of(store, tenant, user, backlog.partition, &may_go).await?,
        });
    }
    held.iter().map(|place| ConversationId::parse(place.conversation())).collect()
}

/// Drops those of some conversations, unless they are held by now; gives the conversations of which some are left.
async fn drop_of<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    user: &UserId,
    partition: u8,
    places: &[Place],
) -> Result<Vec<Place>> {
    let mut keys = vec![keys::clock(partition), keys::dead(partition)];
    keys.extend(places.iter().map(Place::head));
    let mut arguments = arguments![tenant.as_str(), user.as_str(), LETTERS_READ_MAX];
    arguments.extend(places.iter().map(|place| place.name.as_str().into()));
    let (word, mut reply) = store.ask(partition, &script::DISOWN, &keys, arguments).await?;
    if word != "ok" {
        return Err(unknown_word("disown", &word));
    }
    let mut left = Vec::new();
    while reply.left() > 0 {
        left.extend(Place::named(&reply.text()?));
    }
    Ok(left)
}

/// Those that are not held as far as SQL knows. One that SQL does not have is not.
async fn not_held<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    partition: u8,
    places: &[Place],
) -> Result<Vec<Place>> {
    const STATEMENT: &str = "
        SELECT name FROM conversation WHERE tenant = $1::text AND name = ANY ($2::text[]) AND legal_hold = 1";
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let names = places.iter().map(|place| Some(place.conversation().to_owned())).collect();
    let parameters = vec![tenant.as_str().into(), Value::Texts(names)];
    let mut held = Vec::new();
    for mut row in store.sql(partition).await?.query(STATEMENT, parameters).await? {
        held.push(row.text()?);
    }
    Ok(places.iter().filter(|place| !held.iter().any(|name| name == place.conversation())).cloned().collect())
}
