//! Where users stand in conversations: many users at once, each in one conversation.

use super::super::cold::Cold;
use super::super::keys::Place;
use super::super::view::Member;
use super::super::{Tiered, home, limits, persist, read, retention, script, stamp};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use crate::sql::{Row, Value};
use im_domain::{Error, MsgId, Result, Tenant, UserId};
use std::collections::BTreeMap;

/// A user in a conversation.
pub(super) type Pair = (Place, UserId);

/// A conversation as one of its members stands in it.
pub(super) struct Standing {
    cid: MsgId,
    /// The newest message.
    pub last: MsgId,
    /// Countable messages.
    count: u64,
    /// Messages from this id on are all hot.
    hot: MsgId,
    pub read: MsgId,
    read_count: u64,
    read_own: u64,
    /// Countable messages the user has sent since joining.
    own: u64,
    pub muted: bool,
    /// The oldest message that has not expired, as far as it is known, and the countable ones up to it.
    oldest: Option<(MsgId, u64)>,
    /// Places among those that count of messages after the read position that were taken back: the first hundred.
    recalled: Vec<u64>,
    /// Of those after it that have not expired and would be unread, had the user not hidden them, the first hundred.
    hidden: Vec<MsgId>,
    /// The newest message that has expired.
    expired: MsgId,
}

/// The first message of some, and how many countable messages there were before it, and of the user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Since {
    pub first: MsgId,
    pub count: u64,
    pub own: u64,
}

impl Since {
    /// The last message before it.
    fn before(self) -> MsgId {
        MsgId::new(self.first.number().saturating_sub(1)).unwrap_or_default()
    }
}

impl Standing {
    /// Messages above this one and not expired are those that [`Self::unread`] counts.
    pub fn above(&self, since: Since) -> MsgId {
        self.read.max(since.before()).max(self.expired)
    }

    /// How many messages of others the user has not read since then.
    pub fn unread(&self, since: Since) -> u64 {
        let others = |count: u64, own: u64, from: MsgId| {
            let recalled = self.recalled.iter().filter(|place| **place > count).count() as u64;
            let hidden = self.hidden.iter().filter(|id| **id >= from).count() as u64;
            self.count.saturating_sub(count).saturating_sub(self.own.saturating_sub(own) + recalled + hidden)
        };
        let since_read = others(self.read_count, self.read_own, MsgId::NONE);
        let unread = since_read.min(others(since.count, since.own, since.first));
        if !self.reaches_expired(since) {
            return unread;
        }
        unread.min(self.oldest.map_or(0, |(_, count)| (self.count + 1).saturating_sub(count)))
    }

    /// Whether the first message may have been taken back or hidden.
    pub fn may_lack_first(&self, since: Since) -> bool {
        self.hidden.contains(&since.first) || self.recalled.iter().any(|place| *place > since.count)
    }

    fn reaches_expired(&self, since: Since) -> bool {
        self.read.max(since.before()) < self.expired
    }

    /// Looks in SQL for the oldest message that has not expired, where that matters and it may not be hot.
    pub async fn complete<R: Redis, P: Postgres>(
        &mut self,
        store: &Tiered<R, P>,
        partition: u8,
        since: Since,
    ) -> Result<()> {
        if !self.reaches_expired(since) || self.hot.number() <= self.expired.number() + 1 {
            return Ok(());
        }
        self.find_oldest(store.sql(partition).await?).await
    }

    /// Looks in SQL for the oldest message that has not expired.
    async fn find_oldest<P: Postgres>(&mut self, db: &P) -> Result<()> {
        const STATEMENT: &str = "
            SELECT (c.cold_msg_id > $2::bigint)::int, m.msg_id, m.countable FROM conversation c
            LEFT JOIN LATERAL (SELECT msg_id, countable FROM message WHERE cid = c.cid AND msg_id > $2::bigint
                ORDER BY msg_id LIMIT 1) m ON true
            WHERE c.cid = $1::bigint";
        let mut rows = db.query(STATEMENT, crate::params![self.cid, self.expired]).await?;
        let Some(row) = rows.first_mut() else { return Ok(()) };
        let begins_in_cold = row.flag()?;
        let in_rows = row.opt_msg_id()?.zip(row.opt_int()?.map(i64::unsigned_abs));
        let in_cold = match begins_in_cold {
            true => Cold { db, cid: self.cid }.oldest(self.expired, MsgId::MAX).await?,
            false => None,
        };
        let in_cold = in_cold.map(|record| (record.msg_id, record.countable));
        self.oldest = [self.oldest, in_rows, in_cold].into_iter().flatten().min();
        Ok(())
    }
}

/// Where each user stands, all of one tenant; none: the user is no member.
pub(super) async fn all<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    pairs: &[Pair],
) -> Result<Vec<Option<Standing>>> {
    let mut found: Vec<Option<Standing>> = pairs.iter().map(|_| None).collect();
    let mut nodes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, (place, _)) in pairs.iter().enumerate() {
        nodes.entry(store.node_of(place.partition)).or_default().push(at);
    }
    let mut cold: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, all) in nodes {
        for part in all.chunks(limits::STANDINGS_MAX) {
            let asked: Vec<(usize, &Pair)> =
                part.iter().filter_map(|at| Some((*at, pairs.get(*at)?))).collect();
            hot(store, tenant, node, &asked, &mut found, &mut cold).await?;
        }
    }
    for (database, all) in cold {
        let asked: Vec<(usize, &Pair)> =
            all.into_iter().filter_map(|at| Some((at, pairs.get(at)?))).collect();
        in_sql(store, tenant, database, &asked, &mut found).await?;
    }
    Ok(found)
}

/// Those that are hot on a server; the others are added to `cold`, by database.
async fn hot<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    node: usize,
    asked: &[(usize, &Pair)],
    found: &mut [Option<Standing>],
    cold: &mut BTreeMap<usize, Vec<usize>>,
) -> Result<()> {
    let keys: Vec<String> = asked
        .iter()
        .flat_map(|(_, (place, _))| {
            [place.clock(), place.head(), place.members(), place.own(), place.messages()]
        })
        .collect();
    let mut arguments = arguments![retention::times(store, tenant)];
    arguments.extend(asked.iter().map(|(_, (_, user))| Argument::from(user.as_str())));
    let (_, mut reply) = store.ask_node(node, &script::STANDING, &keys, arguments).await?;
    for (at, (place, _)) in asked {
        let state = reply.number()?;
        let database = home::position(&mut reply)?;
        if state == 1 {
            place_in(found, *at, Standing::take(&mut reply)?);
            continue;
        }
        for _ in 0..11 {
            reply.bytes()?;
        }
        if state == 2 {
            persist::reach_now(store, place.partition).await?;
        }
        cold.entry(database).or_default().push(*at);
    }
    Ok(())
}

impl Standing {
    fn take(reply: &mut Reply) -> Result<Option<Self>> {
        let (cid, last) = (read::id(reply)?, read::id(reply)?);
        let count = reply.number()?;
        let hot = read::id(reply)?;
        let member = reply.text()?;
        let own = reply.number()?;
        let oldest_count = reply.number()?;
        let oldest = stamp::parse(&reply.text()?).map(|id| (id, oldest_count));
        let recalled = numbers(&reply.text()?)?;
        let hidden = stamps(&reply.text()?)?;
        let expired = read::id(reply)?;
        if member.is_empty() {
            return Ok(None);
        }
        let member = Member::parse(&member, own)?;
        Ok(Some(Self {
            cid,
            last,
            count,
            hot,
            read: member.read,
            read_count: member.read_count,
            read_own: member.read_own,
            own: member.own,
            muted: member.muted,
            oldest,
            recalled,
            hidden,
            expired,
        }))
    }

    fn of_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            cid: row.msg_id()?,
            last: row.msg_id()?,
            count: row.count()?,
            hot: MsgId::NONE,
            read: row.msg_id()?,
            read_count: row.count()?,
            read_own: row.count()?,
            own: row.count()?,
            muted: row.flag()?,
            oldest: row.opt_msg_id()?.zip(row.opt_int()?.map(i64::unsigned_abs)),
            recalled: numbers(&row.opt_text()?.unwrap_or_default())?,
            hidden: ids(&row.opt_text()?.unwrap_or_default())?,
            expired: row.msg_id()?,
        })
    }
}

/// Numbers with commas between.
fn numbers(text: &str) -> Result<Vec<u64>> {
    let malformed = |_| Error::internal("what was taken back is malformed in the hot store");
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().map_err(malformed)).collect()
}

/// Stamps with commas between.
fn stamps(text: &str) -> Result<Vec<MsgId>> {
    let malformed = || Error::internal("what was hidden is malformed in the hot store");
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts.map(|part| stamp::parse(part).ok_or_else(malformed)).collect()
}

/// The same of ids.
fn ids(text: &str) -> Result<Vec<MsgId>> {
    Ok(numbers(text)?.into_iter().filter_map(MsgId::new).collect())
}

fn place_in(found: &mut [Option<Standing>], at: usize, standing: Option<Standing>) {
    if let Some(slot) = found.get_mut(at) {
        *slot = standing;
    }
}

/// Those that are not hot, as a database has them.
async fn in_sql<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    database: usize,
    asked: &[(usize, &Pair)],
    found: &mut [Option<Standing>],
) -> Result<()> {
    let statement = format!(
        "SELECT i.at, c.cid, c.head_msg_id, c.head_countable, m.read_msg_id, m.read_countable, m.read_own, m.own,
            m.muted, o.msg_id, o.countable, (SELECT string_agg(v.countable::text, ',') FROM (
                SELECT countable FROM revision WHERE cid = c.cid AND countable > m.read_countable
                ORDER BY countable LIMIT 100) v), (SELECT string_agg(h.msg_id::text, ',') FROM (
                SELECT msg_id FROM hidden x WHERE cid = c.cid AND user_id = m.user_id AND counts = 1
                    AND msg_id > greatest(m.read_msg_id, e.expired) AND NOT EXISTS (SELECT 1 FROM revision
                        WHERE cid = x.cid AND msg_id = x.msg_id AND countable > 0)
                ORDER BY msg_id LIMIT 100) h), e.expired,
            (c.cold_msg_id > e.expired AND m.read_msg_id < e.expired)::int
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS i(at, tenant, name, user_id)
        JOIN conversation c ON c.tenant = i.tenant AND c.name = i.name
        JOIN member m ON m.cid = c.cid AND m.user_id = i.user_id
        CROSS JOIN LATERAL (SELECT {} AS expired) e
        LEFT JOIN LATERAL (SELECT msg_id, countable FROM message WHERE cid = c.cid AND msg_id > e.expired
            ORDER BY msg_id LIMIT 1) o ON e.expired > 0",
        retention::expired_up_to("$5")
    );
    let mut parameters = vec![Value::Integers(asked.iter().map(|(at, _)| Some(*at as i64)).collect())];
    parameters.extend(names(asked.iter().map(|(_, pair)| *pair)));
    parameters.push(retention::times_in_sql(store, tenant));
    let db = store.database(database)?;
    for mut row in db.query(&statement, parameters).await? {
        let at = row.count()? as usize;
        let mut standing = Standing::of_row(&mut row)?;
        if row.flag()? {
            standing.find_oldest(db).await?;
        }
        place_in(found, at, Some(standing));
    }
    Ok(())
}

/// Tenants, conversations and users, as arrays.
pub(super) fn names<'a>(pairs: impl Iterator<Item = &'a Pair> + Clone) -> [Value; 3] {
    let texts =
        |text: &dyn Fn(&Pair) -> String| Value::Texts(pairs.clone().map(|pair| Some(text(pair))).collect());
    [
        texts(&|(place, _)| place.tenant().to_owned()),
        texts(&|(place, _)| place.conversation().to_owned()),
        texts(&|(_, user)| user.to_string()),
    ]
}
