//! Telling users of messages that they may have to be woken for, as the drain comes upon them.
//!
//! The recipients are the members of the conversation but the sender, as they are then, unless they have muted
//! it; what was taken back by then is told to nobody. Each user's server is told ([`script::WAKE`]), many users at a
//! time. A drain that dies in between repeats this with its batch, and each message counts once for each user. Conversations with very many
//! members are put off ([`super::deferred`]). A server that is away is not waited for: the entries leave the
//! log in any case, since SQL has them, and its users are woken by what comes next.

use super::super::entry::Entry;
use super::super::keys::{self, UserPlace};
use super::super::{Tiered, limits, read, script, stamp, unknown_word};
use super::deferred;
use super::talk::{Talk, talks};
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use crate::{arguments, params};
use im_domain::limits::PUSH_CONVERSATIONS_MAX;
use im_domain::{Error, MsgId, Result, Tenant, UserId};
use std::collections::{BTreeMap, BTreeSet};

/// Tells users of the messages of a partition among `entries`, which SQL has, in the database at `database`.
pub(in crate::tiered) async fn wake<'a, R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partition: u8,
    database: usize,
    entries: impl Iterator<Item = &'a Entry>,
) -> Result<()> {
    let talks = talks(store, entries)?;
    let bounds = Bounds { members: store.settings.index_members_max, users: limits::WAKE_IN_DRAIN_MAX };
    let put_off = Alarm::new(store, partition, database, &talks).tell_all(Some(bounds)).await?;
    deferred::defer(store, partition, &put_off).await
}

/// Tells all members of a conversation, however many there are.
pub(super) async fn wake_all<R: Redis, P: Postgres>(store: &Tiered<R, P>, talk: Talk) -> Result<()> {
    let partition = talk.place.partition;
    let database = store.home(partition).await?;
    Alarm::new(store, partition, database, &[talk]).tell_all(None).await.map(drop)
}

/// Beyond which conversations are put off.
#[derive(Clone, Copy)]
struct Bounds {
    /// Members of one conversation.
    members: u64,
    /// Users of one batch.
    users: usize,
}

struct Alarm<'a, R, P> {
    store: &'a Tiered<R, P>,
    partition: u8,
    database: usize,
    talks: &'a [Talk],
    /// For each server, who of its users is to be told of which talk.
    told: BTreeMap<usize, Vec<(usize, UserPlace, u64)>>,
    /// The messages of each talk that were taken back meanwhile.
    gone: BTreeMap<usize, BTreeSet<MsgId>>,
    /// How many were gathered so far.
    count: usize,
    /// Servers that could not be reached.
    away: BTreeSet<usize>,
    /// Talks of which not everybody is told now.
    put_off: Vec<&'a Talk>,
}

impl<'a, R: Redis, P: Postgres> Alarm<'a, R, P> {
    fn new(store: &'a Tiered<R, P>, partition: u8, database: usize, talks: &'a [Talk]) -> Self {
        let (told, away, put_off) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        Self { store, partition, database, talks, told, gone: BTreeMap::new(), count: 0, away, put_off }
    }

    /// Tells the members of all talks, or of as many as the bounds allow; gives those that are put off.
    async fn tell_all(mut self, bounds: Option<Bounds>) -> Result<Vec<&'a Talk>> {
        let mut left: Vec<(usize, String)> = (0..self.talks.len()).map(|at| (at, "0".to_owned())).collect();
        while !left.is_empty() {
            if bounds.is_some_and(|bounds| self.count >= bounds.users) {
                self.put_off.extend(left.iter().filter_map(|(at, _)| self.talks.get(*at)));
                break;
            }
            let rest = left.split_off(left.len().min(limits::WAKE_CONVERSATIONS_MAX));
            left = self.gather(left, bounds).await?;
            left.extend(rest);
        }
        while let Some(node) = self.told.keys().next().copied() {
            self.tell(node).await?;
        }
        Ok(self.put_off)
    }

    /// Reads members of conversations from where the cursors say; gives what is left.
    async fn gather(
        &mut self,
        part: Vec<(usize, String)>,
        bounds: Option<Bounds>,
    ) -> Result<Vec<(usize, String)>> {
        let asked: Vec<(usize, String, &Talk)> =
            part.into_iter().filter_map(|(at, cursor)| Some((at, cursor, self.talks.get(at)?))).collect();
        let mut keys = vec![keys::clock(self.partition)];
        keys.extend(asked.iter().flat_map(|(.., Talk { place, .. })| {
            [place.head(), place.members(), place.own(), place.messages()]
        }));
        let members_max = bounds.map_or(0, |bounds| bounds.members);
        let mut arguments = arguments![limits::WAKE_USERS_MAX as u64, members_max, limits::WAKE_SINCE_MAX];
        for (_, cursor, talk) in &asked {
            let (first, last, _) = talk.extent();
            arguments.extend(arguments![cursor.as_str(), stamp::text(first), stamp::text(last)]);
        }
        let (_, mut reply) = self.store.ask(self.partition, &script::RECIPIENTS, &keys, arguments).await?;
        let mut left = Vec::new();
        for (at, cursor, talk) in asked {
            match reply.text()?.as_str() {
                "later" => left.push((at, cursor)),
                "cold" if bounds.is_none() => self.gather_cold(at, talk).await?,
                "cold" | "many" => self.put_off.push(talk),
                next => {
                    let next = next.to_owned();
                    self.take(at, talk, &mut reply).await?;
                    left.extend((next != "0").then_some((at, next)));
                }
            }
        }
        Ok(left)
    }

    async fn take(&mut self, at: usize, talk: &Talk, reply: &mut Reply) -> Result<()> {
        let gone = (0..reply.number()?).map(|_| read::id(reply)).collect::<Result<Vec<_>>>()?;
        self.gone.entry(at).or_default().extend(gone);
        for _ in 0..reply.number()? {
            let user = UserId::parse(reply.text()?)?;
            self.add(at, talk, &user, reply.number()?).await?;
        }
        Ok(())
    }

    /// The members of a conversation that is not hot, or not trusted.
    async fn gather_cold(&mut self, at: usize, talk: &Talk) -> Result<()> {
        const GONE: &str = "
            SELECT msg_id FROM revision WHERE cid = $1::bigint AND msg_id BETWEEN $2::bigint AND $3::bigint
                AND action = 1";
        // A message counts if it raises the number of those that do.
        const MEMBERS: &str = "
            WITH since AS MATERIALIZED (SELECT sender, count(*) AS sent FROM (
                SELECT sender, status, countable - lag(countable, 1, $5::bigint) OVER (ORDER BY msg_id) AS counts
                FROM message WHERE cid = $1::bigint AND msg_id > $4::bigint ORDER BY msg_id LIMIT $6::bigint) m
                WHERE m.counts > 0 AND m.status = 0 GROUP BY sender)
            SELECT user_id, greatest(0, own - coalesce((SELECT sent FROM since WHERE sender = user_id), 0))
            FROM member WHERE cid = $1::bigint AND user_id > $2::text AND muted = 0
            ORDER BY user_id LIMIT $3::bigint";
        let db = self.store.database(self.database)?;
        let (first, last, countable) = talk.extent();
        let gone = db.query(GONE, params![talk.cid, first, last]).await?;
        let gone = gone.into_iter().map(|mut row| row.msg_id()).collect::<Result<Vec<_>, _>>()?;
        self.gone.entry(at).or_default().extend(gone);
        let mut after = String::new();
        loop {
            let most = limits::WAKE_USERS_MAX as u64;
            let parameters = params![talk.cid, after.as_str(), most, last, countable, limits::WAKE_SINCE_MAX];
            let rows = db.query(MEMBERS, parameters).await?;
            if rows.is_empty() {
                return Ok(());
            }
            for mut row in rows {
                after = row.text()?;
                let own = row.count()?;
                self.add(at, talk, &UserId::parse(after.as_str())?, own).await?;
            }
        }
    }

    /// Somebody is to be told of a talk.
    async fn add(&mut self, at: usize, talk: &Talk, user: &UserId, own: u64) -> Result<()> {
        self.count += 1;
        let place = UserPlace::of(&Tenant::parse(talk.place.tenant())?, user);
        let node = self.store.node_of(place.partition);
        let told = self.told.entry(node).or_default();
        told.push((at, place, own));
        match told.len() < limits::WAKE_USERS_MAX {
            true => Ok(()),
            false => self.tell(node).await,
        }
    }

    /// Tells those who are gathered of a server.
    async fn tell(&mut self, node: usize) -> Result<()> {
        let told = self.told.remove(&node).unwrap_or_default();
        let Some((_, first, _)) = told.first().filter(|_| !self.away.contains(&node)) else { return Ok(()) };
        let keys = [first.clock()];
        let mut users: BTreeMap<usize, String> = BTreeMap::new();
        for (at, place, own) in &told {
            let (_, user) = place.name.split_once('/').unwrap_or_default();
            users.entry(*at).or_default().push_str(&format!("{} {own} {user}\n", place.partition));
        }
        let mut arguments = arguments![limits::INDEX_LIFE_S, PUSH_CONVERSATIONS_MAX as u64];
        for (at, users) in users {
            let Some(talk) = self.talks.get(at) else { continue };
            let messages = talk.without(self.gone.entry(at).or_default());
            arguments.extend(arguments![talk.place.name.as_str(), talk.rule.as_str(), messages, users]);
        }
        match self.store.ask_node(node, &script::WAKE, &keys, arguments).await {
            Ok((word, _)) if word == "ok" => Ok(()),
            Ok((word, _)) => Err(unknown_word("wake", &word)),
            Err(Error::HotUnavailable { .. }) => {
                self.away.insert(node);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
