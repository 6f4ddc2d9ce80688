//! The port between the functions and a store: what `wit/` says, in the domain's own types.
//! What each method promises stands there.

use crate::conversation::{
    Conversation, ConversationChange, ConversationList, MemberChange, NewConversation,
};
use crate::device::{Device, Digest, ReadState, Totals};
use crate::error::Result;
use crate::global::{Changes, GlobalCursor};
use crate::message::{Ack, Draft, Receipt};
use crate::msg_id::MsgId;
use crate::name::{ConversationId, DeviceId, Tenant, UserId};
use crate::page::{Found, Page, PageQuery, SyncPage, SyncQuery};
use crate::push::{Due, PushSettings, PushSettingsChange};
use crate::revision::{Revised, Revision, Version};
use crate::upkeep::{DeadLetter, DeadLetterAction, RunReport, StoreStatus, Task};

/// Who asks, as the token said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub tenant: Tenant,
    pub user: UserId,
    /// A service or an administrator: may do what only owners may, and write to system
    /// conversations.
    pub privileged: bool,
}

/// Futures of a component are not `Send`, so neither are these.
#[allow(async_fn_in_trait)]
pub trait Storage {
    async fn append(&self, actor: &Actor, drafts: Vec<Draft>, ack: Ack) -> Result<Vec<Result<Receipt>>>;
    async fn page(&self, actor: &Actor, queries: Vec<PageQuery>) -> Result<Vec<Result<Page>>>;
    async fn get(&self, actor: &Actor, conversation: &ConversationId, ids: &[MsgId]) -> Result<Found>;

    async fn revise(&self, actor: &Actor, revision: &Revision) -> Result<Revised>;
    /// In the order of the ids.
    async fn hide(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        ids: &[MsgId],
    ) -> Result<Vec<Result<()>>>;
    async fn versions(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        msg_id: MsgId,
    ) -> Result<Vec<Version>>;

    async fn create(&self, actor: &Actor, new: NewConversation) -> Result<Conversation>;
    async fn change_members(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: MemberChange,
    ) -> Result<Conversation>;
    async fn update(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: ConversationChange,
    ) -> Result<Conversation>;
    async fn conversation(&self, actor: &Actor, id: &ConversationId) -> Result<Conversation>;
    async fn list(&self, actor: &Actor, cursor: &str, limit: u32) -> Result<ConversationList>;

    async fn sync(&self, actor: &Actor, device: &DeviceId, query: SyncQuery) -> Result<SyncPage>;
    async fn global(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: Option<GlobalCursor>,
        limit: u32,
    ) -> Result<Changes>;
    async fn digest(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: &str,
        limit: u32,
        latest: u32,
    ) -> Result<Digest>;
    async fn read(&self, actor: &Actor, conversation: &ConversationId, up_to: MsgId) -> Result<ReadState>;
    async fn totals(&self, actor: &Actor) -> Result<Totals>;
    async fn devices(&self, actor: &Actor, forget: Option<&DeviceId>) -> Result<Vec<Device>>;

    async fn push_settings(&self, actor: &Actor, change: PushSettingsChange) -> Result<PushSettings>;
    async fn push_due(&self, tenant: &Tenant, limit: u32, confirm: &[String]) -> Result<Vec<Due>>;

    async fn run(&self, tasks: &[Task], max_ms: u64) -> Result<RunReport>;
    async fn dead_letters(
        &self,
        tenant: &Tenant,
        action: DeadLetterAction,
        limit: u32,
    ) -> Result<Vec<DeadLetter>>;
    async fn status(&self, tenant: &Tenant) -> Result<StoreStatus>;
    async fn ready(&self) -> Result<()>;
}
