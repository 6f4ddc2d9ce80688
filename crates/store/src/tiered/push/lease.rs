//! Leases on users, where their servers keep them.

use super::super::keys::{self, UserPlace};
use super::super::{Tiered, home, limits, script, stamp, topology, unknown_word};
use super::standing::Since;
use super::talk;
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use im_domain::limits::{PUSH_CONVERSATIONS_MAX, PUSH_LEASE_MS};
use im_domain::{ConversationId, Error, Result, Tenant, UserId};
use std::collections::BTreeMap;

/// Leases that end.
#[derive(Default)]
pub(super) struct Over {
    /// Their users have been told, or have read everything meanwhile.
    pub done: Vec<Lease>,
    /// Their users have read so much meanwhile that they are not due yet.
    pub early: Vec<Early>,
}

impl Over {
    pub(super) fn is_empty(&self) -> bool {
        self.done.is_empty() && self.early.is_empty()
    }
}

pub(super) struct Early {
    pub lease: Lease,
    pub messages: u64,
    pub oldest_ms: u64,
}

/// A lease as it is confirmed. Its id is its name and the user, a full stop between.
#[derive(Clone)]
pub(super) struct Lease {
    name: String,
    pub user: UserId,
    place: UserPlace,
}

impl Lease {
    fn new(tenant: &Tenant, name: String, user: UserId) -> Self {
        Self { name, place: UserPlace::of(tenant, &user), user }
    }

    /// None when this is no lease's id.
    pub(super) fn parse(tenant: &Tenant, id: &str) -> Option<Self> {
        let (name, user) = id.split_once('.')?;
        Some(Self::new(tenant, name.to_owned(), UserId::parse(user).ok()?))
    }

    /// What `due.lua` is told of it.
    fn describe(&self) -> [Argument; 3] {
        [u64::from(self.place.partition).into(), self.user.as_str().into(), self.name.as_str().into()]
    }

    pub(super) fn id(&self) -> String {
        format!("{}.{}", self.name, self.user)
    }
}

/// A user who is leased, and what waits.
pub(super) struct Leased {
    pub lease: Lease,
    /// When, by the user's server, in milliseconds since 1970.
    pub at_ms: u64,
    /// None: not known in Redis.
    pub show: Option<bool>,
    /// Position of the user's database.
    pub database: usize,
    pub waiting: Vec<(ConversationId, Since)>,
}

/// Where a tenant's users are leased.
pub(super) struct Desk<'a, R, P> {
    pub store: &'a Tiered<R, P>,
    pub tenant: &'a Tenant,
}

impl<R: Redis, P: Postgres> Desk<'_, R, P> {
    /// Ends leases, and leases up to `wanted` users. An error when no server could be asked.
    pub(super) async fn lease(&self, wanted: usize, over: Over) -> Result<Vec<Leased>> {
        let count = self.store.nodes.len();
        let mut ended: BTreeMap<usize, Over> = BTreeMap::new();
        for lease in over.done {
            ended.entry(self.store.node_of(lease.place.partition)).or_default().done.push(lease);
        }
        for early in over.early {
            ended.entry(self.store.node_of(early.lease.place.partition)).or_default().early.push(early);
        }
        let start = ((self.store.settings.random)() % count as u128) as usize;
        let mut leased = Vec::new();
        let mut failure = None;
        for node in (start..count).chain(0..start) {
            let room = wanted.saturating_sub(leased.len());
            let ended = ended.remove(&node).unwrap_or_default();
            if room == 0 && ended.is_empty() {
                continue;
            }
            match self.lease_at(node, room, &ended).await {
                Ok(mut part) => leased.append(&mut part),
                Err(error @ Error::HotUnavailable { .. }) => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        failure.filter(|_| leased.is_empty()).map_or(Ok(leased), Err)
    }

    async fn lease_at(&self, node: usize, wanted: usize, ended: &Over) -> Result<Vec<Leased>> {
        let partitions = topology::partitions_of(node, self.store.nodes.len());
        let Some(any) = partitions.first().copied() else { return Ok(Vec::new()) };
        let keys = [keys::clock(any), keys::due(self.tenant.as_str())];
        let name = self.store.random_name();
        let mut arguments = arguments![
            self.tenant.as_str(),
            wanted as u64,
            name.as_str(),
            PUSH_LEASE_MS,
            limits::INDEX_LIFE_S,
            PUSH_CONVERSATIONS_MAX as u64,
            talk::rule(self.store, self.tenant),
            ended.done.len() as u64
        ];
        arguments.extend(ended.done.iter().flat_map(Lease::describe));
        for Early { lease, messages, oldest_ms } in &ended.early {
            arguments.extend(lease.describe());
            arguments.extend(arguments![*messages, *oldest_ms]);
        }
        let (word, mut reply) = self.store.ask_node(node, &script::DUE, &keys, arguments).await?;
        if word != "ok" {
            return Err(unknown_word("due", &word));
        }
        let at_ms = reply.number()?;
        let mut leased = Vec::new();
        while reply.left() > 0 {
            leased.push(self.take(&mut reply, &name, at_ms)?);
        }
        Ok(leased)
    }

    fn take(&self, reply: &mut Reply, name: &str, at_ms: u64) -> Result<Leased> {
        let user = UserId::parse(reply.text()?)?;
        let show = match reply.text()?.as_str() {
            "" => None,
            show => Some(show == "1"),
        };
        let database = home::position(reply)?;
        let mut waiting = Vec::new();
        for _ in 0..reply.number()? {
            let conversation = ConversationId::parse(reply.text()?)?;
            let first = stamp::join(reply.number()?, reply.number()?);
            let since = Since { first, count: reply.number()?, own: reply.number()? };
            waiting.push((conversation, since));
        }
        let lease = Lease::new(self.tenant, name.to_owned(), user);
        Ok(Leased { lease, at_ms, show, database, waiting })
    }
}
