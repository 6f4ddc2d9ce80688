//! The tenant's conversations in a database, in the order of their ids.

use super::{HOMES, HOMES_LIST, Homes};
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
    let statement = format!(
        "WITH {HOMES}
        SELECT NULL::bigint, {HOMES_LIST}
        UNION ALL (SELECT cid, name FROM conversation WHERE tenant = $1::text AND name >= $2::text
            AND (cid >> 14) & 255 NOT IN (SELECT partition FROM elsewhere) ORDER BY name LIMIT $3::bigint)"
    );
    let parameters = params![tenant.as_str(), first, count as u64];
    let mut found = Vec::new();
    for mut row in db.query(&statement, parameters).await? {
        match row.opt_msg_id()? {
            None => homes.add(row.opt_text()?.as_deref())?,
            Some(cid) => {
                found.push(Kept { home: Home { database, cid }, name: ConversationId::parse(row.text()?)? });
            }
        }
    }
    Ok(found)
}
