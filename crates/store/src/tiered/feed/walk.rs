//! The tenant's conversations in a database, in the order of their ids.

use super::Homes;
use crate::feed::{Home, Kept};
use crate::params;
use crate::postgres::Postgres;
use im_domain::{ConversationId, Result, Tenant};

/// Those from `first` on that the database has, up to `count`.
pub(super) async fn conversations<P: Postgres>(
    db: &P,
    database: usize,
    tenant: &Tenant,
    first: &str,
    count: usize,
    homes: &mut Homes,
) -> Result<Vec<Kept>> {
    const STATEMENT: &str = "
        WITH here AS MATERIALIZED (SELECT partition FROM partition_state WHERE home = 1)
        SELECT NULL::bigint, string_agg(partition::text, ' ') FROM here
        UNION ALL (SELECT c.cid, c.name FROM conversation c JOIN here h ON h.partition = (c.cid >> 14) & 255
            WHERE c.tenant = $1::text AND c.name >= $2::text ORDER BY c.name LIMIT $3::bigint)";
    let parameters = params![tenant.as_str(), first, count as u64];
    let mut found = Vec::new();
    for mut row in db.query(STATEMENT, parameters).await? {
        match row.opt_msg_id()? {
            None => homes.add(row.opt_text()?.as_deref())?,
            Some(cid) => {
                found.push(Kept { home: Home { database, cid }, name: ConversationId::parse(row.text()?)? });
            }
        }
    }
    Ok(found)
}
