//! Conversations are made here, and pairs find theirs.

use super::{Embedded, clock, list, transaction};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::conversation::{Conversation, ConversationKind, History, NewConversation, Role};
use im_domain::limits::MEMBERS_PER_CALL_MAX;
use im_domain::pair::{check_not_reserved, pair_conversation};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result, Tenant, UserId};
use std::collections::BTreeSet;

pub(super) fn create<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    new: NewConversation,
) -> Result<Conversation> {
    let plan = Plan::of(store, actor, new)?;
    let id = transaction::write(store, || plan.carry_out(store, actor))?;
    list::after_change(store, actor, &id)
}

/// A conversation to be made, checked.
struct Plan {
    id: ConversationId,
    kind: ConversationKind,
    history: History,
    /// With the creator.
    members: BTreeSet<UserId>,
    owner: Option<UserId>,
    /// The two users of a single chat.
    pair: Option<(UserId, UserId)>,
    /// The caller named no id: a pair's chat may be there already under another one.
    any_id: bool,
}

impl Plan {
    fn of<P: Sqlite>(store: &Embedded<P>, actor: &Actor, new: NewConversation) -> Result<Self> {
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
            None => ConversationId::parse(format!("{}:{}", new.kind.as_str(), store.random_name()))?,
        };
        let owner = members.contains(&actor.user).then(|| actor.user.clone());
        Ok(Self { id, kind: new.kind, history: new.history, members, owner, pair, any_id })
    }

    fn carry_out<P: Sqlite>(&self, store: &Embedded<P>, actor: &Actor) -> Result<ConversationId> {
        if let Some((low, high)) = self.pair.as_ref().filter(|_| self.any_id)
            && let Some(id) = find_pair(store, &actor.tenant, low, high)?
        {
            return Ok(id);
        }
        match self.existing(store, actor)? {
            Some(()) => Ok(self.id.clone()),
            None => self.insert(store, &actor.tenant),
        }
    }

    /// Whether the conversation is there already, and is the one that is meant.
    fn existing<P: Sqlite>(&self, store: &Embedded<P>, actor: &Actor) -> Result<Option<()>> {
        const STATEMENT: &str = "
            SELECT c.kind, m.user IS NOT NULL FROM conversation c
            LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
            WHERE c.tenant = ?1 AND c.name = ?2";
        let parameters = params![actor.tenant.as_str(), self.id.as_str(), actor.user.as_str()];
        let mut rows = store.db.execute(STATEMENT, parameters)?;
        let Some(row) = rows.first_mut() else { return Ok(None) };
        let same_kind = row.int()? == self.kind.number();
        let is_member = row.flag()?;
        if !is_member && !actor.privileged {
            return Err(Error::NotMember);
        }
        if !same_kind {
            return Err(Error::conflict("type", "the conversation exists with another type"));
        }
        Ok(Some(()))
    }

    fn insert<P: Sqlite>(&self, store: &Embedded<P>, tenant: &Tenant) -> Result<ConversationId> {
        const CONVERSATION: &str = "
            INSERT INTO conversation (tenant, name, kind, history, member_count, place, create_time, update_time)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) RETURNING cid";
        let id = clock::next_id(store, tenant, &self.id)?;
        let parameters = params![
            tenant.as_str(),
            self.id.as_str(),
            self.kind.number(),
            self.history.number(),
            self.members.len() as u64,
            clock::place(id),
            id.time_ms(),
        ];
        let mut rows = store.db.execute(CONVERSATION, parameters)?;
        let cid = rows.first_mut().map_or(Ok(0), Row::int)?;
        self.insert_members(store, tenant, cid)?;
        if let Some((low, high)) = &self.pair {
            insert_pair(store, tenant, low, high, cid)?;
        }
        Ok(self.id.clone())
    }

    fn insert_members<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        tenant: &Tenant,
        cid: i64,
    ) -> Result<(), SqlError> {
        const STATEMENT: &str = "
            INSERT INTO member (cid, user, tenant, role, floor, read_msg_id, read_countable)
            SELECT ?1, value, ?2, iif(value = ?4, ?5, ?6), 0, 0, 0 FROM json_each(?3)";
        let parameters = params![
            cid,
            tenant.as_str(),
            json_names(&self.members),
            self.owner.as_ref().map(UserId::as_str),
            Role::Owner.number(),
            Role::Member.number(),
        ];
        store.db.execute(STATEMENT, parameters).map(|_| ())
    }
}

/// Names as a JSON array, for `json_each`: one statement for any number of them.
pub(super) fn json_names<'a>(names: impl IntoIterator<Item = &'a UserId>) -> String {
    names.into_iter().map(UserId::as_str).collect::<serde_json::Value>().to_string()
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

/// The chat of two users; made on first use, within the transaction that is open.
pub(super) fn pair<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    a: &UserId,
    b: &UserId,
) -> Result<ConversationId> {
    if let Some(id) = find_pair(store, tenant, a, b)? {
        return Ok(id);
    }
    let (low, high) = in_order(a, b);
    let plan = Plan {
        id: pair_conversation(tenant, low, high)?,
        kind: ConversationKind::Single,
        history: History::All,
        members: BTreeSet::from([low.clone(), high.clone()]),
        owner: Some(a.clone()),
        pair: Some((low.clone(), high.clone())),
        any_id: true,
    };
    plan.insert(store, tenant)
}

/// The chat of two users, if there is one.
pub(super) fn find_pair<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    a: &UserId,
    b: &UserId,
) -> Result<Option<ConversationId>> {
    const STATEMENT: &str = "
        SELECT c.name FROM pair p JOIN conversation c ON c.cid = p.cid AND c.tenant = p.tenant
        WHERE p.tenant = ?1 AND p.low = ?2 AND p.high = ?3";
    let (low, high) = in_order(a, b);
    let parameters = params![tenant.as_str(), low.as_str(), high.as_str()];
    let mut rows = store.db.execute(STATEMENT, parameters)?;
    match rows.first_mut() {
        Some(row) => Ok(Some(ConversationId::parse(row.text()?)?)),
        None => Ok(None),
    }
}

fn in_order<'a>(a: &'a UserId, b: &'a UserId) -> (&'a UserId, &'a UserId) {
    if a <= b { (a, b) } else { (b, a) }
}

/// The first single chat of a pair stays the pair's.
fn insert_pair<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    low: &UserId,
    high: &UserId,
    cid: i64,
) -> Result<(), SqlError> {
    const STATEMENT: &str =
        "INSERT INTO pair (tenant, low, high, cid) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
    let parameters = params![tenant.as_str(), low.as_str(), high.as_str(), cid];
    store.db.execute(STATEMENT, parameters).map(|_| ())
}
