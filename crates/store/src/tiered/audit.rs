//! Who did what an audit asks for, in the database that has the partition.

use super::{Tiered, home, limits, overloaded};
use crate::audit::Deed;
use crate::params;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::Result;
use im_domain::storage::Actor;

/// That it was asked is on disk then.
pub(super) async fn note<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    partition: u8,
    deed: Deed<'_>,
) -> Result<()> {
    const STATEMENT: &str = "
        WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true) AS is_on),
        here AS MATERIALIZED (
            SELECT partition FROM partition_state WHERE partition = $2::bigint AND home = 1 FOR SHARE)
        INSERT INTO audit (id, partition, tenant, user_id, time, action, conversation, msg_id, subject)
        SELECT $1::text, partition, $3::text, $4::text, $5::bigint, $6::text, $7::text, $8::bigint, $9::text
        FROM here CROSS JOIN durable RETURNING 1";
    for _ in 0..limits::ATTEMPTS_MAX {
        let database = store.home(partition).await?;
        let parameters = params![
            store.random_name(),
            u64::from(partition),
            actor.tenant.as_str(),
            actor.user.as_str(),
            store.now_ms(),
            deed.action,
            deed.conversation,
            deed.msg_id,
            deed.subject,
        ];
        if !store.database(database)?.query(STATEMENT, parameters).await?.is_empty() {
            return Ok(());
        }
        home::relocate(store, partition, database).await?;
    }
    Err(overloaded())
}
