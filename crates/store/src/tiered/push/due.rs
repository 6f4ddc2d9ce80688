//! Users who are due, leased to a push service, with what there is to tell them.

use super::super::keys::{self, Place, UserPlace};
use super::super::{Tiered, limits, pages, script, stamp, topology, unknown_word};
use super::preview::{self, Wanted};
use super::standing::{self, Pair, Since, Standing};
use super::{reticent, wake};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use im_domain::limits::{PUSH_CONVERSATIONS_MAX, PUSH_LEASE_MS};
use im_domain::message::Message;
use im_domain::page::{Direction, PageQuery};
use im_domain::push::Due;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result, Tenant, UserId};
use std::collections::BTreeMap;

/// Ends the leases that are confirmed, and leases up to `limit` users of the tenant. Servers are asked in turn,
/// from another one each time; of one that is away no users are given, and no lease is ended.
pub(in crate::tiered) async fn due<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    limit: u32,
    confirm: &[String],
) -> Result<Vec<Due>> {
    let desk = Desk { store, tenant };
    let mut done: Vec<Lease> = confirm.iter().filter_map(|id| Lease::parse(tenant, id)).collect();
    let mut given = Vec::new();
    let mut is_last = false;
    for round in 1.. {
        let room = if is_last { 0 } else { (limit as usize).saturating_sub(given.len()) };
        if room == 0 && done.is_empty() {
            break;
        }
        let leased = match desk.lease(room, std::mem::take(&mut done)).await {
            Err(Error::HotUnavailable { .. }) if !given.is_empty() => break,
            leased => leased?,
        };
        is_last = leased.len() < room || round == limits::DUE_ROUNDS_MAX;
        let (mut due, nothing_left) = told(store, tenant, leased).await?;
        given.append(&mut due);
        // Who has read everything meanwhile waits no more.
        done = nothing_left;
    }
    Ok(given)
}

/// A lease as it is confirmed. Its id is its name and the user, a full stop between.
#[derive(Clone)]
struct Lease {
    name: String,
    user: UserId,
    place: UserPlace,
}

impl Lease {
    fn new(tenant: &Tenant, name: String, user: UserId) -> Self {
        Self { name, place: UserPlace::of(tenant, &user), user }
    }

    /// None when this is no lease's id.
    fn parse(tenant: &Tenant, id: &str) -> Option<Self> {
        let (name, user) = id.split_once('.')?;
        Some(Self::new(tenant, name.to_owned(), UserId::parse(user).ok()?))
    }

    fn id(&self) -> String {
        format!("{}.{}", self.name, self.user)
    }
}

/// A user who is leased, and what waits.
struct Leased {
    lease: Lease,
    /// None: not known in Redis.
    show: Option<bool>,
    /// Position of the user's database.
    database: usize,
    waiting: Vec<(ConversationId, Since)>,
}

/// Where a tenant's users are leased.
struct Desk<'a, R, P> {
    store: &'a Tiered<R, P>,
    tenant: &'a Tenant,
}

impl<R: Redis, P: Postgres> Desk<'_, R, P> {
    /// Ends leases, and leases up to `wanted` users. An error when no server could be asked.
    async fn lease(&self, wanted: usize, done: Vec<Lease>) -> Result<Vec<Leased>> {
        let count = self.store.nodes.len();
        let mut ended: BTreeMap<usize, Vec<Lease>> = BTreeMap::new();
        for lease in done {
            ended.entry(self.store.node_of(lease.place.partition)).or_default().push(lease);
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

    async fn lease_at(&self, node: usize, wanted: usize, ended: &[Lease]) -> Result<Vec<Leased>> {
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
            wake::rule(self.store, self.tenant)
        ];
        for lease in ended {
            arguments.extend(arguments![
                u64::from(lease.place.partition),
                lease.user.as_str(),
                lease.name.as_str()
            ]);
        }
        let (word, mut reply) = self.store.ask_node(node, &script::DUE, &keys, arguments).await?;
        if word != "ok" {
            return Err(unknown_word("due", &word));
        }
        let mut leased = Vec::new();
        while reply.left() > 0 {
            leased.push(self.take(&mut reply, &name)?);
        }
        Ok(leased)
    }

    fn take(&self, reply: &mut Reply, name: &str) -> Result<Leased> {
        let user = UserId::parse(reply.text()?)?;
        let show = match reply.text()?.as_str() {
            "" => None,
            show => Some(show == "1"),
        };
        let database = super::super::home::position(reply)?;
        let mut waiting = Vec::new();
        for _ in 0..reply.number()? {
            let conversation = ConversationId::parse(reply.text()?)?;
            let first = stamp::join(reply.number()?, reply.number()?);
            let since = Since { first, count: reply.number()?, own: reply.number()? };
            waiting.push((conversation, since));
        }
        Ok(Leased { lease: Lease::new(self.tenant, name.to_owned(), user), show, database, waiting })
    }
}

/// A conversation in which a user has something to be told.
struct Talk {
    conversation: ConversationId,
    since: Since,
    standing: Standing,
    unread: u64,
}

/// What there is to tell to the users; those to whom there is nothing are given back.
async fn told<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    leased: Vec<Leased>,
) -> Result<(Vec<Due>, Vec<Lease>)> {
    let talks = talks(store, tenant, &leased).await?;
    let unknown: Vec<(usize, &UserId)> = leased
        .iter()
        .filter(|leased| leased.show.is_none())
        .map(|leased| (leased.database, &leased.lease.user))
        .collect();
    let reticent = match reticent(store, tenant, &unknown).await {
        // Who may have said so is believed to have.
        Err(Error::SqlUnavailable { .. }) => unknown.iter().map(|(_, user)| (*user).clone()).collect(),
        reticent => reticent?,
    };
    let mut wanted = Vec::new();
    let mut given = Vec::new();
    let mut nothing_left = Vec::new();
    for (leased, talks) in leased.iter().zip(talks) {
        if talks.is_empty() {
            nothing_left.push(leased.lease.clone());
            continue;
        }
        let actor = Actor { tenant: tenant.clone(), user: leased.lease.user.clone(), privileged: false };
        let shows = leased.show.unwrap_or(!reticent.contains(&actor.user));
        given.push(Due {
            lease_id: leased.lease.id(),
            user: actor.user.clone(),
            messages: talks.iter().map(|talk| talk.unread).sum(),
            conversations: talks.len() as u64,
            oldest_time_ms: oldest(store, &actor, &talks).await?,
            preview: None,
        });
        wanted.push(shows.then(|| newest_of(store, actor, talks)));
    }
    let previews = preview::previews(store, wanted).await?;
    for (due, preview) in given.iter_mut().zip(previews) {
        due.preview = preview;
    }
    Ok((given, nothing_left))
}

/// For each user, the conversations in which something is unread.
async fn talks<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    leased: &[Leased],
) -> Result<Vec<Vec<Talk>>> {
    let pairs: Vec<Pair> = leased
        .iter()
        .flat_map(|leased| {
            let pair = |(conversation, _): &(ConversationId, Since)| {
                (Place::of(tenant, conversation), leased.lease.user.clone())
            };
            leased.waiting.iter().map(pair)
        })
        .collect();
    let mut standings = standing::all(store, &pairs).await?.into_iter();
    let expired = store.expired_up_to();
    let mut all = Vec::with_capacity(leased.len());
    for leased in leased {
        let mut talks = Vec::new();
        for (conversation, since) in &leased.waiting {
            let Some(mut standing) = standings.next().flatten().filter(|standing| !standing.muted) else {
                continue;
            };
            let place = Place::of(tenant, conversation);
            standing.complete(store, place.partition, *since).await?;
            let unread = standing.unread(*since, expired);
            if unread > 0 {
                talks.push(Talk { conversation: conversation.clone(), since: *since, standing, unread });
            }
        }
        all.push(talks);
    }
    Ok(all)
}

/// When the oldest of the messages was sent, in milliseconds since 1970.
async fn oldest<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: &Actor, talks: &[Talk]) -> Result<u64> {
    let expired = store.expired_up_to();
    let mut oldest = u64::MAX;
    for talk in talks {
        let above = talk.standing.above(talk.since, expired);
        let time_ms = match above < talk.since.first {
            true => talk.since.first.time_ms(),
            // The first was read, or has expired.
            false => next_time(store, actor, &talk.conversation, above).await?.unwrap_or(above.time_ms()),
        };
        oldest = oldest.min(time_ms);
    }
    Ok(oldest)
}

/// When the first message of others after one was sent.
async fn next_time<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    conversation: &ConversationId,
    above: MsgId,
) -> Result<Option<u64>> {
    let query = PageQuery {
        conversation: conversation.clone(),
        cursor: above,
        limit: limits::OLDEST_LOOK_MAX,
        direction: Direction::Down,
        from_ms: None,
        to_ms: None,
        kinds: Vec::new(),
    };
    let page = pages::pages(store, actor, vec![query]).await?.pop();
    let messages = page.and_then(Result::ok).map(|page| page.messages).unwrap_or_default();
    let is_theirs = |message: &&Message| message.sender != actor.user;
    Ok(messages.iter().find(is_theirs).map(|message| message.create_time))
}

fn newest_of<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: Actor, talks: Vec<Talk>) -> Wanted {
    let expired = store.expired_up_to();
    let mut last: Vec<(MsgId, ConversationId, MsgId)> = talks
        .into_iter()
        .map(|talk| (talk.standing.last, talk.conversation, talk.standing.above(talk.since, expired)))
        .collect();
    last.sort_unstable_by_key(|(last, ..)| std::cmp::Reverse(*last));
    Wanted { actor, talks: last.into_iter().map(|(_, conversation, above)| (conversation, above)).collect() }
}
