//! The exports: from the contract's types to the engine and back.

use crate::bindings::exports::im::storage::{conversations, messages, positions, types, upkeep};
use crate::instance::{Engine, engine, forget_after};
use im_contract::{all, each};
use im_domain::limits::{BATCH_MESSAGES_MAX, BATCH_PULLS_MAX, GET_IDS_MAX, RUN_MS_MAX, check_count};
use im_domain::storage::{Actor, Storage};
use im_domain::{ConversationId, DeviceId, Result, Tenant};
use std::rc::Rc;

im_contract::conversions!();

struct Component;

/// The generated glue; it follows rules of its own.
#[allow(unsafe_code)]
mod glue {
    use super::Component;
    crate::bindings::export!(Component with_types_in crate::bindings);
}

/// Runs `call` on the instance's engine.
async fn with_engine<T>(call: impl AsyncFnOnce(Rc<Engine>) -> Result<T>) -> Result<T> {
    let outcome = match engine().await {
        Ok(engine) => call(engine).await,
        Err(error) => Err(error),
    };
    forget_after(&outcome);
    outcome
}

/// Each item's outcome in the contract's terms.
fn items<T, W: From<T>>(outcomes: Vec<Result<T>>) -> Vec<Result<W, types::Error>> {
    outcomes.into_iter().map(|outcome| Ok(outcome?.into())).collect()
}

impl messages::Guest for Component {
    async fn append(
        actor: types::Actor,
        drafts: Vec<types::Draft>,
        ack: types::Ack,
    ) -> Result<Vec<Result<types::Receipt, types::Error>>, types::Error> {
        let actor = Actor::try_from(actor)?;
        check_count("messages", drafts.len(), BATCH_MESSAGES_MAX)?;
        let drafts = all(drafts)?;
        Ok(items(with_engine(async |engine| engine.append(&actor, drafts, ack.into()).await).await?))
    }

    async fn pages(
        actor: types::Actor,
        queries: Vec<messages::PageQuery>,
    ) -> Result<Vec<Result<types::Page, types::Error>>, types::Error> {
        let actor = Actor::try_from(actor)?;
        check_count("requests", queries.len(), BATCH_PULLS_MAX)?;
        let queries = all(queries)?;
        Ok(items(with_engine(async |engine| engine.page(&actor, queries).await).await?))
    }

    async fn get(
        actor: types::Actor,
        conversation: String,
        ids: Vec<types::MsgId>,
    ) -> Result<messages::Found, types::Error> {
        let actor = Actor::try_from(actor)?;
        let conversation = ConversationId::parse(conversation)?;
        check_count("msgIds", ids.len(), GET_IDS_MAX)?;
        let ids = ids.into_iter().map(im_contract::msg_id).collect::<Result<Vec<_>>>()?;
        Ok(with_engine(async |engine| engine.get(&actor, &conversation, &ids).await).await?.into())
    }
}

impl conversations::Guest for Component {
    async fn create(
        actor: types::Actor,
        new: conversations::NewConversation,
    ) -> Result<types::Conversation, types::Error> {
        let actor = Actor::try_from(actor)?;
        let new = new.try_into()?;
        Ok(with_engine(async |engine| engine.create(&actor, new).await).await?.into())
    }

    async fn change_members(
        actor: types::Actor,
        conversation: String,
        change: conversations::MemberChange,
    ) -> Result<types::Conversation, types::Error> {
        let actor = Actor::try_from(actor)?;
        let conversation = ConversationId::parse(conversation)?;
        let change = change.try_into()?;
        Ok(with_engine(async |engine| engine.change_members(&actor, &conversation, change).await)
            .await?
            .into())
    }

    async fn get(actor: types::Actor, conversation: String) -> Result<types::Conversation, types::Error> {
        let actor = Actor::try_from(actor)?;
        let conversation = ConversationId::parse(conversation)?;
        Ok(with_engine(async |engine| engine.conversation(&actor, &conversation).await).await?.into())
    }

    async fn list(
        actor: types::Actor,
        cursor: String,
        limit: u32,
    ) -> Result<conversations::ConversationList, types::Error> {
        let actor = Actor::try_from(actor)?;
        let limit = im_domain::page::check_limit(limit)?;
        Ok(with_engine(async |engine| engine.list(&actor, &cursor, limit).await).await?.into())
    }
}

impl positions::Guest for Component {
    async fn sync(
        actor: types::Actor,
        device: String,
        query: positions::SyncQuery,
    ) -> Result<positions::SyncPage, types::Error> {
        let actor = Actor::try_from(actor)?;
        let device = DeviceId::parse(device)?;
        let query = query.try_into()?;
        Ok(with_engine(async |engine| engine.sync(&actor, &device, query).await).await?.into())
    }
}

impl upkeep::Guest for Component {
    async fn run(tasks: Vec<upkeep::Task>, max_ms: u64) -> Result<upkeep::RunReport, types::Error> {
        let tasks: Vec<_> = each(tasks);
        let max_ms = max_ms.min(RUN_MS_MAX);
        Ok(with_engine(async |engine| engine.run(&tasks, max_ms).await).await?.into())
    }

    async fn status(tenant: String) -> Result<upkeep::StoreStatus, types::Error> {
        let tenant = Tenant::parse(tenant)?;
        Ok(with_engine(async |engine| engine.status(&tenant).await).await?.into())
    }

    async fn ready() -> Result<(), types::Error> {
        Ok(with_engine(async |engine| engine.ready().await).await?)
    }
}
