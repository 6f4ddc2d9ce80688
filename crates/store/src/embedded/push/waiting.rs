//! What waits for a push of a user, counted when it is asked for.

use super::place_of;
use crate::embedded::Embedded;
use crate::embedded::cold::{Cold, waits_for};
use crate::embedded::hide::is_hidden;
use crate::embedded::index::WIDE;
use crate::embedded::retention::times;
use crate::embedded::unread::{others_after, read_or_gone};
use crate::params;
use crate::sql::Row;
use crate::sqlite::Sqlite;
use im_domain::limits::PUSH_CONVERSATIONS_MAX;
use im_domain::message::Status;
use im_domain::page::Direction;
use im_domain::{ConversationId, MsgId, Result, Tenant, UserId};
use im_segment::Record;

/// Messages looked at to find the oldest one that is not the user's own, and that counts. When so many
/// come first, the last of them stands for it: the user is then said to wait longer than is true.
pub(super) const SCANNED_MAX: u64 = 100;

/// What waits in one conversation.
pub(super) struct Waiting {
    pub conversation: ConversationId,
    pub cid: i64,
    /// It has been said after this place.
    pub after: MsgId,
    pub head: MsgId,
    /// At least 1.
    pub messages: u64,
    /// When the oldest was sent, in milliseconds since 1970.
    pub oldest_ms: u64,
    /// The first of it is in a segment.
    pub begins_in_cold: bool,
}

/// What has been said since `since`, a moment of the store's clock, and `since_version`, its version then,
/// in the newest conversations that are not muted.
pub(super) fn waiting<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    user: &UserId,
    since: MsgId,
    since_version: u64,
) -> Result<Vec<Waiting>> {
    let parameters =
        params![tenant.as_str(), user.as_str(), since_version, times(store, tenant), since, SCANNED_MAX];
    let rows = store.db.execute(&statement(), parameters)?;
    let mut all = rows.into_iter().map(Waiting::read).collect::<Result<Vec<_>>>()?;
    for one in all.iter_mut().filter(|one| one.begins_in_cold) {
        one.look_into_cold(store, user)?;
    }
    all.retain(|one| one.messages > 0);
    Ok(all)
}

impl Waiting {
    fn read(mut row: Row) -> Result<Self> {
        let (conversation, cid) = (ConversationId::parse(row.text()?)?, row.int()?);
        let (after, head) = (row.msg_id()?, row.msg_id()?);
        let messages = row.opt_int()?;
        Ok(Self {
            conversation,
            cid,
            after,
            head,
            messages: messages.unwrap_or_default().unsigned_abs(),
            oldest_ms: row.opt_msg_id()?.unwrap_or_default().time_ms(),
            begins_in_cold: messages.is_none(),
        })
    }

    fn look_into_cold<P: Sqlite>(&mut self, store: &Embedded<P>, user: &UserId) -> Result<()> {
        let cold = Cold { store, cid: self.cid };
        self.messages = cold.others_after(self.after, user.as_str())?;
        let first = cold.scan(self.after, Direction::Down, SCANNED_MAX as usize)?;
        let hidden = cold.hidden(user.as_str())?;
        let waits = |record: &&Record| waits_for(record, user.as_str()) && !hidden.contains(&record.msg_id);
        let oldest = first.iter().find(waits).or(first.last());
        self.oldest_ms = oldest.map_or(self.after, |record| record.msg_id).time_ms();
        Ok(())
    }
}

fn statement() -> String {
    let near = format!(
        "SELECT * FROM (
            SELECT cid, recency FROM member
            WHERE tenant = ?1 AND user = ?2 AND recency > ?3 AND recency < {WIDE} AND muted = 0
            ORDER BY recency DESC LIMIT {PUSH_CONVERSATIONS_MAX})
        UNION ALL
        SELECT m.cid, c.version FROM member m JOIN conversation c ON c.cid = m.cid
        WHERE m.tenant = ?1 AND m.user = ?2 AND m.recency = {WIDE} AND m.muted = 0 AND c.version > ?3
        ORDER BY 2 DESC LIMIT {PUSH_CONVERSATIONS_MAX}"
    );
    format!(
        "WITH placed AS MATERIALIZED (
            SELECT c.*, max({read}, {since}) AS after FROM ({near}) f
            JOIN conversation c ON c.cid = f.cid JOIN member m ON m.cid = f.cid AND m.user = ?2),
        counted AS MATERIALIZED (
            SELECT c.name, c.cid, c.after, c.head_msg_id,
                iif(c.after < c.cold_msg_id, NULL, {others}) AS messages
            FROM placed c JOIN member m ON m.cid = c.cid AND m.user = ?2)
        SELECT name, cid, after, head_msg_id, messages, (
            SELECT coalesce(min(msg_id) FILTER (
                WHERE own IS NOT NULL AND status = {normal} AND sender <> ?2 AND NOT {hidden}), max(msg_id))
            FROM (SELECT cid, msg_id, sender, own, status FROM message x WHERE x.cid = counted.cid
                AND x.msg_id > counted.after ORDER BY x.msg_id LIMIT ?6) y)
        FROM counted WHERE messages > 0 OR messages IS NULL",
        read = read_or_gone(),
        since = place_of("?5"),
        others = others_after("c.after"),
        normal = Status::Normal.number(),
        hidden = is_hidden("y", "?2"),
    )
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use crate::embedded::testing::{assert_searches, plan};

    #[test]
    fn what_waits_is_found_by_searches() {
        let plan = plan(&super::statement(), 6);
        assert_searches(&plan, &["f", "(subquery", "c", "counted", "y"]);
    }
}
