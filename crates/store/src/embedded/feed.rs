//! The feed of changes. There is one clock and one writer, so the places of messages are the order in which they were
//! stored, and the last one that was given is the horizon.

use super::Embedded;
use super::clock::Counters;
use super::messages::{QUOTED, columns};
use super::retention::{expired_up_to, times};
use crate::feed::{Home, Kept, Key, Part, Source, Taken};
use crate::message_row;
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::feed::{Events, FeedCursor, FeedPlace};
use im_domain::limits::FEED_SCAN_MAX;
use im_domain::message::{Action, ControlRef, Message};
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
            "SELECT c.cid, c.name, ",
            expired_up_to!("?4"),
            " FROM conversation c WHERE c.tenant = ?1 AND c.name >= ?2 ORDER BY c.name LIMIT ?3"
        );
        let parameters = params![self.tenant.as_str(), first, count as u64, times(self.store, self.tenant)];
        let rows = self.store.db.execute(STATEMENT, parameters)?;
        rows.into_iter().map(|mut row| kept(&mut row)).collect()
    }

    async fn messages(&self, kept: &Kept, after: MsgId, up_to: MsgId, limit: u32) -> Result<Vec<Message>> {
        let partition = partition_of(self.tenant, &kept.name);
        let parameters = params![
            kept.home.cid,
            after.max(kept.expired),
            NOBODY,
            highest(up_to, partition),
            kept.expired,
            u64::from(limit) + 1
        ];
        let rows = self.store.db.execute(&messages_statement(), parameters)?;
        rows.into_iter().map(|mut row| message_row::read(&mut row)).collect()
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
        let scanned = rows.next().map(|mut row| scanned(&mut row)).transpose()?.flatten();
        let taken = rows.map(|mut row| taken(&mut row)).collect::<Result<_>>()?;
        Ok(Part { taken, scanned })
    }

    async fn by_keys(&self, keys: Vec<Key>) -> Result<HashMap<Key, Message>> {
        let pairs: Vec<_> = keys.iter().map(|(home, id)| [home.cid.to_sql(), id.to_sql()]).collect();
        let pairs = serde_json::Value::from(pairs.iter().map(|pair| pair.to_vec()).collect::<Vec<_>>());
        let parameters = params![pairs.to_string(), times(self.store, self.tenant), NOBODY];
        let rows = self.store.db.execute(&keys_statement(), parameters)?;
        let with_key = |mut row: Row| {
            let home = Home { database: 0, cid: row.msg_id()? };
            let message = message_row::read(&mut row)?;
            Ok(((home, message.msg_id), message))
        };
        rows.into_iter().map(with_key).collect()
    }
}

/// The highest id of a partition up to a place that is the last of its moment.
fn highest(place: MsgId, partition: u8) -> MsgId {
    let counter = u16::try_from((place.number() >> 8) & 0x3fff).unwrap_or_default();
    MsgId::compose(place.time_ms(), partition, counter)
}

fn kept(row: &mut Row) -> Result<Kept> {
    let home = Home { database: 0, cid: row.msg_id()? };
    Ok(Kept { home, name: ConversationId::parse(row.text()?)?, expired: row.msg_id()? })
}

/// Up to where a scan got that met its limit.
fn scanned(row: &mut Row) -> Result<Option<FeedPlace>, SqlError> {
    let (count, stamp, msg_id) = (row.count()?, row.msg_id()?, row.msg_id()?);
    Ok((count >= FEED_SCAN_MAX).then_some(FeedPlace { stamp, msg_id }))
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
            ORDER BY place DESC, msg_id DESC LIMIT 1), 0), NULL, NULL, NULL, NULL, NULL FROM scanned
        UNION ALL SELECT * FROM (
            SELECT s.place, s.msg_id, s.control_msg_id, s.control_action, s.kind, s.cid, c.name,
                {expired}
            FROM scanned s JOIN conversation c ON c.cid = s.cid AND c.tenant = ?4
            WHERE s.msg_id > {expired} ORDER BY s.place, s.msg_id LIMIT ?6)",
        expired = expired_up_to!("?5")
    )
}

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
        assert_searches(&plan(&keys_statement(), 3), &["k"]);
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
