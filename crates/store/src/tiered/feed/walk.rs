//! The tenant's conversations in a database, in the order of their ids.

use super::super::retention::expired_up_to;
use super::{HOMES, HOMES_LIST, Homes};
use crate::feed::{Home, Kept, Span, Taken};
use crate::params;
use crate::postgres::Postgres;
use crate::sql::{Row, Value};
use im_domain::feed::FeedPlace;
use im_domain::{ConversationId, MsgId, Result, Tenant};

/// What is asked for.
pub(super) struct List<'a> {
    pub tenant: &'a Tenant,
    pub first: &'a str,
    pub count: usize,
    /// For how long the tenant keeps messages.
    pub times: Value,
}

/// Those from `first` on that the database has, up to `count`.
pub(super) async fn conversations<P: Postgres>(
    db: &P,
    database: usize,
    list: List<'_>,
    homes: &mut Homes,
) -> Result<Vec<Kept>> {
    let statement = format!(
        "WITH {HOMES}
        SELECT NULL::bigint, {HOMES_LIST}, NULL::bigint, NULL::bigint
        UNION ALL (SELECT c.cid, c.name, c.cold_msg_id, {} FROM conversation c WHERE c.tenant = $1::text AND c.name >= $2::text
            AND (c.cid >> 14) & 255 NOT IN (SELECT partition FROM elsewhere) ORDER BY c.name LIMIT $3::bigint)",
        expired_up_to("$4")
    );
    let parameters =
        vec![list.tenant.as_str().into(), list.first.into(), (list.count as u64).into(), list.times];
    let mut found = Vec::new();
    for mut row in db.query(&statement, parameters).await? {
        match row.opt_msg_id()? {
            None => homes.add(row.opt_text()?.as_deref())?,
            Some(cid) => {
                let name = ConversationId::parse(row.text()?)?;
                let (cold, expired) = (row.msg_id()?, row.msg_id()?);
                found.push(Kept { name, home: Home { database, cid }, cold, expired });
            }
        }
    }
    Ok(found)
}

/// What came late of a conversation and lies below a span; see [`crate::feed::Source::late`].
pub(super) async fn late<P: Postgres>(
    db: &P,
    kept: &Kept,
    after: MsgId,
    span: Span,
    limit: u32,
) -> Result<Vec<Taken>> {
    const STATEMENT: &str = "
        SELECT max(stamp), msg_id, max(kind)::bigint FROM late
        WHERE cid = $1::bigint AND msg_id > $2::bigint AND msg_id <= $3::bigint AND stamp >= $3::bigint
            AND stamp <= $4::bigint
        GROUP BY msg_id ORDER BY msg_id LIMIT $5::bigint";
    let parameters = params![kept.home.cid, after, span.above, span.up_to, u64::from(limit) + 1];
    let taken = |mut row: Row| {
        let place = FeedPlace { stamp: row.msg_id()?, msg_id: row.msg_id()? };
        let is_erased = row.count()? == Taken::ERASED;
        Ok(Taken { place, is_late: true, is_erased, kept: kept.clone(), control: None })
    };
    db.query(STATEMENT, parameters).await?.into_iter().map(taken).collect()
}

/// Up to where messages of a conversation have expired now.
pub(super) async fn expired<P: Postgres>(db: &P, cid: MsgId, times: Value) -> Result<MsgId> {
    let statement = format!("SELECT {} FROM conversation c WHERE c.cid = $1::bigint", expired_up_to("$2"));
    let mut rows = db.query(&statement, vec![cid.into(), times]).await?;
    Ok(rows.first_mut().map_or(Ok(MsgId::MAX), |row| row.msg_id())?)
}
