//! Settings of a conversation, and of a member in it.

use super::clock::Counters;
use super::index::tell;
use super::members::Group;
use super::{Embedded, list, transaction};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::conversation::{Conversation, ConversationChange, ConversationKind, History, Role};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result, UserId};

pub(super) fn update<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    change: &ConversationChange,
) -> Result<Conversation> {
    change.check()?;
    transaction::write(store, || {
        let group = Group::find(store, actor, conversation)?;
        check(&group, actor, change)?;
        let mut counters = Counters::load(store)?;
        if let Some(muted) = change.muted {
            mute(store, &mut counters, group.cid, &actor.user, muted)?;
        }
        if let Some(history) = change.history {
            set_history(store, &mut counters, &group, history)?;
        }
        Ok(counters.save(store)?)
    })?;
    list::after_change(store, actor, conversation)
}

fn check(group: &Group, actor: &Actor, change: &ConversationChange) -> Result<()> {
    if group.role.is_none() && (change.muted.is_some() || !actor.privileged) {
        return Err(Error::NotMember);
    }
    if change.history.is_none() {
        return Ok(());
    }
    if group.kind == ConversationKind::Single {
        return Err(Error::invalid("history", "both users of a single chat see all of it"));
    }
    if actor.privileged || group.role.is_some_and(Role::manages) {
        return Ok(());
    }
    Err(Error::forbidden_value("history", "only an owner or an administrator changes it"))
}

/// Sets whether a conversation wakes its member, and tells the member's devices, if that is news.
pub(super) fn mute<P: Sqlite>(
    store: &Embedded<P>,
    counters: &mut Counters,
    cid: i64,
    user: &UserId,
    muted: bool,
) -> Result<()> {
    const STATEMENT: &str = "
        UPDATE member SET muted = ?3, muted_version = ?4, other = ?4
        WHERE cid = ?1 AND user = ?2 AND muted <> ?3";
    let version = counters.next_version(store.now_ms());
    store.db.execute(STATEMENT, params![cid, user.as_str(), muted, version])?;
    Ok(())
}

fn set_history<P: Sqlite>(
    store: &Embedded<P>,
    counters: &mut Counters,
    group: &Group,
    history: History,
) -> Result<()> {
    const STATEMENT: &str = "
        UPDATE conversation SET history = ?2, update_time = ?3 WHERE cid = ?1 AND history <> ?2
        RETURNING 1";
    let now_ms = store.now_ms();
    let parameters = params![group.cid, history.number(), now_ms];
    if store.db.execute(STATEMENT, parameters)?.is_empty() {
        return Ok(());
    }
    Ok(tell(store, group.cid, counters.next_version(now_ms), group.wide, group.members)?)
}
