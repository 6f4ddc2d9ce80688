//! Conversations are made here, and pairs find theirs.

use super::clock::Counters;
use super::index::{WIDE, is_wide};
use super::{Embedded, list, transaction};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::conversation::{Conversation, ConversationKind, NewConversation, Role};
use im_domain::pair::in_order;
use im_domain::partition::partition_of;
use im_domain::plan::Plan;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Result, Tenant, UserId};

pub(super) fn create<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    new: NewConversation,
) -> Result<Conversation> {
    let plan = Plan::of(actor, new, || store.random_name())?;
    let id = transaction::write(store, || carry_out(store, actor, &plan))?;
    list::after_change(store, actor, &id)
}

/// Makes what is planned, or finds it, within the transaction that is open.
fn carry_out<P: Sqlite>(store: &Embedded<P>, actor: &Actor, plan: &Plan) -> Result<ConversationId> {
    if let Some((low, high)) = plan.pair.as_ref().filter(|_| plan.any_id)
        && let Some(id) = find_pair(store, &actor.tenant, low, high)?
    {
        return Ok(id);
    }
    match existing(store, actor, &plan.id)? {
        Some((kind, is_member)) => plan.check_existing(actor, kind, is_member)?,
        None => {
            let mut counters = Counters::load(store)?;
            insert(store, &actor.tenant, plan, &mut counters)?;
            counters.save(store)?;
        }
    }
    Ok(plan.id.clone())
}

/// Type of a conversation that is there already, and whether the actor is a member.
fn existing<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    id: &ConversationId,
) -> Result<Option<(ConversationKind, bool)>> {
    const STATEMENT: &str = "
        SELECT c.kind, m.user IS NOT NULL FROM conversation c
        LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
        WHERE c.tenant = ?1 AND c.name = ?2";
    let parameters = params![actor.tenant.as_str(), id.as_str(), actor.user.as_str()];
    let mut rows = store.db.execute(STATEMENT, parameters)?;
    let Some(row) = rows.first_mut() else { return Ok(None) };
    Ok(Some((row.case(ConversationKind::from_number)?, row.flag()?)))
}

/// Stores a conversation and its members; the caller saves the counters.
fn insert<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    plan: &Plan,
    counters: &mut Counters,
) -> Result<()> {
    const CONVERSATION: &str = "
        INSERT INTO conversation (tenant, name, kind, history, member_count, create_time, update_time,
            version, membership_version, wide)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?7, ?8) RETURNING cid";
    let now_ms = store.now_ms();
    let id = counters.next_id(now_ms, partition_of(tenant, &plan.id));
    let version = counters.next_version(now_ms);
    let parameters = params![
        tenant.as_str(),
        plan.id.as_str(),
        plan.kind.number(),
        plan.history.number(),
        plan.members.len() as u64,
        id.time_ms(),
        version,
        is_wide(store, plan.members.len() as u64),
    ];
    let mut rows = store.db.execute(CONVERSATION, parameters)?;
    let cid = rows.first_mut().map_or(Ok(0), Row::int)?;
    insert_members(store, tenant, cid, plan, version)?;
    if let Some((low, high)) = &plan.pair {
        insert_pair(store, tenant, low, high, cid)?;
    }
    Ok(())
}

fn insert_members<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    cid: i64,
    plan: &Plan,
    version: u64,
) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        INSERT INTO member (cid, user, tenant, role, floor, read_msg_id, read_countable, recency, joined)
        SELECT ?1, value, ?2, iif(value = ?4, ?5, ?6), 0, 0, 0, ?7, ?8 FROM json_each(?3)";
    let parameters = params![
        cid,
        tenant.as_str(),
        json_names(&plan.members),
        plan.owner.as_ref().map(UserId::as_str),
        Role::Owner.number(),
        Role::Member.number(),
        if is_wide(store, plan.members.len() as u64) { WIDE } else { version },
        version,
    ];
    store.db.execute(STATEMENT, parameters).map(|_| ())
}

/// Names as a JSON array, for `json_each`: one statement for any number of them.
pub(super) fn json_names<'a>(names: impl IntoIterator<Item = &'a UserId>) -> String {
    names.into_iter().map(UserId::as_str).collect::<serde_json::Value>().to_string()
}

/// Makes the chat of two users, within the transaction that is open; the caller saves the counters.
pub(super) fn make_pair<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    a: &UserId,
    b: &UserId,
    counters: &mut Counters,
) -> Result<ConversationId> {
    let plan = Plan::chat(tenant, a, b)?;
    insert(store, tenant, &plan, counters)?;
    Ok(plan.id)
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
