//! A store that drains, or drains and forgets, or packs, after each call.

use super::tiered::{After, Engine};
use im_domain::conversation::{
    Conversation, ConversationChange, ConversationList, MemberChange, NewConversation,
};
use im_domain::device::{Device, Digest, ReadState, Totals};
use im_domain::erase::Erased;
use im_domain::export::{Export, ExportCursor};
use im_domain::feed::{Events, FeedCursor};
use im_domain::global::{Changes, GlobalCursor};
use im_domain::message::{Ack, Draft, Receipt};
use im_domain::page::{Found, Page, PageQuery, SyncPage, SyncQuery};
use im_domain::push::{Due, PushSettings, PushSettingsChange};
use im_domain::revision::{Revised, Revision, Version};
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::{DeadLetter, DeadLetterAction, RunReport, StoreStatus, Task};
use im_domain::{ConversationId, DeviceId, MsgId, Result, Tenant, UserId};
use im_store::arguments;
use im_store::native::NativeRedis;
use im_store::redis::Redis;
use std::cell::Cell;

/// The keys of the hot store that only save a way to SQL.
pub const HOT_KEYS: &str = "im:{*}:[hgomkrxey]:*";
pub const FORGET: &str = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end";
/// Longest time of a drain, in milliseconds: more than any test needs.
const DRAIN_MS: u64 = 10_000;

pub struct Settled<E = Engine> {
    engine: E,
    redis: Vec<NativeRedis>,
    after: After,
    calls: Cell<usize>,
}

impl<E: Storage> Settled<E> {
    pub fn new(engine: E, redis: Vec<NativeRedis>, after: After) -> Self {
        Self { engine, redis, after, calls: Cell::new(0) }
    }

    pub async fn drain(&self) {
        let report = self.engine.run(&[Task::Drain], DRAIN_MS).await.unwrap();
        assert_eq!((report.backlog, report.dead_lettered), (0, 0));
    }

    /// Drains, and leaves nothing in Redis but what is only there.
    pub async fn evict(&self) {
        self.drain().await;
        self.forget().await;
    }

    /// Leaves no row that can be in a cold segment.
    async fn pack(&self) {
        self.engine.run(&[Task::Tier], DRAIN_MS).await.unwrap();
    }

    async fn forget(&self) {
        for redis in &self.redis {
            redis.command("EVAL", arguments![FORGET, "0", HOT_KEYS]).await.unwrap();
        }
    }

    /// The store, as a call finds it that is no append: that may be one once more of what was not packed yet.
    async fn prepared(&self) -> &Self {
        if self.after == After::PackBefore {
            self.pack().await;
        }
        self
    }

    async fn settled<T>(&self, answer: T) -> T {
        match self.after {
            After::Nothing => {}
            After::Drain => self.drain().await,
            After::DrainAmongOthers => drop(self.engine.run(&[Task::Drain], DRAIN_MS).await.unwrap()),
            After::DrainNowAndThen if self.calls.replace(self.calls.get() + 1).is_multiple_of(2) => {}
            After::DrainNowAndThen => self.drain().await,
            After::Evict => self.evict().await,
            After::Pack => {
                self.evict().await;
                self.pack().await;
            }
            After::PackAmongOthers => {
                self.engine.run(&[Task::Drain], DRAIN_MS).await.unwrap();
                self.pack().await;
            }
            After::PackBefore => {}
        }
        answer
    }

    /// As [`Self::settled`], for upkeep, whose last run has to stay the test's own.
    async fn forgotten<T>(&self, answer: T) -> T {
        if matches!(self.after, After::Evict | After::Pack) {
            self.forget().await;
        }
        answer
    }
}

impl<E: Storage> Storage for Settled<E> {
    async fn append(&self, actor: &Actor, drafts: Vec<Draft>, ack: Ack) -> Result<Vec<Result<Receipt>>> {
        self.settled(self.engine.append(actor, drafts, ack).await).await
    }

    async fn page(&self, actor: &Actor, queries: Vec<PageQuery>) -> Result<Vec<Result<Page>>> {
        self.settled(self.prepared().await.engine.page(actor, queries).await).await
    }

    async fn get(&self, actor: &Actor, conversation: &ConversationId, ids: &[MsgId]) -> Result<Found> {
        self.settled(self.prepared().await.engine.get(actor, conversation, ids).await).await
    }

    async fn revise(&self, actor: &Actor, revision: &Revision) -> Result<Revised> {
        self.settled(self.prepared().await.engine.revise(actor, revision).await).await
    }

    async fn hide(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        ids: &[MsgId],
    ) -> Result<Vec<Result<()>>> {
        self.settled(self.prepared().await.engine.hide(actor, conversation, ids).await).await
    }

    async fn versions(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        msg_id: MsgId,
    ) -> Result<Vec<Version>> {
        self.settled(self.prepared().await.engine.versions(actor, conversation, msg_id).await).await
    }

    async fn create(&self, actor: &Actor, new: NewConversation) -> Result<Conversation> {
        self.settled(self.prepared().await.engine.create(actor, new).await).await
    }

    async fn change_members(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: MemberChange,
    ) -> Result<Conversation> {
        self.settled(self.prepared().await.engine.change_members(actor, conversation, change).await).await
    }

    async fn update(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: ConversationChange,
    ) -> Result<Conversation> {
        self.settled(self.prepared().await.engine.update(actor, conversation, change).await).await
    }

    async fn conversation(&self, actor: &Actor, id: &ConversationId) -> Result<Conversation> {
        self.settled(self.prepared().await.engine.conversation(actor, id).await).await
    }

    async fn list(&self, actor: &Actor, cursor: &str, limit: u32) -> Result<ConversationList> {
        self.settled(self.prepared().await.engine.list(actor, cursor, limit).await).await
    }

    async fn sync(&self, actor: &Actor, device: &DeviceId, query: SyncQuery) -> Result<SyncPage> {
        self.settled(self.prepared().await.engine.sync(actor, device, query).await).await
    }

    async fn global(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: Option<GlobalCursor>,
        limit: u32,
    ) -> Result<Changes> {
        self.settled(self.prepared().await.engine.global(actor, device, cursor, limit).await).await
    }

    async fn digest(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: &str,
        limit: u32,
        latest: u32,
    ) -> Result<Digest> {
        self.settled(self.prepared().await.engine.digest(actor, device, cursor, limit, latest).await).await
    }

    async fn read(&self, actor: &Actor, conversation: &ConversationId, up_to: MsgId) -> Result<ReadState> {
        self.settled(self.prepared().await.engine.read(actor, conversation, up_to).await).await
    }

    async fn totals(&self, actor: &Actor) -> Result<Totals> {
        self.settled(self.prepared().await.engine.totals(actor).await).await
    }

    async fn devices(&self, actor: &Actor, forget: Option<&DeviceId>) -> Result<Vec<Device>> {
        self.settled(self.prepared().await.engine.devices(actor, forget).await).await
    }

    async fn push_settings(&self, actor: &Actor, change: PushSettingsChange) -> Result<PushSettings> {
        self.settled(self.prepared().await.engine.push_settings(actor, change).await).await
    }

    async fn push_due(&self, tenant: &Tenant, limit: u32, confirm: &[String]) -> Result<Vec<Due>> {
        self.settled(self.prepared().await.engine.push_due(tenant, limit, confirm).await).await
    }

    async fn events(&self, tenant: &Tenant, cursor: Option<FeedCursor>, limit: u32) -> Result<Events> {
        self.settled(self.prepared().await.engine.events(tenant, cursor, limit).await).await
    }

    async fn export(&self, actor: &Actor, user: &UserId, cursor: ExportCursor, limit: u32) -> Result<Export> {
        self.settled(self.prepared().await.engine.export(actor, user, cursor, limit).await).await
    }

    async fn erase(&self, actor: &Actor, user: &UserId, cursor: ExportCursor) -> Result<Erased> {
        self.settled(self.prepared().await.engine.erase(actor, user, cursor).await).await
    }

    async fn run(&self, tasks: &[Task], max_ms: u64) -> Result<RunReport> {
        self.forgotten(self.engine.run(tasks, max_ms).await).await
    }

    async fn dead_letters(
        &self,
        tenant: &Tenant,
        action: DeadLetterAction,
        limit: u32,
    ) -> Result<Vec<DeadLetter>> {
        self.engine.dead_letters(tenant, action, limit).await
    }

    async fn status(&self, tenant: &Tenant) -> Result<StoreStatus> {
        self.forgotten(self.engine.status(tenant).await).await
    }

    async fn ready(&self) -> Result<()> {
        self.forgotten(self.engine.ready().await).await
    }
}
