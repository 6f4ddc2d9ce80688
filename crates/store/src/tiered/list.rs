//! A user's conversations, newest first.
//!
//! The index of a user orders them; how each stands is asked of the servers that have it, and of SQL for
//! those that are not hot. Conversations with too many members to tell each of every message are
//! looked up, whichever part of the list is asked for.

use super::Tiered;
use super::index::{self, Contents};
use super::keys::Place;
use super::standing::{Standing, standing};
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::conversation::ConversationList;
use im_domain::device::Totals;
use im_domain::limits::LIST_CURSOR_CHARS_MAX;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result, Tenant};
use std::collections::HashMap;

pub(super) async fn list<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    cursor: &str,
    limit: u32,
) -> Result<ConversationList> {
    let below = Spot::parse(&actor.tenant, cursor)?;
    let limit = limit as usize;
    let up_to = below.as_ref().map(|below| below.number);
    // Entries of one number are told apart by their names, and there are never many.
    let contents = index::contents(store, actor, up_to, Some(limit + 1)).await?;
    let (mut spots, mut found) = looked_up(store, actor, &contents).await?;
    spots.extend(contents.numbered.iter().map(|(place, number)| Spot::of(place, *number)));
    spots.retain(|spot| below.as_ref().is_none_or(|below| spot < below));
    spots.sort_unstable_by(|a, b| b.cmp(a));
    let has_more = spots.len() > limit;
    spots.truncate(limit);
    let unread: Vec<Place> =
        spots.iter().filter(|spot| !found.contains_key(&spot.name)).filter_map(Spot::place).collect();
    found.extend(standing(store, actor, &unread).await?);
    let mut answer = ConversationList { conversations: Vec::new(), cursor: cursor.to_owned(), has_more };
    for spot in spots {
        answer.cursor = spot.cursor();
        // One that was left is not shown.
        answer.conversations.extend(found.remove(&spot.name).map(|standing| standing.conversation));
    }
    Ok(answer)
}

type Found = HashMap<String, Standing>;

/// The conversations that are looked up, and where they stand in the list.
async fn looked_up<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    contents: &Contents,
) -> Result<(Vec<Spot>, Found)> {
    let found = standing(store, actor, &contents.looked_up).await?;
    let spots = contents.looked_up.iter().filter_map(|place| {
        let standing = found.get(&place.name)?;
        Some(Spot::of(place, standing.placed))
    });
    Ok((spots.collect(), found))
}

/// What the user has not read. Costs what the user has conversations.
pub(super) async fn totals<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: &Actor) -> Result<Totals> {
    let places = index::contents(store, actor, None, None).await?.places();
    let mut totals = Totals::default();
    for unread in standing(store, actor, &places).await?.values().map(|one| one.conversation.unread) {
        totals.conversations += u64::from(unread > 0);
        totals.messages += unread;
    }
    Ok(totals)
}

/// Every conversation of the user, and those that the user has left as far as devices are still told.
pub(super) async fn names<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: &Actor) -> Result<Vec<Place>> {
    let mut places = index::contents(store, actor, None, None).await?.places();
    places.extend(index::left(store, actor).await?);
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// A place in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    number: u64,
    /// `tenant/conversation`; in a cursor the conversation.
    name: String,
}

impl Spot {
    /// A cursor; "": the start.
    fn parse(tenant: &Tenant, cursor: &str) -> Result<Option<Self>> {
        if cursor.is_empty() {
            return Ok(None);
        }
        let spot = Some(cursor).filter(|cursor| cursor.len() <= LIST_CURSOR_CHARS_MAX).and_then(|cursor| {
            let (number, conversation) = cursor.split_once('/')?;
            let conversation = ConversationId::parse(conversation).ok()?;
            Some(Self { number: number.parse().ok()?, name: Place::of(tenant, &conversation).name })
        });
        spot.ok_or_else(Error::unknown_cursor).map(Some)
    }

    fn of(place: &Place, number: u64) -> Self {
        Self { number, name: place.name.clone() }
    }

    fn place(&self) -> Option<Place> {
        Place::named(&self.name)
    }

    fn cursor(&self) -> String {
        let conversation = self.name.split_once('/').map_or("", |(_, conversation)| conversation);
        format!("{}/{conversation}", self.number)
    }
}
