//! Telling users what has happened in their conversations, where their index is on another server than the
//! conversation.
//!
//! A script that changes something notes it in the indexes of its own server, and names those of others.
//! They are told before the call is answered. Whoever should have told them may die before that: the drain
//! tells them once more, of everything that is in the log. A server that is away is told when it is back.

mod untold;

pub(super) use untold::catch_up;

use super::entry::{self, Body, Entry};
use super::keys::{self, Place, partition_of_user};
use super::view::View;
use super::{Tiered, limits, read, script};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use im_domain::global::LookedUp;
use im_domain::{Error, Result, Tenant, UserId};
use std::collections::{BTreeMap, BTreeSet};
use untold::Untold;

/// What happened, for whom; see `note()` in prelude.lua.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Said,
    Joined,
    JoinedWide,
    Left,
    BecameWide,
    BecameNarrow,
    Other,
}

impl Op {
    fn letter(self) -> &'static str {
        match self {
            Self::Said => "s",
            Self::Joined => "j",
            Self::JoinedWide => "J",
            Self::Left => "l",
            Self::BecameWide => "w",
            Self::BecameNarrow => "n",
            Self::Other => "o",
        }
    }
}

/// What users of other servers are to be told of a conversation.
#[derive(Default)]
pub(super) struct Tale {
    /// In which life the conversation's server numbered the change, and how.
    life: u32,
    version: u64,
    /// Number by which the conversation stands in lists; 0: as new.
    said_at: u64,
    /// Op and user.
    ops: Vec<(String, String)>,
}

impl Tale {
    /// Takes what `tell()` of the scripts has added to a reply.
    pub fn take(reply: &mut Reply) -> Result<Self> {
        let life = read::life(reply)?;
        let (version, said_at, count) = (reply.number()?, reply.number()?, reply.number()?);
        let ops = (0..count).map(|_| Ok((reply.text()?, reply.text()?))).collect::<Result<_>>()?;
        Ok(Self { life, version, said_at, ops })
    }

    /// Begins one of a change whose number was read apart from the server's last: since then the server may have lost
    /// the change, and gone on below.
    fn of(last: LookedUp, version: u64) -> Self {
        Self { life: last.life, version: version.min(last.number), ..Self::default() }
    }

    fn add(&mut self, op: Op, user: &str) {
        self.ops.push((op.letter().to_owned(), user.to_owned()));
    }
}

/// Tells users of other servers. One that is away is noted, and told later.
pub(super) async fn tell<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    tale: &Tale,
) -> Result<()> {
    if tale.ops.is_empty() {
        return Ok(());
    }
    let away = tell_all(store, place, tale).await?;
    if away.is_empty() {
        return Ok(());
    }
    let tenant = Tenant::parse(place.tenant())?;
    let mut untold = arguments![keys::UNTOLD, place.name.as_str()];
    for (_, user) in tale.ops.iter().filter(|(op, _)| op == Op::Left.letter()) {
        if away.contains(&node_of(store, &tenant, user)?) {
            untold.push(Untold::Leaver(place.clone(), user.clone()).text().into());
        }
    }
    store.node(store.node_of(place.partition))?.redis.command("SADD", untold).await?;
    Ok(())
}

/// The server of a user's index.
fn node_of<R: Redis, P: Postgres>(store: &Tiered<R, P>, tenant: &Tenant, user: &str) -> Result<usize> {
    Ok(store.node_of(partition_of_user(tenant, &UserId::parse(user)?)))
}

/// Tells every server that can be reached; gives the others.
async fn tell_all<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    tale: &Tale,
) -> Result<BTreeSet<usize>> {
    let tenant = Tenant::parse(place.tenant())?;
    let mut parts: BTreeMap<usize, Vec<Argument>> = BTreeMap::new();
    for (op, user) in &tale.ops {
        let name = place.name.as_str();
        let life = u64::from(tale.life);
        let begin = || arguments![limits::INDEX_LIFE_S, name, life, tale.version, tale.said_at];
        let part = parts.entry(node_of(store, &tenant, user)?).or_insert_with(begin);
        part.extend(arguments![op.as_str(), user.as_str()]);
    }
    let keys = [place.told()];
    let calls = parts.iter().map(|(node, arguments)| {
        let keys = &keys;
        async move {
            match script::TELL.run(&store.node(*node)?.redis, keys, arguments).await.map_err(Error::from) {
                Err(Error::HotUnavailable { .. }) => Ok(Some(*node)),
                told => told.map(|_| None),
            }
        }
    });
    futures::future::join_all(calls).await.into_iter().filter_map(Result::transpose).collect()
}

/// Who is to be told of what happens in a hot conversation, as it is now.
struct Audience {
    is_wide: bool,
    last_change: LookedUp,
    said: u64,
    changed: u64,
    placed: u64,
    revised: u64,
    /// All members.
    members: BTreeSet<String>,
}

impl Audience {
    async fn of<R: Redis, P: Postgres>(store: &Tiered<R, P>, place: &Place) -> Result<Self> {
        let keys = [place.head(), place.members()];
        let redis = &store.node(store.node_of(place.partition))?.redis;
        let arguments = arguments![store.settings.index_members_max];
        let mut reply = script::AUDIENCE.run(redis, &keys, &arguments).await?;
        reply.text()?;
        let is_wide = reply.number()? == 1;
        let last_change = LookedUp { life: read::life(&mut reply)?, number: reply.number()? };
        let (said, changed, placed) = (reply.number()?, reply.number()?, reply.number()?);
        let revised = reply.number()?;
        let mut members = BTreeSet::new();
        while reply.left() > 0 {
            members.insert(reply.text()?);
        }
        Ok(Self { is_wide, last_change, said, changed, placed, revised, members })
    }
}

/// Tells users of other servers once more, as things stand now, of what the log says: who wrote it may have
/// died before.
pub(super) async fn repeat<R: Redis, P: Postgres>(store: &Tiered<R, P>, entries: &[Entry]) -> Result<()> {
    if store.nodes.len() == 1 {
        return Ok(());
    }
    let (mut said, mut revised) = (BTreeSet::new(), BTreeSet::new());
    for entry in entries {
        match &entry.body {
            Body::Message(message) if message.record.control.is_none() => {
                said.insert(&entry.place);
            }
            Body::Revision(_) => {
                revised.insert(&entry.place);
            }
            Body::Read(read) => repeat_own(store, &entry.place, &read.user, read.version).await?,
            Body::Hidden(hidden) => repeat_own(store, &entry.place, &hidden.user, hidden.version).await?,
            Body::Conversation(made) => {
                let joined = made.members.iter().map(|(user, _)| user).collect();
                let change = Change { version: made.version, joined, ..Change::default() };
                repeat_change(store, &entry.place, &change).await?;
            }
            Body::Members(members) => {
                let change = Change::of(members, store.settings.index_members_max);
                repeat_change(store, &entry.place, &change).await?;
            }
            _ => {}
        }
    }
    for place in said {
        let audience = Audience::of(store, place).await?;
        repeat_to_all(store, place, &audience, Op::Said, audience.said).await?;
    }
    for place in revised {
        let audience = Audience::of(store, place).await?;
        repeat_to_all(store, place, &audience, Op::Other, audience.revised).await?;
    }
    Ok(())
}

/// Of what concerns all members, unless they are too many to be told.
async fn repeat_to_all<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    audience: &Audience,
    op: Op,
    version: u64,
) -> Result<()> {
    if audience.is_wide {
        return Ok(());
    }
    let mut tale = Tale::of(audience.last_change, version);
    audience.members.iter().for_each(|user| tale.add(op, user));
    tell(store, place, &elsewhere(store, place, tale)?).await
}

/// Of what concerns one user alone.
async fn repeat_own<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    user: &str,
    version: u64,
) -> Result<()> {
    let mut tale = Tale::default();
    tale.add(Op::Other, user);
    let tale = elsewhere(store, place, tale)?;
    if tale.ops.is_empty() {
        return Ok(());
    }
    // Of no conversation: the server's last change alone.
    let (last_change, _) = View::all(store, store.node_of(place.partition), &[], None).await?;
    tell(store, place, &Tale { ops: tale.ops, ..Tale::of(last_change, version) }).await
}

/// A change of members or settings, as the log has it.
#[derive(Default)]
struct Change<'a> {
    version: u64,
    joined: Vec<&'a UserId>,
    left: &'a [UserId],
    muted_by: Option<&'a UserId>,
    /// The members became too many to be told each, or few enough.
    is_crossing: bool,
    /// Members who have neither come nor gone are told, too.
    concerns_all: bool,
}

impl<'a> Change<'a> {
    fn of(change: &'a entry::Change, told_max: u64) -> Self {
        let (came, went) = (change.added.len() as u64, change.removed.len() as u64);
        let before = (change.members + went).saturating_sub(came);
        Self {
            version: change.version,
            joined: change.added.iter().map(|joiner| &joiner.user).collect(),
            left: &change.removed,
            muted_by: change.muted.as_ref().map(|(user, _)| user),
            is_crossing: (before > told_max) != (change.members > told_max),
            concerns_all: change.is_common(),
        }
    }
}

async fn repeat_change<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    change: &Change<'_>,
) -> Result<()> {
    let audience = Audience::of(store, place).await?;
    let mut tale = Tale { said_at: audience.placed, ..Tale::of(audience.last_change, change.version) };
    let join = if audience.is_wide { Op::JoinedWide } else { Op::Joined };
    for user in change.joined.iter().filter(|user| audience.members.contains(user.as_str())) {
        tale.add(join, user.as_str());
    }
    for user in change.left.iter().filter(|user| !audience.members.contains(user.as_str())) {
        tale.add(Op::Left, user.as_str());
    }
    change.muted_by.iter().for_each(|user| tale.add(Op::Other, user.as_str()));
    let of_all = match (change.is_crossing, audience.is_wide) {
        (true, true) => Some(Op::BecameWide),
        (true, false) => Some(Op::BecameNarrow),
        (false, false) if change.concerns_all => Some(Op::Other),
        (false, _) => None,
    };
    if let Some(op) = of_all {
        let joined: BTreeSet<&str> = change.joined.iter().map(|user| user.as_str()).collect();
        let others = audience.members.iter().filter(|user| !joined.contains(user.as_str()));
        others.for_each(|user| tale.add(op, user));
    }
    tell(store, place, &elsewhere(store, place, tale)?).await
}

/// Without the users whose index is on the conversation's own server: its scripts have told them.
fn elsewhere<R: Redis, P: Postgres>(store: &Tiered<R, P>, place: &Place, mut tale: Tale) -> Result<Tale> {
    let tenant = Tenant::parse(place.tenant())?;
    let own = store.node_of(place.partition);
    let is_elsewhere = |user: &str| node_of(store, &tenant, user).is_ok_and(|node| node != own);
    tale.ops.retain(|(_, user)| is_elsewhere(user));
    Ok(tale)
}
