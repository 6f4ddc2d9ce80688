//! The feed of changes, read from SQL.
//!
//! Ids rise within a partition, and SQL is filled in their order. Up to the horizon, below which no server gives an id
//! or has one in its logs, SQL has everything, and what comes late has a place of its own above. What a message has
//! become may be in the hot store alone; so SQL is waited for where a revision is on its way.

mod horizon;
mod tail;
mod walk;

use super::retention::times_in_sql;
use super::rows::Sight;
use super::{Tiered, overloaded, persist, rows};
use crate::feed::{Kept, Key, Part, Source, Span, Taken};
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::feed::{Events, FeedCursor, FeedPlace};
use im_domain::message::Message;
use im_domain::page::{Direction, Range};
use im_domain::{Error, MsgId, Result, Tenant};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The partitions that a database has, and all others: rows of those may be left there, or be on their way.
const HOMES: &str = "
    here AS MATERIALIZED (SELECT partition FROM partition_state WHERE home = 1),
    elsewhere AS MATERIALIZED (
        SELECT partition FROM generate_series(0::bigint, 255) AS p(partition) EXCEPT SELECT partition FROM here)";

/// As [`Homes::add`] takes it.
const HOMES_LIST: &str = "(SELECT string_agg(partition::text, ' ') FROM here)";

pub(super) async fn events<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    cursor: Option<FeedCursor>,
    limit: u32,
) -> Result<Events> {
    crate::feed::events(&read(store, tenant).await?, cursor, limit).await
}

/// What can be read of SQL now.
pub(super) async fn read<'a, R: Redis, P: Postgres>(
    store: &'a Tiered<R, P>,
    tenant: &'a Tenant,
) -> Result<Feed<'a, R, P>> {
    let horizon = horizon::read(store).await?;
    Ok(Feed { store, tenant, horizon: horizon.stamp, unsettled: RefCell::new(horizon.unsettled) })
}

pub(super) struct Feed<'a, R, P> {
    pub store: &'a Tiered<R, P>,
    pub tenant: &'a Tenant,
    horizon: MsgId,
    /// Partitions in whose logs a revision may wait.
    unsettled: RefCell<BTreeSet<u8>>,
}

impl<R: Redis, P: Postgres> Feed<'_, R, P> {
    /// Makes sure that a database has what messages of a partition have become, and for how long they are kept; whether it
    /// had to be waited for.
    async fn settle(&self, partition: u8, database: usize) -> Result<bool> {
        if !self.unsettled.borrow().contains(&partition) {
            return Ok(false);
        }
        persist::reach_now(self.store, partition).await?;
        self.unsettled.borrow_mut().remove(&partition);
        // It may have moved meanwhile.
        match self.store.home(partition).await? == database {
            true => Ok(true),
            false => Err(overloaded()),
        }
    }
}

impl<R: Redis, P: Postgres> Source for Feed<'_, R, P> {
    fn horizon(&self) -> MsgId {
        self.horizon
    }

    async fn conversations(&self, first: &str, count: usize) -> Result<Vec<Kept>> {
        let mut homes = Homes::default();
        let mut found = Vec::new();
        for (database, db) in self.store.databases.iter().enumerate() {
            let list = walk::List {
                tenant: self.tenant,
                first,
                count,
                times: times_in_sql(self.store, self.tenant),
            };
            found.extend(walk::conversations(db, database, list, &mut homes).await?);
        }
        homes.check()?;
        found.sort_by(|a: &Kept, b: &Kept| a.name.cmp(&b.name));
        found.truncate(count);
        Ok(found)
    }

    async fn messages(&self, kept: &Kept, after: MsgId, span: Span, limit: u32) -> Result<Vec<Message>> {
        let home = kept.home;
        let db = self.store.database(home.database)?;
        let mut floor = kept.expired;
        if self.settle(home.cid.partition(), home.database).await? {
            floor = walk::expired(db, home.cid, times_in_sql(self.store, self.tenant)).await?;
        }
        let (above, below) = (after.max(span.above), crate::cold::after(span.up_to));
        let range = Range { above, below, direction: Direction::Down, kinds: Vec::new(), limit };
        rows::range(db, Sight { cid: home.cid, floor, user: "" }, &range).await
    }

    async fn late(&self, kept: &Kept, after: MsgId, span: Span, limit: u32) -> Result<Vec<Taken>> {
        walk::late(self.store.database(kept.home.database)?, kept, after, span, limit).await
    }

    async fn tail(&self, at: FeedPlace, limit: u32) -> Result<Part> {
        let mut homes = Homes::default();
        let mut all = Part { taken: Vec::new(), scanned: None, is_cold: false };
        let times = times_in_sql(self.store, self.tenant);
        let bounds = tail::Bounds { after: at, up_to: self.horizon, times, limit };
        for (database, db) in self.store.databases.iter().enumerate() {
            let part = tail::read(db, database, self.tenant, &bounds, &mut homes).await?;
            all.taken.extend(part.taken);
            all.is_cold |= part.is_cold;
            // Beyond where the first scan ends others may have passed over something of its database.
            all.scanned = [all.scanned, part.scanned].into_iter().flatten().min();
        }
        homes.check()?;
        all.taken.retain(|taken| all.scanned.is_none_or(|scanned| taken.place <= scanned));
        all.taken.sort_by_key(|taken| taken.place);
        all.taken.truncate(limit as usize + 1);
        Ok(all)
    }

    async fn by_keys(&self, keys: Vec<Key>) -> Result<HashMap<Key, Message>> {
        let mut parts: BTreeMap<usize, BTreeSet<(MsgId, MsgId)>> = BTreeMap::new();
        for (home, msg_id) in keys {
            self.settle(home.cid.partition(), home.database).await?;
            parts.entry(home.database).or_default().insert((home.cid, msg_id));
        }
        let mut found = HashMap::new();
        for (database, pairs) in parts {
            let db = self.store.database(database)?;
            let messages = rows::by_keys(db, &pairs, times_in_sql(self.store, self.tenant)).await?;
            let with_home = |(cid, message): (MsgId, Message)| {
                ((crate::feed::Home { database, cid }, message.msg_id), message)
            };
            found.extend(messages.into_iter().map(with_home));
        }
        Ok(found)
    }
}

/// The partitions of which the databases have said, each while it was read, that they have them.
#[derive(Default)]
struct Homes(BTreeSet<u8>);

impl Homes {
    /// Takes a list of partitions, with spaces between.
    fn add(&mut self, list: Option<&str>) -> Result<()> {
        for word in list.unwrap_or_default().split_ascii_whitespace() {
            let partition = word.parse().map_err(|_| Error::internal("a partition's number is malformed"))?;
            self.0.insert(partition);
        }
        Ok(())
    }

    /// One that was missed is on its way from one database to another.
    fn check(&self) -> Result<()> {
        match self.0.len() > usize::from(u8::MAX) {
            true => Ok(()),
            false => Err(overloaded()),
        }
    }
}
