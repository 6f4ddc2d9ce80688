//! A user's conversations, newest first.
//!
//! The index of a user names them; where each stands is asked of the servers that have them, and of SQL
//! for those that are not hot. It costs what the user has conversations.

use super::keys::{self, Place, partition_of_user};
use super::view::{View, cold, complete};
use super::{Tiered, layout, limits, persist, script, stamp, unknown_word};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis};
use crate::sql::Value;
use im_domain::conversation::{Conversation, ConversationList, list_cursor};
use im_domain::partition::PARTITIONS;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};
use std::collections::{BTreeMap, HashMap};

pub(super) async fn list<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    cursor: &str,
    limit: u32,
) -> Result<ConversationList> {
    let below = list_cursor(cursor)?;
    let names = names(store, actor).await?;
    let mut standing = standing(store, actor, &names).await?;
    standing.retain(|(place_in_list, ..)| *place_in_list < below);
    standing.sort_unstable_by_key(|(place_in_list, ..)| std::cmp::Reverse(*place_in_list));
    let has_more = standing.len() > limit as usize;
    standing.truncate(limit as usize);
    let mut views = views(store, actor, &standing).await?;
    let mut answer = ConversationList { conversations: Vec::new(), cursor: cursor.to_owned(), has_more };
    for (place_in_list, place, _) in &standing {
        // A conversation that was left meanwhile is not shown.
        let Some(conversation) = views.remove(&place.name) else { continue };
        answer.conversations.push(conversation);
        answer.cursor = place_in_list.to_string();
    }
    Ok(answer)
}

/// The conversations of a user's index, and perhaps some that the user has left.
pub(super) async fn names<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: &Actor) -> Result<Vec<Place>> {
    let partition = partition_of_user(&actor.tenant, &actor.user);
    let keys = [keys::index(&actor.tenant, &actor.user), keys::clock(partition)];
    let node = store.node_of(partition);
    for _ in 0..limits::ATTEMPTS_MAX {
        let arguments = arguments![limits::INDEX_LIFE_S];
        let (word, mut reply) = store.ask_node(node, &script::CONTENTS, &keys, arguments).await?;
        match word.as_str() {
            "incomplete" => recall(store, actor, node).await?,
            "ok" => {
                let mut places = Vec::with_capacity(reply.left());
                while reply.left() > 0 {
                    places.extend(Place::named(&reply.text()?));
                }
                return Ok(places);
            }
            word => return Err(unknown_word("contents", word)),
        }
    }
    Err(Error::internal("a user's index was made complete again and again"))
}

/// Adds to a user's index what SQL knows.
async fn recall<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: &Actor, node: usize) -> Result<()> {
    const STATEMENT: &str = "
        SELECT c.name FROM member m JOIN conversation c ON c.cid = m.cid
        WHERE m.tenant = $1::text AND m.user_id = $2::text";
    every_partition_is_listed(store).await?;
    let run = store.run(node).await?;
    let mut arguments: Vec<Argument> = arguments![limits::INDEX_LIFE_S, run];
    for database in &store.databases {
        let parameters = crate::params![actor.tenant.as_str(), actor.user.as_str()];
        for mut row in database.query(STATEMENT, parameters).await? {
            arguments.push(Argument::from(format!("{}/{}", actor.tenant, row.text()?)));
        }
    }
    let keys = [keys::index(&actor.tenant, &actor.user)];
    script::INDEX.run(&store.node(node)?.redis, &keys, &arguments).await?;
    Ok(())
}

/// While databases are added or removed, a shorter list may miss some that have partitions.
pub(super) async fn every_partition_is_listed<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    const STATEMENT: &str = "SELECT count(*) FROM partition_state WHERE home = 1";
    if layout::is_longest(store).await? {
        return Ok(());
    }
    let mut listed = 0;
    for database in &store.databases {
        listed +=
            database.query(STATEMENT, Vec::new()).await?.first_mut().map_or(Ok(0), |row| row.count())?;
    }
    match listed >= PARTITIONS as u64 {
        true => Ok(()),
        false => Err(Error::internal("partitions are in databases that the list does not have")),
    }
}

/// Place in the list, place in the store, and, when it is not hot, the database that has it.
type Standing = (MsgId, Place, Option<usize>);

/// Where the user's conversations stand; those the user is no member of are left out.
async fn standing<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    places: &[Place],
) -> Result<Vec<Standing>> {
    let mut found = Vec::with_capacity(places.len());
    let mut cold: BTreeMap<usize, Vec<&Place>> = BTreeMap::new();
    for (node, places) in by(places.iter(), |place| store.node_of(place.partition)) {
        let keys: Vec<String> =
            places.iter().flat_map(|place| [place.clock(), place.head(), place.members()]).collect();
        let arguments = arguments![actor.user.as_str()];
        let (_, mut reply) = store.ask_node(node, &script::PLACES, &keys, arguments).await?;
        for place in places {
            let text = reply.text()?;
            let (is_untrusted, position) = (text.starts_with('?'), text.strip_prefix(['@', '?']));
            if is_untrusted {
                persist::reach_now(store, place.partition).await?;
            }
            match position.map(str::parse) {
                Some(Ok(database)) => cold.entry(database).or_default().push(place),
                _ => found.extend(stamp::parse(&text).map(|id| (id.place(), place.clone(), None))),
            }
        }
    }
    for (database, places) in cold {
        let places: HashMap<&str, &Place> =
            places.into_iter().map(|place| (place.conversation(), place)).collect();
        for (name, newest) in cold_places(store, database, actor, &places).await? {
            found.extend(
                places.get(name.as_str()).map(|place| (newest.place(), (*place).clone(), Some(database))),
            );
        }
    }
    Ok(found)
}

fn by<'a, K: Ord>(
    places: impl Iterator<Item = &'a Place>,
    key: impl Fn(&Place) -> K,
) -> BTreeMap<K, Vec<&'a Place>> {
    let mut groups: BTreeMap<K, Vec<&Place>> = BTreeMap::new();
    for place in places {
        groups.entry(key(place)).or_default().push(place);
    }
    groups
}

async fn cold_places<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    actor: &Actor,
    places: &HashMap<&str, &Place>,
) -> Result<Vec<(String, MsgId)>> {
    const STATEMENT: &str = "
        SELECT c.name, greatest(c.head_msg_id, c.cid) FROM conversation c
        JOIN member m ON m.cid = c.cid AND m.user_id = $3::text
        WHERE c.tenant = $1::text AND c.name = ANY ($2::text[])";
    let names = places.keys().map(|name| Some((*name).to_owned())).collect();
    let parameters = vec![actor.tenant.as_str().into(), Value::Texts(names), actor.user.as_str().into()];
    let rows = store.database(database)?.query(STATEMENT, parameters).await?;
    rows.into_iter().map(|mut row| Ok((row.text()?, row.msg_id()?))).collect()
}

/// The conversations of a page of the list, by name.
async fn views<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    page: &[Standing],
) -> Result<HashMap<String, Conversation>> {
    let expired = store.expired_up_to();
    let mut found = HashMap::new();
    let mut is_cold: BTreeMap<usize, Vec<&Place>> = BTreeMap::new();
    for (_, place, database) in page {
        database.iter().for_each(|database| is_cold.entry(*database).or_default().push(place));
    }
    let hot = page.iter().filter(|(_, _, database)| database.is_none()).map(|(_, place, _)| place);
    for (node, places) in by(hot, |place| store.node_of(place.partition)) {
        let asked: Vec<Place> = places.iter().map(|place| (*place).clone()).collect();
        let views = View::all(store, node, &asked, Some(&actor.user)).await?;
        for (place, mut view) in places.into_iter().zip(views) {
            complete(store, place, &mut view).await?;
            match view.facts() {
                Some(facts) if facts.member.is_some() => {
                    let id = ConversationId::parse(place.conversation())?;
                    found.insert(place.name.clone(), facts.conversation(id, &view.epoch, expired)?);
                }
                Some(_) => {}
                // It has become cold since its place was asked.
                None => is_cold.entry(store.home(place.partition).await?).or_default().push(place),
            }
        }
    }
    for (database, places) in is_cold {
        let names = places.iter().map(|place| place.conversation().to_owned()).collect();
        for (id, view) in cold(store, database, actor, names).await? {
            if let Some(facts) = view.facts() {
                let conversation = facts.conversation(id.clone(), &view.epoch, expired)?;
                found.insert(format!("{}/{id}", actor.tenant), conversation);
            }
        }
    }
    Ok(found)
}

pub(super) async fn totals<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _actor: &Actor,
) -> Result<im_domain::device::Totals> {
    Err(Error::internal("not made yet"))
}
