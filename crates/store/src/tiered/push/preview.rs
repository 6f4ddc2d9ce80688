//! What a push shows: the newest messages that wait, read as any reader reads them.

use super::super::cold::Cold;
use super::super::keys::Place;
use super::super::rows::{SHOWN, is_hidden};
use super::super::view::countable_up_to;
use super::super::{Tiered, limits, pages, read, script, stamp};
use super::standing::{Pair, names};
use crate::arguments;
use crate::cold::after;
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use crate::sql::Value;
use im_domain::limits::PUSH_PREVIEW_MAX;
use im_domain::message::{Kind, Message, Status};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A user who may be shown messages, and conversations, the one with the newest message first, each with the
/// message above which there are some to be told.
pub(super) struct Wanted {
    pub actor: Actor,
    pub talks: Vec<(ConversationId, MsgId)>,
}

type Preview = Vec<(ConversationId, Message)>;

/// For each user who is wanted, the newest messages, newest first.
pub(super) async fn previews<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    wanted: Vec<Option<Wanted>>,
) -> Result<Vec<Option<Preview>>> {
    let mut looks: Vec<Look> = Vec::new();
    for (user, wanted) in wanted.iter().enumerate() {
        // The newest few messages are in the conversations that have the newest ones.
        for (conversation, above) in
            wanted.iter().flat_map(|wanted| wanted.talks.iter().take(PUSH_PREVIEW_MAX))
        {
            let Some(Wanted { actor, .. }) = wanted else { continue };
            let place = Place::of(&actor.tenant, conversation);
            looks.push(Look { user, pair: (place, actor.user.clone()), above: *above, found: Vec::new() });
        }
    }
    find(store, &mut looks).await?;
    let mut newest: Vec<Vec<(MsgId, &Place)>> = wanted.iter().map(|_| Vec::new()).collect();
    for look in &looks {
        if let Some(newest) = newest.get_mut(look.user) {
            newest.extend(look.found.iter().map(|id| (*id, &look.pair.0)));
        }
    }
    let mut previews = Vec::with_capacity(wanted.len());
    for (wanted, mut newest) in wanted.iter().zip(newest) {
        newest.sort_unstable_by_key(|(id, _)| Reverse(*id));
        newest.truncate(PUSH_PREVIEW_MAX);
        previews.push(match wanted {
            Some(Wanted { actor, .. }) => Some(read_all(store, actor, newest).await?),
            None => None,
        });
    }
    Ok(previews)
}

/// A conversation in which a user's newest messages are looked for.
struct Look {
    /// The user's number.
    user: usize,
    pair: Pair,
    above: MsgId,
    /// Newest first.
    found: Vec<MsgId>,
}

/// Messages by id, as the user sees them; newest first.
async fn read_all<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    newest: Vec<(MsgId, &Place)>,
) -> Result<Preview> {
    let mut by_place: BTreeMap<&Place, Vec<MsgId>> = BTreeMap::new();
    for (id, place) in newest {
        by_place.entry(place).or_default().push(id);
    }
    let mut preview = Preview::new();
    for (place, ids) in by_place {
        let conversation = ConversationId::parse(place.conversation())?;
        let found = match pages::get(store, actor, &conversation, &ids).await {
            Err(error) if error.is_systemic() => return Err(error),
            // Left meanwhile.
            Err(_) => continue,
            Ok(found) => found.messages,
        };
        let is_whole = |message: &Message| message.status == Status::Normal;
        preview.extend(found.into_iter().filter(is_whole).map(|message| (conversation.clone(), message)));
    }
    preview.sort_by_key(|(_, message)| Reverse(message.msg_id));
    Ok(preview)
}

/// Finds the newest messages of each conversation that count for its user.
async fn find<R: Redis, P: Postgres>(store: &Tiered<R, P>, looks: &mut [Look]) -> Result<()> {
    looks.sort_by_key(|look| store.node_of(look.pair.0.partition));
    let mut below: Vec<Option<MsgId>> = Vec::with_capacity(looks.len());
    for of_node in
        looks.chunk_by_mut(|a, b| store.node_of(a.pair.0.partition) == store.node_of(b.pair.0.partition))
    {
        for part in of_node.chunks_mut(limits::PREVIEW_CONVERSATIONS_MAX) {
            below.extend(find_hot(store, part).await?);
        }
    }
    let mut cold: BTreeMap<usize, Vec<(usize, MsgId)>> = BTreeMap::new();
    for (at, (look, below)) in looks.iter().zip(below).enumerate() {
        if let Some(below) = below {
            cold.entry(store.home(look.pair.0.partition).await?).or_default().push((at, below));
        }
    }
    for (database, asked) in cold {
        find_cold(store, database, &asked, looks).await?;
    }
    Ok(())
}

/// Those that are hot; gives for each below which message SQL may have more that are needed.
async fn find_hot<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    part: &mut [Look],
) -> Result<Vec<Option<MsgId>>> {
    let Some(node) = part.first().map(|look| store.node_of(look.pair.0.partition)) else {
        return Ok(Vec::new());
    };
    let keys: Vec<String> = part
        .iter()
        .flat_map(|Look { pair: (place, _), .. }| [place.clock(), place.head(), place.messages()])
        .collect();
    let mut arguments = arguments![PUSH_PREVIEW_MAX as u64, limits::PREVIEW_LOOK_MAX];
    for look in part.iter() {
        arguments.extend(arguments![look.pair.1.as_str(), stamp::text(look.above)]);
    }
    let (_, mut reply) = store.ask_node(node, &script::NEWEST, &keys, arguments).await?;
    part.iter_mut().map(|look| look.take(&mut reply)).collect()
}

impl Look {
    fn take(&mut self, reply: &mut Reply) -> Result<Option<MsgId>> {
        let below = match reply.text()?.as_str() {
            "" => None,
            "+" => Some(MsgId::MAX),
            text => stamp::parse(text),
        };
        for _ in 0..reply.number()? {
            self.found.push(read::id(reply)?);
        }
        Ok(below)
    }
}

/// Those of a database that are not hot, or not hot far enough back.
async fn find_cold<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    asked: &[(usize, MsgId)],
    looks: &mut [Look],
) -> Result<()> {
    let statement = format!(
        "SELECT i.at, c.cid, c.cold_msg_id, n.looked, coalesce(n.found, '')
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
            AS i(at, tenant, name, user_id, above, below)
        JOIN conversation c ON c.tenant = i.tenant AND c.name = i.name
        CROSS JOIN LATERAL (
            SELECT count(*) AS looked, string_agg(x.msg_id::text, ',' ORDER BY x.msg_id DESC) FILTER (
                WHERE x.sender <> i.user_id AND x.kind <> {control} AND x.status = {normal} AND NOT {hidden}
                    AND x.countable > {before}) AS found
            FROM (SELECT * FROM message WHERE cid = c.cid AND msg_id > greatest(i.above, c.cold_msg_id)
                AND msg_id < i.below AND {SHOWN} ORDER BY msg_id DESC LIMIT $7::bigint) x) n",
        control = Kind::Recall.number(),
        normal = Status::Normal.number(),
        hidden = is_hidden("x", "i.user_id"),
        before = countable_up_to("x.cid", "x.msg_id - 1"),
    );
    let of = |at: usize| looks.get(at).ok_or_else(|| Error::internal("a preview has no place"));
    let pairs = asked.iter().map(|(at, _)| Ok(&of(*at)?.pair)).collect::<Result<Vec<&Pair>>>()?;
    let above = asked.iter().map(|(at, _)| Ok(Some(of(*at)?.above.to_sql()))).collect::<Result<_>>()?;
    let mut parameters = vec![Value::Integers(asked.iter().map(|(at, _)| Some(*at as i64)).collect())];
    parameters.extend(names(pairs.into_iter()));
    parameters.push(Value::Integers(above));
    parameters.push(Value::Integers(asked.iter().map(|(_, below)| Some(below.to_sql())).collect()));
    parameters.push(limits::PREVIEW_LOOK_MAX.into());
    let db = store.database(database)?;
    for mut row in db.query(&statement, parameters).await? {
        let at = row.count()? as usize;
        let (cold, end, looked) = (Cold { db, cid: row.msg_id()? }, row.msg_id()?, row.count()?);
        let in_rows = row.text()?;
        let below = asked.iter().find(|(asked, _)| *asked == at).map_or(MsgId::MAX, |(_, below)| *below);
        let Some(look) = looks.get_mut(at) else { continue };
        look.found.extend(in_rows.split(',').filter_map(|id| id.parse().ok().and_then(MsgId::new)));
        let most = limits::PREVIEW_LOOK_MAX.saturating_sub(looked) as usize;
        if look.found.len() < PUSH_PREVIEW_MAX && most > 0 {
            let user = look.pair.1.as_str();
            let hidden = cold.hidden(user).await?;
            let found = cold.newest_of_others(user, look.above, below.min(after(end)), most).await?;
            look.found.extend(found.into_iter().filter(|id| !hidden.contains(id)));
        }
        look.found.truncate(PUSH_PREVIEW_MAX);
    }
    Ok(())
}
