//! Settings of a conversation, and of a member in it.

use super::audit::note;
use super::clock::Counters;
use super::index::tell;
use super::members::Group;
use super::{Embedded, list, transaction};
use crate::audit::legal_hold;
use crate::params;
use crate::sql::Value;
use crate::sqlite::Sqlite;
use im_domain::conversation::{
    Conversation, ConversationChange, ConversationKind, History, Role, SettingsRefusal,
};
use im_domain::retention::KeepFor;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result, UserId};

pub(super) fn update<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    change: &ConversationChange,
) -> Result<Conversation> {
    change.check()?;
    let work = || {
        let group = Group::find(store, actor, conversation)?;
        check(&group, actor, change)?;
        let mut counters = Counters::load(store)?;
        if let Some(muted) = change.muted {
            mute(store, &mut counters, group.cid, &actor.user, muted)?;
        }
        if let Some(history) = change.history {
            set_history(store, &mut counters, &group, history)?;
        }
        if let Some(keep_for) = change.keep_for {
            set_retention(store, &mut counters, &group, keep_for)?;
        }
        if let Some(held) = change.legal_hold {
            hold(store, actor, conversation, &group, held)?;
        }
        Ok(counters.save(store)?)
    };
    // A hold is on disk before anybody relies on it.
    match change.legal_hold {
        Some(_) => transaction::write_flushed(store, work)?,
        None => transaction::write(store, work)?,
    }
    list::after_change(store, actor, conversation)
}

fn check(group: &Group, actor: &Actor, change: &ConversationChange) -> Result<()> {
    if group.role.is_none() && (change.muted.is_some() || !actor.privileged) {
        return Err(Error::NotMember);
    }
    if change.history.is_some() && group.kind == ConversationKind::Single {
        return Err(SettingsRefusal::SingleHistory.into());
    }
    if actor.privileged {
        return Ok(());
    }
    if change.legal_hold.is_some() {
        return Err(SettingsRefusal::Hold.into());
    }
    let manages = group.role.is_some_and(Role::manages);
    if change.history.is_some() && !manages {
        return Err(SettingsRefusal::History.into());
    }
    if change.keep_for.is_some() && !(manages && group.kind == ConversationKind::Group) {
        return Err(SettingsRefusal::Retention.into());
    }
    Ok(())
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
    set(store, counters, group, STATEMENT, history.number().into())
}

fn set_retention<P: Sqlite>(
    store: &Embedded<P>,
    counters: &mut Counters,
    group: &Group,
    keep_for: KeepFor,
) -> Result<()> {
    const STATEMENT: &str = "
        UPDATE conversation SET retention_ms = ?2, update_time = ?3 WHERE cid = ?1 AND retention_ms IS NOT ?2
        RETURNING 1";
    set(store, counters, group, STATEMENT, keep_for.ms().into())
}

/// Sets what is everybody's, and tells the members if that is news: the statement then gives a row.
fn set<P: Sqlite>(
    store: &Embedded<P>,
    counters: &mut Counters,
    group: &Group,
    statement: &str,
    value: Value,
) -> Result<()> {
    let now_ms = store.now_ms();
    if store.db.execute(statement, params![group.cid, value, now_ms])?.is_empty() {
        return Ok(());
    }
    Ok(tell(store, group.cid, counters.next_version(now_ms), group.wide, group.members)?)
}

/// Members are not told of a hold; the audit is, of each one that is news.
fn hold<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    group: &Group,
    held: bool,
) -> Result<()> {
    const STATEMENT: &str =
        "UPDATE conversation SET legal_hold = ?2 WHERE cid = ?1 AND legal_hold <> ?2 RETURNING 1";
    if store.db.execute(STATEMENT, params![group.cid, held])?.is_empty() {
        return Ok(());
    }
    Ok(note(store, actor, legal_hold(held), conversation, MsgId::NONE)?)
}
