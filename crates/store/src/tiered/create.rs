//! Conversations are made here, and pairs find theirs.

use super::keys::Place;
use super::tell::{Tale, tell};
use super::view::{View, after_change};
use super::warm::{Warmth, warm};
use super::{Tiered, limits, script, unknown_word};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::conversation::{Conversation, NewConversation};
use im_domain::pair::pair_conversation;
use im_domain::plan::Plan;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result, Tenant};

pub(super) async fn create<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    new: NewConversation,
) -> Result<Conversation> {
    let plan = Plan::of(actor, new, || store.random_name())?;
    let id = carry_out(store, actor, plan).await?;
    after_change(store, actor, &id).await
}

/// Makes what is planned, or finds it.
async fn carry_out<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    mut plan: Plan,
) -> Result<ConversationId> {
    for _ in 0..limits::ATTEMPTS_MAX {
        let place = Place::of(&actor.tenant, &plan.id);
        let view = View::of(store, &place, Some(actor)).await?;
        if let Some(facts) = view.facts() {
            plan.check_existing(actor, facts.kind, facts.member.is_some())?;
            return Ok(plan.id);
        }
        match warm(store, &place).await? {
            Warmth::Hot => {}
            // With an id of its own the caller means that very conversation.
            Warmth::Elsewhere(_) if !plan.any_id => {
                return Err(Error::conflict("conversationId", "the two users have another chat"));
            }
            Warmth::Elsewhere(target) => plan.id = target,
            Warmth::Missing { epoch } => {
                claim(store, actor, &plan).await?;
                insert(store, &actor.tenant, &plan, &epoch).await?;
            }
        }
    }
    Err(Error::internal("a conversation could not be made"))
}

/// Makes a single chat with an id of its own the chat of its pair, unless the pair has one.
async fn claim<R: Redis, P: Postgres>(store: &Tiered<R, P>, actor: &Actor, plan: &Plan) -> Result<()> {
    let Some((low, high)) = &plan.pair else { return Ok(()) };
    let own = pair_conversation(&actor.tenant, low, high)?;
    if own == plan.id {
        return Ok(());
    }
    let place = Place::of(&actor.tenant, &own);
    for _ in 0..limits::ATTEMPTS_MAX {
        let epoch = match warm(store, &place).await? {
            Warmth::Hot | Warmth::Elsewhere(_) => return Ok(()),
            Warmth::Missing { epoch } => epoch,
        };
        let keys = [place.clock(), place.log(), place.alias(), place.head()];
        let arguments = arguments![
            u64::from(place.partition),
            store.settings.backlog_max,
            epoch,
            place.name.as_str(),
            plan.id.as_str()
        ];
        match store.ask_once(place.partition, &script::ALIAS, &keys, arguments).await?.0.as_str() {
            "ok" | "own" => return Ok(()),
            "verify" => {}
            word => return Err(unknown_word("alias", word)),
        }
    }
    Err(Error::internal("a pair's chat could not be named"))
}

/// Makes a conversation that neither the hot store nor SQL has; `epoch`: under which SQL was asked.
/// Somebody else may be faster, or the epoch may be another by now: the caller looks again.
pub(super) async fn insert<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    plan: &Plan,
    epoch: &str,
) -> Result<()> {
    let place = Place::of(tenant, &plan.id);
    let mut arguments = arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        epoch,
        place.name.as_str(),
        plan.kind.number().unsigned_abs(),
        plan.history.number().unsigned_abs(),
        plan.members.len() as u64,
        store.settings.index_members_max,
        store.here(place.partition),
        limits::INDEX_LIFE_S
    ];
    for user in &plan.members {
        arguments.extend(arguments![user.as_str(), plan.role_of(user).number().unsigned_abs()]);
    }
    let mut keys = place.written();
    keys.push(place.alias());
    let (word, mut reply) = store.ask_once(place.partition, &script::CREATE, &keys, arguments).await?;
    match word.as_str() {
        "ok" => tell(store, &place, &Tale::take(&mut reply)?).await,
        "exists" | "verify" => Ok(()),
        word => Err(unknown_word("create", word)),
    }
}
