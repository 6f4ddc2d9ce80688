//! What servers could not be told while they were away: it is noted beside the conversation, and told by the upkeep.

use super::super::keys::{self, Place};
use super::super::warm::warm;
use super::super::{Tiered, limits};
use super::{Audience, Op, elsewhere, tell_all};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use im_domain::{Error, Result};

/// What could not be told. What has happened to members a conversation tells itself; those who have left it are in it
/// no more, and take no more room here than their membership did there.
pub(super) enum Untold {
    Conversation(Place),
    Leaver(Place, String),
}

impl Untold {
    /// No name holds a slash.
    pub fn text(&self) -> String {
        match self {
            Self::Conversation(place) => place.name.clone(),
            Self::Leaver(place, user) => format!("{}/{user}", place.name),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match Place::named(text) {
            Some(place) => Some(Self::Conversation(place)),
            None => {
                let (name, user) = text.rsplit_once('/')?;
                Some(Self::Leaver(Place::named(name)?, user.to_owned()))
            }
        }
    }
}

/// Tells what a server could not be told when it happened.
pub(in crate::tiered) async fn catch_up<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    node: usize,
) -> Result<()> {
    if store.nodes.len() == 1 {
        return Ok(());
    }
    let redis = &store.node(node)?.redis;
    let names = redis.command("SRANDMEMBER", arguments![keys::UNTOLD, limits::UNTOLD_PER_RUN_MAX]).await?;
    let mut names = Reply::new(names);
    while names.left() > 0 {
        let name = names.text()?;
        // First, so that what happens meanwhile is noted anew.
        redis.command("SREM", arguments![keys::UNTOLD, name.as_str()]).await?;
        let Some(untold) = Untold::parse(&name) else { continue };
        let told = tell_as_it_is(store, &untold).await;
        if !matches!(told, Ok(true)) {
            redis.command("SADD", arguments![keys::UNTOLD, name.as_str()]).await?;
        }
        match told {
            Ok(true) => {}
            // As long as a server is away, those that are not wait for nothing.
            Ok(false) | Err(Error::HotUnavailable { .. } | Error::SqlUnavailable { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Tells how a conversation stands now: all members of other servers, or who has left it and is still gone. Gives
/// whether all of them could be told.
async fn tell_as_it_is<R: Redis, P: Postgres>(store: &Tiered<R, P>, untold: &Untold) -> Result<bool> {
    let (Untold::Conversation(place) | Untold::Leaver(place, _)) = untold;
    // It may have cooled while the server was away.
    warm(store, place).await?;
    let audience = Audience::of(store, place).await?;
    let mut tale = audience.tale(audience.said.max(audience.changed));
    match untold {
        Untold::Conversation(_) => {
            let op = if audience.is_wide { Op::BecameWide } else { Op::Joined };
            audience.members.iter().for_each(|user| tale.add(op, user));
        }
        Untold::Leaver(_, user) if !audience.members.contains(user) => tale.add(Op::Left, user),
        Untold::Leaver(..) => {}
    }
    Ok(tell_all(store, place, &elsewhere(store, place, tale)?).await?.is_empty())
}
