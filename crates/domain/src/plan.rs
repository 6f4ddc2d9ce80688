//! The plan of a conversation that is to be made: what it will be, decided before anything is stored.

use crate::conversation::{ConversationKind, History, NewConversation, Role};
use crate::error::{Error, Result};
use crate::limits::MEMBERS_PER_CALL_MAX;
use crate::name::{ConversationId, Tenant, UserId};
use crate::pair::{check_not_reserved, in_order, pair_conversation};
use crate::storage::Actor;
use std::collections::BTreeSet;

/// A conversation to be made, checked.
pub struct Plan {
    pub id: ConversationId,
    pub kind: ConversationKind,
    pub history: History,
    /// With the creator.
    pub members: BTreeSet<UserId>,
    pub owner: Option<UserId>,
    /// The two users of a single chat.
    pub pair: Option<(UserId, UserId)>,
    /// The caller named no id: a pair's chat may be there already under another one.
    pub any_id: bool,
}

impl Plan {
    pub fn of(actor: &Actor, new: NewConversation, random_name: impl FnOnce() -> String) -> Result<Self> {
        if new.kind == ConversationKind::System && !actor.privileged {
            return Err(Error::forbidden_value("type", "only a service makes system conversations"));
        }
        if new.members.len() > MEMBERS_PER_CALL_MAX {
            let reason = format!("one call may name at most {MEMBERS_PER_CALL_MAX} users");
            return Err(Error::too_large("members", reason));
        }
        let mut members: BTreeSet<UserId> = new.members.into_iter().collect();
        let on_behalf = actor.privileged && new.kind == ConversationKind::Single && members.len() == 2;
        if !on_behalf {
            members.insert(actor.user.clone());
        }
        let pair = pair_of(new.kind, &members)?;
        let own_id = match &pair {
            Some((low, high)) => Some(pair_conversation(&actor.tenant, low, high)?),
            None => None,
        };
        if let Some(id) = new.id.as_ref().filter(|id| own_id.as_ref() != Some(id)) {
            check_not_reserved(id)?;
        }
        let any_id = new.id.is_none();
        let id = match new.id.or(own_id) {
            Some(id) => id,
            None => ConversationId::parse(format!("{}:{}", new.kind.as_str(), random_name()))?,
        };
        let owner = members.contains(&actor.user).then(|| actor.user.clone());
        Ok(Self { id, kind: new.kind, history: new.history, members, owner, pair, any_id })
    }

    /// The chat of two users, made by the first when they write to each other.
    pub fn chat(tenant: &Tenant, from: &UserId, to: &UserId) -> Result<Self> {
        let (low, high) = in_order(from, to);
        Ok(Self {
            id: pair_conversation(tenant, low, high)?,
            kind: ConversationKind::Single,
            history: History::All,
            members: BTreeSet::from([low.clone(), high.clone()]),
            owner: Some(from.clone()),
            pair: Some((low.clone(), high.clone())),
            any_id: true,
        })
    }

    pub fn role_of(&self, user: &UserId) -> Role {
        if self.owner.as_ref() == Some(user) { Role::Owner } else { Role::Member }
    }

    /// Checks that what exists under the id is what is meant: to whom it does not belong, it is refused.
    pub fn check_existing(&self, actor: &Actor, kind: ConversationKind, is_member: bool) -> Result<()> {
        if !is_member && !actor.privileged {
            return Err(Error::NotMember);
        }
        if kind != self.kind {
            return Err(Error::conflict("type", "the conversation exists with another type"));
        }
        Ok(())
    }
}

fn pair_of(kind: ConversationKind, members: &BTreeSet<UserId>) -> Result<Option<(UserId, UserId)>> {
    if kind != ConversationKind::Single {
        return Ok(None);
    }
    let mut users = members.iter().cloned();
    match (users.next(), users.next(), users.next()) {
        (Some(low), Some(high), None) => Ok(Some((low, high))),
        _ => Err(Error::invalid("members", "a single chat has exactly two members, the creator among them")),
    }
}
