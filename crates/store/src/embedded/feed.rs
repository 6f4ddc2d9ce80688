//! The feed of changes. There is one clock and one writer, so the places of messages are the order in which they were
//! stored, and the last one that was given is the horizon.

mod packed;

use super::clock::Counters;
use super::messages::{QUOTED, columns};
use super::retention::{expired_up_to, times};
use super::{Embedded, transaction};
use crate::feed::{Home, Kept, Key, Part, Source, Span, Taken};
use crate::message_row;
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::feed::{Events, FeedCursor, FeedPlace};
use im_domain::limits::FEED_SCAN_MAX;
use im_domain::message::{Action, ControlRef, Message};
use im_domain::page::{Direction, Range};
use im_domain::partition::partition_of;
use im_domain::{ConversationId, MsgId, Result, Tenant};
use std::collections::HashMap;

/// The place of a message, as its index has it: see [`MsgId::place`].
const PLACE: &str = "((msg_id >> 22) << 22) | ((msg_id & 16383) << 8) | ((msg_id >> 14) & 255)";

/// From whom nothing is hidden.
const NOBODY: &str = "";

pub(super) async fn events<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    cursor: Option<FeedCursor>,
    limit: u32,
) -> Result<Events> {
    crate::feed::events(&read(store, tenant)?, cursor, limit).await
}

/// What can be read now.
pub(super) fn read<'a, P: Sqlite>(store: &'a Embedded<P>, tenant: &'a Tenant) -> Result<Feed<'a, P>> {
    Ok(Feed { store, tenant, horizon: Counters::load(store)?.last_place() })
}

pub(super) struct Feed<'a, P> {
    pub store: &'a Embedded<P>,
    pub tenant: &'a Tenant,
    horizon: MsgId,
}

impl<P: Sqlite> Source for Feed<'_, P> {
    fn horizon(&self) -> MsgId {
        self.horizon
    }

    async fn conversations(&self, first: &str, count: usize) -> Result<Vec<Kept>> {
        const STATEMENT: &str = concat!(
            "SELECT c.cid, c.name, c.cold_msg_id, ",
            expired_up_to!("?4"),
            " FROM conversation c WHERE c.tenant = ?1 AND c.name >= ?2 ORDER BY c.name LIMIT ?3"
        );
        let parameters = params![self.tenant.as_str(), first, count as u64, times(self.store, self.tenant)];
        let rows = self.store.db.execute(STATEMENT, parameters)?;
        rows.into_iter().map(|mut row| kept(&mut row)).collect()
    }

    async fn messages(&self, kept: &Kept, after: MsgId, span: Span, limit: u32) -> Result<Vec<Message>> {
        let (above, up_to) = self.bounds(kept, span);
        let range = Range {
            above: after.max(kept.expired).max(above),
            below: crate::cold::after(up_to),
            direction: Direction::Down,
            kinds: Vec::new(),
            limit,
        };
        transaction::read(self.store, || {
            let count = u64::from(limit) + 1;
            let parameters = params![kept.home.cid, range.above, NOBODY, up_to, kept.expired, count];
            let rows = self.store.db.execute(&messages_statement(), parameters)?;
            let rows = rows.into_iter().map(|mut row| message_row::read(&mut row)).collect::<Result<_>>()?;
            packed::range(self.store, kept, &range, rows)
        })
    }

    async fn late(&self, kept: &Kept, after: MsgId, span: Span, limit: u32) -> Result<Vec<Taken>> {
        let (below, _) = self.bounds(kept, span);
        let parameters = params![
            kept.home.cid,
            after.max(kept.expired),
            below,
            span.above,
            span.up_to,
            u64::from(limit) + 1
        ];
        let taken = |mut row: Row| {
            let place = FeedPlace { stamp: row.msg_id()?, msg_id: row.msg_id()? };
            let is_erased = row.count()? == Taken::ERASED;
            Ok(Taken { place, is_late: true, is_erased, kept: kept.clone(), control: None })
        };
        self.store.db.execute(LATE, parameters)?.into_iter().map(taken).collect()
    }

    async fn tail(&self, at: FeedPlace, limit: u32) -> Result<Part> {
        let parameters = params![
            at.stamp,
            self.horizon,
            FEED_SCAN_MAX,
            self.tenant.as_str(),
            times(self.store, self.tenant),
            u64::from(limit) + 1,
            at.msg_id
        ];
        let mut rows = self.store.db.execute(&tail_statement(), parameters)?.into_iter();
        let (scanned, is_cold) = rows.next().map_or(Ok((None, false)), |mut row| scanned(&mut row))?;
        let taken = rows.map(|mut row| taken(&mut row)).collect::<Result<_>>()?;
        Ok(Part { taken, scanned, is_cold })
    }

    async fn by_keys(&self, keys: Vec<Key>) -> Result<HashMap<Key, Message>> {
        let pairs: Vec<_> = keys.iter().map(|(home, id)| [home.cid.to_sql(), id.to_sql()]).collect();
        let pairs = serde_json::Value::from(pairs.iter().map(|pair| pair.to_vec()).collect::<Vec<_>>());
        let parameters = params![pairs.to_string(), times(self.store, self.tenant), NOBODY];
        let with_key = |mut row: Row| {
            let home = Home { database: 0, cid: row.msg_id()? };
            let message = message_row::read(&mut row)?;
            Ok(((home, message.msg_id), message))
        };
        transaction::read(self.store, || {
            let rows = self.store.db.execute(&keys_statement(), parameters)?;
            let mut found = rows.into_iter().map(with_key).collect::<Result<_>>()?;
            packed::fill(self.store, self.tenant, &keys, &mut found)?;
            Ok(found)
        })
    }
}

impl<P> Feed<'_, P> {
    /// The ids of a conversation's messages that were taken in within a span: above the first and up to the second.
    fn bounds(&self, kept: &Kept, span: Span) -> (MsgId, MsgId) {
        let partition = partition_of(self.tenant, &kept.name);
        let above = if span.above.is_none() { MsgId::NONE } else { highest(span.above, partition) };
        (above, highest(span.up_to, partition))
    }
}

/// The highest id of a partition up to a place that is the last of its moment.
fn highest(place: MsgId, partition: u8) -> MsgId {
    let counter = u16::try_from((place.number() >> 8) & 0x3fff).unwrap_or_default();
    MsgId::compose(place.time_ms(), partition, counter)
}

fn kept(row: &mut Row) -> Result<Kept> {
    let home = Home { database: 0, cid: row.msg_id()? };
    let name = ConversationId::parse(row.text()?)?;
    Ok(Kept { home, name, cold: row.msg_id()?, expired: row.msg_id()? })
}

/// Up to where a scan got that met its limit, and whether something may be packed that it did not see.
fn scanned(row: &mut Row) -> Result<(Option<FeedPlace>, bool), SqlError> {
    let (count, stamp, msg_id) = (row.count()?, row.msg_id()?, row.msg_id()?);
    let end = (count >= FEED_SCAN_MAX).then_some(FeedPlace { stamp, msg_id });
    Ok((end, row.flag()?))
}

fn taken(row: &mut Row) -> Result<Taken> {
    let place = FeedPlace { stamp: row.msg_id()?, msg_id: row.msg_id()? };
    let control = row.opt_msg_id()?.zip(row.opt_int()?.and_then(Action::from_number));
    let control = control.map(|(msg_id, action)| ControlRef { msg_id, action });
    let kind = row.count()?;
    Ok(Taken { place, is_late: kind > 0, is_erased: kind == Taken::ERASED, control, kept: kept(row)? })
}

/// ?1 conversation, ?2 above, ?3 nobody, ?4 up to, ?5 what has expired, ?6 how many.
fn messages_statement() -> String {
    format!(
        "SELECT {} FROM message x {QUOTED}
        WHERE x.cid = ?1 AND x.msg_id > ?2 AND x.msg_id <= ?4 ORDER BY x.msg_id LIMIT ?6",
        columns("?5")
    )
}

/// ?1 after, ?2 up to, ?3 how many are looked at, ?4 tenant, ?5 its times, ?6 how many, ?7 the message after. The first
/// row tells how many were looked at, and the last of them.
fn tail_statement() -> String {
    format!(
        "WITH scanned AS MATERIALIZED (SELECT * FROM (
            SELECT * FROM (
                SELECT {PLACE} AS place, cid, msg_id, control_msg_id, control_action, 0 AS kind FROM message
                WHERE {PLACE} > ?1 AND {PLACE} <= ?2 ORDER BY {PLACE} LIMIT ?3)
            UNION ALL SELECT * FROM (
                SELECT place, cid, msg_id, NULL, NULL, kind FROM late
                WHERE (place, msg_id) > (?1, ?7) AND place <= ?2 ORDER BY place, msg_id LIMIT ?3))
            ORDER BY place, msg_id LIMIT ?3)
        SELECT count(*), coalesce(max(place), 0), coalesce((SELECT msg_id FROM scanned
            ORDER BY place DESC, msg_id DESC LIMIT 1), 0), EXISTS (SELECT 1 FROM conversation
                WHERE tenant = ?4 AND cold_msg_id > 0 AND cold_msg_id >= (?1 >> 22) << 22 AND {cold} > ?1),
            NULL, NULL, NULL, NULL, NULL FROM scanned
        UNION ALL SELECT * FROM (
            SELECT s.place, s.msg_id, s.control_msg_id, s.control_action, s.kind, s.cid, c.name,
                c.cold_msg_id, {expired}
            FROM scanned s JOIN conversation c ON c.cid = s.cid AND c.tenant = ?4
            WHERE s.msg_id > {expired} ORDER BY s.place, s.msg_id LIMIT ?6)",
        expired = expired_up_to!("?5"),
        cold = PLACE.replace("msg_id", "cold_msg_id"),
    )
}

/// ?1 conversation, ?2 after, ?3 up to, ?4 taken in from, ?5 to, ?6 how many.
const LATE: &str = "
    SELECT max(place), msg_id, max(kind) FROM late
    WHERE cid = ?1 AND msg_id > ?2 AND msg_id <= ?3 AND place >= ?4 AND place <= ?5
    GROUP BY msg_id ORDER BY msg_id LIMIT ?6";

/// ?1 pairs of conversation and message, ?2 the tenant's times, ?3 nobody.
fn keys_statement() -> String {
    const EXPIRED: &str = expired_up_to!("?2");
    format!(
        "SELECT x.cid, {} FROM json_each(?1) k
        JOIN message x ON x.cid = k.value ->> 0 AND x.msg_id = k.value ->> 1
        JOIN conversation c ON c.cid = x.cid {QUOTED} WHERE x.msg_id > {EXPIRED}",
        columns(EXPIRED)
    )
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::embedded::testing::{assert_searches, plan};
    use proptest::prelude::*;

    #[test]
    fn each_part_reads_ranges_of_indexes() {
        assert_searches(&plan(&messages_statement(), 6), &[]);
        let tail = plan(&tail_statement(), 7);
        assert_searches(&tail, &["scanned", "s", "(subquery"]);
        assert!(tail.iter().any(|step| step.contains("message_place")), "{tail:#?}");
        assert!(tail.iter().any(|step| step.contains("conversation_cold ")), "{tail:#?}");
        assert_searches(&plan(&keys_statement(), 3), &["k"]);
        assert_searches(&plan(LATE, 6), &[]);
    }

    proptest! {
        /// What was stored up to a moment are, in each partition, the ids up to one.
        #[test]
        fn the_highest_id_of_a_moment_is_found(ms in 0_u64..9, counters: (u16, u16), partitions: (u8, u8)) {
            let id = |partition, counter| MsgId::compose(im_domain::msg_id::ID_EPOCH_MS + ms, partition, counter);
            let last = id(partitions.0, counters.0);
            let horizon = MsgId::new(last.place().number() | 255).unwrap();
            let other = id(partitions.1, counters.1);
            prop_assert_eq!(other <= highest(horizon, partitions.1), other.place() <= horizon);
        }
    }
}
