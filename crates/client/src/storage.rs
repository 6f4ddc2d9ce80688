//! `im_domain::storage::Storage` over the component's imports.

use crate::bindings::{conversations, messages, positions, push, types, upkeep};
use im_contract::each;
use im_domain::conversation::{
    Conversation, ConversationChange, ConversationList, MemberChange, NewConversation,
};
use im_domain::device::{Device, Digest, ReadState, Totals};
use im_domain::global::{Changes, GlobalCursor};
use im_domain::message::{Ack, Draft, Receipt};
use im_domain::page::{Found, Page, PageQuery, SyncPage, SyncQuery};
use im_domain::push::{Due, PushSettings, PushSettingsChange};
use im_domain::revision::{Revised, Revision, Version};
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::{DeadLetter, DeadLetterAction, RunReport, StoreStatus, Task};
use im_domain::{ConversationId, DeviceId, Error, MsgId, Result, Tenant};

im_contract::conversions!();

/// The store this component was composed with.
#[derive(Clone, Copy, Debug, Default)]
pub struct WitStorage;

impl Storage for WitStorage {
    async fn append(&self, actor: &Actor, drafts: Vec<Draft>, ack: Ack) -> Result<Vec<Result<Receipt>>> {
        let answers = messages::append(actor.clone().into(), each(drafts), ack.into()).await?;
        Ok(answers.into_iter().map(item).collect())
    }

    async fn page(&self, actor: &Actor, queries: Vec<PageQuery>) -> Result<Vec<Result<Page>>> {
        let answers = messages::pages(actor.clone().into(), each(queries)).await?;
        Ok(answers.into_iter().map(item).collect())
    }

    async fn get(&self, actor: &Actor, conversation: &ConversationId, ids: &[MsgId]) -> Result<Found> {
        let ids = ids.iter().map(|id| id.number()).collect();
        messages::get(actor.clone().into(), conversation.to_string(), ids).await?.try_into()
    }

    async fn revise(&self, actor: &Actor, revision: &Revision) -> Result<Revised> {
        messages::revise(actor.clone().into(), revision.clone().into()).await?.try_into()
    }

    async fn hide(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        ids: &[MsgId],
    ) -> Result<Vec<Result<()>>> {
        let ids = ids.iter().map(|id| id.number()).collect();
        let outcomes = messages::hide(actor.clone().into(), conversation.to_string(), ids).await?;
        Ok(outcomes.into_iter().map(|outcome| outcome.map_err(Error::from)).collect())
    }

    async fn versions(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        msg_id: MsgId,
    ) -> Result<Vec<Version>> {
        let id = msg_id.number();
        im_contract::all(messages::versions(actor.clone().into(), conversation.to_string(), id).await?)
    }

    async fn create(&self, actor: &Actor, new: NewConversation) -> Result<Conversation> {
        conversations::create(actor.clone().into(), new.into()).await?.try_into()
    }

    async fn change_members(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: MemberChange,
    ) -> Result<Conversation> {
        let id = conversation.to_string();
        conversations::change_members(actor.clone().into(), id, change.into()).await?.try_into()
    }

    async fn update(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: ConversationChange,
    ) -> Result<Conversation> {
        conversations::update(actor.clone().into(), conversation.to_string(), change.into()).await?.try_into()
    }

    async fn conversation(&self, actor: &Actor, id: &ConversationId) -> Result<Conversation> {
        conversations::get(actor.clone().into(), id.to_string()).await?.try_into()
    }

    async fn list(&self, actor: &Actor, cursor: &str, limit: u32) -> Result<ConversationList> {
        conversations::list(actor.clone().into(), cursor.to_owned(), limit).await?.try_into()
    }

    async fn sync(&self, actor: &Actor, device: &DeviceId, query: SyncQuery) -> Result<SyncPage> {
        positions::sync(actor.clone().into(), device.to_string(), query.into()).await?.try_into()
    }

    async fn global(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: Option<GlobalCursor>,
        limit: u32,
    ) -> Result<Changes> {
        let device = device.map(DeviceId::to_string);
        let cursor = cursor.map_or_else(String::new, |cursor| cursor.to_string());
        positions::global(actor.clone().into(), device, cursor, limit).await?.try_into()
    }

    async fn digest(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: &str,
        limit: u32,
        latest: u32,
    ) -> Result<Digest> {
        let device = device.map(DeviceId::to_string);
        positions::digest(actor.clone().into(), device, cursor.to_owned(), limit, latest).await?.try_into()
    }

    async fn read(&self, actor: &Actor, conversation: &ConversationId, up_to: MsgId) -> Result<ReadState> {
        positions::read(actor.clone().into(), conversation.to_string(), up_to.number()).await?.try_into()
    }

    async fn totals(&self, actor: &Actor) -> Result<Totals> {
        Ok(positions::totals(actor.clone().into()).await?.into())
    }

    async fn devices(&self, actor: &Actor, forget: Option<&DeviceId>) -> Result<Vec<Device>> {
        let forget = forget.map(DeviceId::to_string);
        im_contract::all(positions::devices(actor.clone().into(), forget).await?)
    }

    async fn push_settings(&self, actor: &Actor, change: PushSettingsChange) -> Result<PushSettings> {
        push::settings(actor.clone().into(), change.into()).await?.try_into()
    }

    async fn push_due(&self, tenant: &Tenant, limit: u32, confirm: &[String]) -> Result<Vec<Due>> {
        im_contract::all(push::due(tenant.to_string(), limit, confirm.to_vec()).await?)
    }

    async fn run(&self, tasks: &[Task], max_ms: u64) -> Result<RunReport> {
        Ok(upkeep::run(each(tasks.to_vec()), max_ms).await?.into())
    }

    async fn dead_letters(
        &self,
        tenant: &Tenant,
        action: DeadLetterAction,
        limit: u32,
    ) -> Result<Vec<DeadLetter>> {
        let letters = upkeep::dead_letters(tenant.to_string(), action.into(), limit).await?;
        letters.into_iter().map(TryInto::try_into).collect()
    }

    async fn status(&self, tenant: &Tenant) -> Result<StoreStatus> {
        Ok(upkeep::status(tenant.to_string()).await?.into())
    }

    async fn ready(&self) -> Result<()> {
        Ok(upkeep::ready().await?)
    }
}

/// One item's answer of a call for several.
fn item<W, D>(answer: std::result::Result<W, types::Error>) -> Result<D>
where
    D: TryFrom<W, Error = Error>,
{
    D::try_from(answer?)
}
