//! Users who are due, leased to a push service, with what there is to tell them.

use super::super::keys::Place;
use super::super::{Tiered, limits, pages};
use super::lease::{Desk, Early, Lease, Leased, Over};
use super::preview::{self, Wanted};
use super::reticent;
use super::standing::{self, Pair, Since, Standing};
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::message::{Kind, Message, Status};
use im_domain::page::{Direction, PageQuery};
use im_domain::push::Due;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result, Tenant, UserId};
use std::collections::BTreeSet;

/// Ends the leases that are confirmed, and leases up to `limit` users of the tenant. Servers are asked in turn,
/// from another one each time; of one that is away no users are given, and no lease is ended.
pub(in crate::tiered) async fn due<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    limit: u32,
    confirm: &[String],
) -> Result<Vec<Due>> {
    let desk = Desk { store, tenant };
    let done = confirm.iter().filter_map(|id| Lease::parse(tenant, id)).collect();
    let mut over = Over { done, early: Vec::new() };
    let mut given = Vec::new();
    let mut is_last = false;
    for round in 1.. {
        let room = if is_last { 0 } else { (limit as usize).saturating_sub(given.len()) };
        if room == 0 && over.is_empty() {
            break;
        }
        let leased = match desk.lease(room, std::mem::take(&mut over)).await {
            Err(Error::HotUnavailable { .. }) if !given.is_empty() => break,
            leased => leased?,
        };
        is_last = leased.len() < room || round == limits::DUE_ROUNDS_MAX;
        let mut due;
        (due, over) = told(store, tenant, leased).await?;
        given.append(&mut due);
    }
    Ok(given)
}

/// A conversation in which a user has something to be told.
struct Talk {
    conversation: ConversationId,
    since: Since,
    standing: Standing,
    unread: u64,
}

/// What there is to tell to the users who are due, and the leases of the others.
async fn told<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    leased: Vec<Leased>,
) -> Result<(Vec<Due>, Over)> {
    let rule = store.settings.push.of(tenant);
    let talks = talks(store, tenant, &leased).await?;
    let reticent = reticent_of(store, tenant, &leased).await?;
    let (mut given, mut wanted, mut over) = (Vec::new(), Vec::new(), Over::default());
    for (Leased { lease, at_ms, show, .. }, talks) in leased.into_iter().zip(talks) {
        if talks.is_empty() {
            over.done.push(lease);
            continue;
        }
        let actor = Actor { tenant: tenant.clone(), user: lease.user.clone(), privileged: false };
        let messages = talks.iter().map(|talk| talk.unread).sum();
        let oldest_time_ms = oldest(store, &actor, &talks).await?;
        // Whether the user is away has been seen to.
        if rule.due_ms(at_ms, messages, oldest_time_ms, 0) > at_ms {
            over.early.push(Early { lease, messages, oldest_ms: oldest_time_ms });
            continue;
        }
        given.push(Due {
            lease_id: lease.id(),
            user: lease.user,
            messages,
            conversations: talks.len() as u64,
            oldest_time_ms,
            preview: None,
        });
        let shows = show.unwrap_or(!reticent.contains(&actor.user));
        wanted.push(shows.then(|| newest_of(actor, talks)));
    }
    let previews = preview::previews(store, wanted).await?;
    for (due, preview) in given.iter_mut().zip(previews) {
        due.preview = preview;
    }
    Ok((given, over))
}

/// Those of whom Redis does not know whether a push may show what was said, and who allow it not, or perhaps not.
async fn reticent_of<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    leased: &[Leased],
) -> Result<BTreeSet<UserId>> {
    let unknown: Vec<(usize, &UserId)> = leased
        .iter()
        .filter(|leased| leased.show.is_none())
        .map(|leased| (leased.database, &leased.lease.user))
        .collect();
    match reticent(store, tenant, &unknown).await {
        Err(Error::SqlUnavailable { .. }) => Ok(unknown.into_iter().map(|(_, user)| user.clone()).collect()),
        reticent => reticent,
    }
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
    let mut standings = standing::all(store, tenant, &pairs).await?.into_iter();
    let mut all = Vec::with_capacity(leased.len());
    for leased in leased {
        let mut talks = Vec::new();
        for (conversation, since) in &leased.waiting {
            let Some(mut standing) = standings.next().flatten().filter(|standing| !standing.muted) else {
                continue;
            };
            let place = Place::of(tenant, conversation);
            standing.complete(store, place.partition, *since).await?;
            let unread = standing.unread(*since);
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
    let mut oldest = u64::MAX;
    for talk in talks {
        let above = talk.standing.above(talk.since);
        let time_ms = match above < talk.since.first && !talk.standing.may_lack_first(talk.since) {
            true => talk.since.first.time_ms(),
            // The first was read, or has expired, or was taken back.
            false => next_time(store, actor, &talk.conversation, above)
                .await?
                .unwrap_or(above.max(talk.since.first).time_ms()),
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
    let counts = |message: &&Message| {
        message.sender != actor.user && message.kind != Kind::Recall && message.status == Status::Normal
    };
    Ok(messages.iter().find(counts).map(|message| message.create_time))
}

fn newest_of(actor: Actor, talks: Vec<Talk>) -> Wanted {
    let mut last: Vec<(MsgId, ConversationId, MsgId)> = talks
        .into_iter()
        .map(|talk| (talk.standing.last, talk.conversation, talk.standing.above(talk.since)))
        .collect();
    last.sort_unstable_by_key(|(last, ..)| std::cmp::Reverse(*last));
    Wanted { actor, talks: last.into_iter().map(|(_, conversation, above)| (conversation, above)).collect() }
}
