//! What a database has taken in, in order.

use super::super::retention::expired_up_to;
use super::{HOMES, HOMES_LIST, Homes};
use crate::feed::{Home, Kept, Part, Taken};
use crate::params;
use crate::postgres::Postgres;
use crate::sql::{Row, Value};
use im_domain::feed::FeedPlace;
use im_domain::limits::FEED_SCAN_MAX;
use im_domain::message::{Action, ControlRef};
use im_domain::{ConversationId, MsgId, Result, Tenant};

/// What is read of the tail.
pub(super) struct Bounds {
    pub after: FeedPlace,
    pub up_to: MsgId,
    /// For how long the tenant keeps messages.
    pub times: Value,
    pub limit: u32,
}

/// The first row says which partitions the database has, how many messages and how many late ones were looked at,
/// the last of each, and whether something of the tenant that comes here may have moved to segments; the others are the tenant's, in order. One statement sees one state of the database.
fn statement() -> String {
    format!(
        "WITH {HOMES},
        scanned AS MATERIALIZED (
            SELECT cid, msg_id FROM message WHERE msg_id > $2::bigint AND msg_id <= $4::bigint
            ORDER BY msg_id LIMIT $5::bigint),
        come_late AS MATERIALIZED (
            SELECT stamp, cid, msg_id, kind FROM late
            WHERE (stamp, msg_id) > ($2::bigint, $3::bigint) AND stamp <= $4::bigint
            ORDER BY stamp, msg_id LIMIT $5::bigint),
        last_late AS (SELECT stamp, msg_id FROM come_late ORDER BY stamp DESC, msg_id DESC LIMIT 1)
        SELECT {HOMES_LIST}, NULL::bigint, (SELECT count(*) FROM scanned),
            (SELECT max(msg_id) FROM scanned), (SELECT count(*) FROM come_late), (SELECT stamp FROM last_late),
            (SELECT msg_id FROM last_late),
            (EXISTS (SELECT 1 FROM conversation WHERE tenant = $1::text AND cold_msg_id > 0
                AND cold_msg_id > $2::bigint))::int::bigint, NULL::bigint
        UNION ALL (
            SELECT c.name, c.cid, t.stamp, t.msg_id, m.control_msg_id, m.control_action::bigint, t.kind::bigint,
                c.cold_msg_id, {expired}
            FROM (SELECT msg_id AS stamp, cid, msg_id, 0 AS kind FROM scanned UNION ALL SELECT * FROM come_late) t
            JOIN conversation c ON c.cid = t.cid AND c.tenant = $1::text
            LEFT JOIN message m ON m.cid = t.cid AND m.msg_id = t.msg_id
            WHERE (coalesce(m.copy_of, 0) = 0 AND m.msg_id IS NOT NULL OR m.msg_id IS NULL AND t.msg_id <= c.cold_msg_id)
                AND t.msg_id > {expired} AND (t.msg_id >> 14) & 255 NOT IN (SELECT partition FROM elsewhere)
            ORDER BY t.stamp, t.msg_id LIMIT $7::bigint)",
        expired = expired_up_to("$6")
    )
}

pub(super) async fn read<P: Postgres>(
    db: &P,
    database: usize,
    tenant: &Tenant,
    bounds: &Bounds,
    homes: &mut Homes,
) -> Result<Part> {
    let parameters = params![
        tenant.as_str(),
        bounds.after.stamp,
        bounds.after.msg_id,
        bounds.up_to,
        FEED_SCAN_MAX,
        bounds.times.clone(),
        u64::from(bounds.limit) + 1,
    ];
    let mut part = Part { taken: Vec::new(), scanned: None, is_cold: false };
    for mut row in db.query(&statement(), parameters).await? {
        let text = row.opt_text()?;
        match row.opt_msg_id()? {
            None => {
                homes.add(text.as_deref())?;
                part.scanned = scanned(&mut row)?;
                part.is_cold = row.flag()?;
            }
            Some(cid) => {
                let name = ConversationId::parse(text.unwrap_or_default())?;
                part.taken.push(taken(&mut row, Home { database, cid }, name)?);
            }
        }
    }
    // Each scan ends where it had to; both were made up to the nearer end.
    part.taken.retain(|taken| part.scanned.is_none_or(|scanned| taken.place <= scanned));
    Ok(part)
}

/// Up to where both scans got, if one met its limit.
fn scanned(row: &mut Row) -> Result<Option<FeedPlace>> {
    let (count, last) = (row.count()?, row.opt_msg_id()?.unwrap_or_default());
    let late = row.count()?;
    let (stamp, msg_id) = (row.opt_msg_id()?.unwrap_or_default(), row.opt_msg_id()?.unwrap_or_default());
    let messages = (count >= FEED_SCAN_MAX).then(|| FeedPlace::after(last));
    let come_late = (late >= FEED_SCAN_MAX).then_some(FeedPlace { stamp, msg_id });
    Ok([messages, come_late].into_iter().flatten().min())
}

fn taken(row: &mut Row, home: Home, name: ConversationId) -> Result<Taken> {
    let place = FeedPlace { stamp: row.msg_id()?, msg_id: row.msg_id()? };
    let control = row.opt_msg_id()?.zip(row.opt_int()?.and_then(Action::from_number));
    let control = control.map(|(msg_id, action)| ControlRef { msg_id, action });
    let is_erased = row.count()? == Taken::ERASED;
    let kept = Kept { name, home, cold: row.msg_id()?, expired: row.msg_id()? };
    Ok(Taken { place, is_late: place.stamp != place.msg_id, is_erased, kept, control })
}
