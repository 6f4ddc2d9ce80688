//! The tiered engine: Redis holds what is recent, PostgreSQL keeps everything.
//!
//! A conversation lives in one of 256 partitions, a partition on one Redis server and in one database.
//! Every write is one script on Redis, which gives ids and `seq` and adds an entry to the partition's
//! log; the drain carries the log, in its order, into SQL. What is read comes from Redis as far as
//! Redis has it, and from SQL below that; the two meet at a known id, so nothing is seen twice or
//! missed while a batch moves. A conversation that is not hot is made hot from SQL first.
//!
//! Durability: `accepted` is what Redis promises of an answered write ([`HotDurability`]);
//! `persisted` is a commit of PostgreSQL with `synchronous_commit = on`.
//!
//! Loss of the hot store is detected by the server's run id: after any restart, failover or restored
//! copy every script answers "verify", and [`adopt`] compares clocks with SQL first. See there.

mod adopt;
mod append;
mod apply;
mod audit;
mod cold;
pub mod config;
mod create;
mod dead;
mod devices;
mod drain;
mod entry;
mod erase;
mod expire;
mod export;
mod feed;
mod global;
mod hide;
mod history;
mod home;
mod index;
mod keys;
mod layout;
pub mod limits;
mod list;
mod members;
mod migrate;
mod pages;
mod persist;
mod push;
mod read;
mod read_position;
pub mod rebalance;
mod record;
mod retention;
mod revise;
mod revised;
mod rows;
mod script;
mod settings;
mod stamp;
mod standing;
mod sync;
mod tell;
mod tier;
mod topology;
mod upkeep;
mod user;
mod version;
mod versions;
mod view;
mod warm;

pub use migrate::{MigrationReport, migrate};

use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use im_domain::conversation::{
    Conversation, ConversationChange, ConversationList, MemberChange, NewConversation,
};
use im_domain::device::{Device, Digest, ReadState, Totals};
use im_domain::erase::Erased;
use im_domain::export::{Export, ExportCursor};
use im_domain::feed::{Events, FeedCursor};
use im_domain::global::{Changes, GlobalCursor};
use im_domain::limits::RETRY_AFTER_MS;
use im_domain::message::{Ack, Draft, Receipt};
use im_domain::page::{Found, Page, PageQuery, SyncPage, SyncQuery};
use im_domain::push::{Due, PushRules, PushSettings, PushSettingsChange};
use im_domain::retention::RetentionRules;
use im_domain::revision::{Revised, Revision, RevisionRules, Version};
use im_domain::storage::{Actor, Storage};
use im_domain::tier::TierRules;
use im_domain::upkeep::{DeadLetter, DeadLetterAction, RunReport, StoreStatus, Task};
use im_domain::{ConversationId, DeviceId, Error, MsgId, Result, Tenant, UserId};
use script::Script;
use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::Pin;

/// What Redis promises of a write that it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HotDurability {
    /// It may be lost when the server dies or another takes over (`appendfsync everysec`, replicas).
    Everysec,
    /// It is on disk (`appendfsync always`).
    Always,
}

/// A pause that is waited for.
pub type Pause = Pin<Box<dyn Future<Output = ()>>>;

/// What an engine takes from its surroundings.
pub struct Settings {
    /// Milliseconds since 1970.
    pub now_ms: Box<dyn Fn() -> u64>,
    /// 128 random bits; they name epochs, leases and conversations.
    pub random: Box<dyn Fn() -> u128>,
    /// A pause of so many milliseconds.
    pub pause: Box<dyn Fn(u64) -> Pause>,
    /// Tells one list of servers from another: with another list the store looks at what lives where
    /// before it serves.
    pub servers: String,
    /// How long messages are kept.
    pub retention: RetentionRules,
    pub hot_durability: HotDurability,
    /// Entries a partition's log may hold before writes are refused, 1 to
    /// [`limits::BACKLOG_ENTRIES_MAX`].
    pub backlog_max: u64,
    /// Life of an idempotency marker, in seconds, at least 1.
    pub marker_life_s: u64,
    /// When users become due for a push.
    pub push: PushRules,
    /// How long senders can revise what they said.
    pub revision: RevisionRules,
    /// When messages move to cold segments.
    pub tier: TierRules,
    /// Most members of a conversation of which each is told of every message; see
    /// [`im_domain::limits::INDEX_MEMBERS_MAX`].
    pub index_members_max: u64,
}

/// A Redis server.
struct Node<R> {
    redis: R,
    /// The server's run, as scripts are told it, and how many connections had been lost when it was
    /// read: it holds for one connection.
    run: RefCell<Option<(String, u64)>>,
}

/// A store on Redis servers and PostgreSQL databases.
pub struct Tiered<R, P> {
    nodes: Vec<Node<R>>,
    databases: Vec<P>,
    settings: Settings,
    /// Chats of pairs that have an id of their own; they never change.
    aliases: RefCell<HashMap<String, ConversationId>>,
    /// For each server the partitions that it has, as scripts are told: "1" for each of them ("": all).
    own: Vec<String>,
}

impl<R: Redis, P: Postgres> Tiered<R, P> {
    /// The order of the servers matters: partitions are dealt out to them by place. Nothing is
    /// connected to yet.
    pub fn new(redis: Vec<R>, postgres: Vec<P>, settings: Settings) -> Result<Self> {
        if redis.is_empty() || postgres.is_empty() {
            return Err(Error::internal("at least one Redis and one PostgreSQL are needed"));
        }
        let own = (0..redis.len()).map(|node| topology::spelled(node, redis.len())).collect();
        let nodes = redis.into_iter().map(|redis| Node { redis, run: RefCell::new(None) }).collect();
        Ok(Self { nodes, databases: postgres, settings, aliases: RefCell::default(), own })
    }

    fn now_ms(&self) -> u64 {
        (self.settings.now_ms)()
    }

    fn random_name(&self) -> String {
        format!("{:032x}", (self.settings.random)())
    }

    fn node_of(&self, partition: u8) -> usize {
        topology::server_of(partition, self.nodes.len())
    }

    /// The partitions of the server that has this one; see [`Self::own`].
    fn here(&self, partition: u8) -> &str {
        self.own.get(self.node_of(partition)).map_or("", String::as_str)
    }

    fn node(&self, index: usize) -> Result<&Node<R>> {
        self.nodes.get(index).ok_or_else(|| Error::internal("there is no such Redis server"))
    }

    fn database(&self, index: usize) -> Result<&P> {
        let count = self.databases.len();
        self.databases.get(index).ok_or_else(|| {
            let number = index + 1;
            Error::internal(format!("a partition is in database {number}, and the list has {count}"))
        })
    }

    /// Calls a script about a partition; see [`Self::ask_node`].
    async fn ask(
        &self,
        partition: u8,
        script: &Script,
        keys: &[String],
        arguments: Vec<Argument>,
    ) -> Result<(String, Reply)> {
        self.ask_node(self.node_of(partition), script, keys, arguments).await
    }

    /// Calls a script on a server and gives the first word of its reply and the rest. The run goes
    /// before the arguments; clocks that have to be adopted are, and then it is called again. A full
    /// backlog is an error.
    async fn ask_node(
        &self,
        node: usize,
        script: &Script,
        keys: &[String],
        mut arguments: Vec<Argument>,
    ) -> Result<(String, Reply)> {
        arguments.insert(0, Argument::from(0_u64));
        for _ in 0..limits::ATTEMPTS_MAX {
            let (word, reply) = self.call(node, script, keys, &mut arguments).await?;
            if word != "verify" {
                return Ok((word, reply));
            }
        }
        Err(Error::internal("the hot store's clocks were adopted again and again"))
    }

    /// As [`Self::ask`], but "verify" is given back, with the clocks adopted: what the caller has asked
    /// SQL before has to be asked again.
    async fn ask_once(
        &self,
        partition: u8,
        script: &Script,
        keys: &[String],
        mut arguments: Vec<Argument>,
    ) -> Result<(String, Reply)> {
        arguments.insert(0, Argument::from(0_u64));
        self.call(self.node_of(partition), script, keys, &mut arguments).await
    }

    async fn call(
        &self,
        node: usize,
        script: &Script,
        keys: &[String],
        arguments: &mut [Argument],
    ) -> Result<(String, Reply)> {
        let had_connected = self.node(node)?.run.borrow().is_some();
        let mut reply = self.send(node, script, keys, arguments).await;
        // A kept connection may have broken while nobody looked.
        if matches!(reply, Err(Error::HotUnavailable { .. })) && had_connected && script.may_repeat {
            reply = self.send(node, script, keys, arguments).await;
        }
        let mut reply = reply?;
        let word = reply.text()?;
        match word.as_str() {
            "verify" => {
                adopt::adopt(self, node).await?;
                // What was known of pairs may have been lost.
                self.aliases.borrow_mut().clear();
            }
            "backlog" => return Err(overloaded()),
            _ => {}
        }
        Ok((word, reply))
    }

    async fn send(
        &self,
        node: usize,
        script: &Script,
        keys: &[String],
        arguments: &mut [Argument],
    ) -> Result<Reply> {
        let run = self.run(node).await?;
        if let Some(first) = arguments.first_mut() {
            *first = Argument::from(run);
        }
        Ok(script.run(&self.node(node)?.redis, keys, arguments).await?)
    }
}

fn overloaded() -> Error {
    Error::Overloaded { retry_after_ms: RETRY_AFTER_MS }
}

/// A word that a script does not give.
fn unknown_word(script: &str, word: &str) -> Error {
    Error::internal(format!("the script {script} answered {word}"))
}

impl<R: Redis, P: Postgres> Storage for Tiered<R, P> {
    async fn append(&self, actor: &Actor, drafts: Vec<Draft>, ack: Ack) -> Result<Vec<Result<Receipt>>> {
        append::append(self, actor, drafts, ack).await
    }

    async fn page(&self, actor: &Actor, queries: Vec<PageQuery>) -> Result<Vec<Result<Page>>> {
        pages::pages(self, actor, queries).await
    }

    async fn get(&self, actor: &Actor, conversation: &ConversationId, ids: &[MsgId]) -> Result<Found> {
        pages::get(self, actor, conversation, ids).await
    }

    async fn revise(&self, actor: &Actor, revision: &Revision) -> Result<Revised> {
        revise::revise(self, actor, revision).await
    }

    async fn hide(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        ids: &[MsgId],
    ) -> Result<Vec<Result<()>>> {
        hide::hide(self, actor, conversation, ids).await
    }

    async fn versions(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        msg_id: MsgId,
    ) -> Result<Vec<Version>> {
        versions::versions(self, actor, conversation, msg_id).await
    }

    async fn create(&self, actor: &Actor, new: NewConversation) -> Result<Conversation> {
        create::create(self, actor, new).await
    }

    async fn change_members(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: MemberChange,
    ) -> Result<Conversation> {
        members::change(self, actor, conversation, &change).await
    }

    async fn update(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: ConversationChange,
    ) -> Result<Conversation> {
        settings::update(self, actor, conversation, &change).await
    }

    async fn conversation(&self, actor: &Actor, id: &ConversationId) -> Result<Conversation> {
        view::one(self, actor, id).await
    }

    async fn list(&self, actor: &Actor, cursor: &str, limit: u32) -> Result<ConversationList> {
        list::list(self, actor, cursor, limit).await
    }

    async fn sync(&self, actor: &Actor, device: &DeviceId, query: SyncQuery) -> Result<SyncPage> {
        sync::sync(self, actor, device, &query).await
    }

    async fn global(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: Option<GlobalCursor>,
        limit: u32,
    ) -> Result<Changes> {
        devices::seen(self, actor, device).await?;
        global::changes(self, actor, cursor.as_ref(), limit).await
    }

    async fn digest(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: &str,
        limit: u32,
        latest: u32,
    ) -> Result<Digest> {
        devices::seen(self, actor, device).await?;
        crate::digest::digest(self, actor, cursor, limit, latest).await
    }

    async fn read(&self, actor: &Actor, conversation: &ConversationId, up_to: MsgId) -> Result<ReadState> {
        read_position::read(self, actor, conversation, up_to).await
    }

    async fn totals(&self, actor: &Actor) -> Result<Totals> {
        list::totals(self, actor).await
    }

    async fn devices(&self, actor: &Actor, forget: Option<&DeviceId>) -> Result<Vec<Device>> {
        devices::devices(self, actor, forget).await
    }

    async fn push_settings(&self, actor: &Actor, change: PushSettingsChange) -> Result<PushSettings> {
        push::settings(self, actor, &change).await
    }

    async fn push_due(&self, tenant: &Tenant, limit: u32, confirm: &[String]) -> Result<Vec<Due>> {
        push::due(self, tenant, limit, confirm).await
    }

    async fn events(&self, tenant: &Tenant, cursor: Option<FeedCursor>, limit: u32) -> Result<Events> {
        feed::events(self, tenant, cursor, limit).await
    }

    async fn export(&self, actor: &Actor, user: &UserId, cursor: ExportCursor, limit: u32) -> Result<Export> {
        export::export(self, actor, user, cursor, limit).await
    }

    async fn erase(&self, actor: &Actor, user: &UserId, cursor: ExportCursor) -> Result<Erased> {
        erase::erase(self, actor, user, cursor).await
    }

    async fn run(&self, tasks: &[Task], max_ms: u64) -> Result<RunReport> {
        upkeep::run(self, tasks, max_ms).await
    }

    async fn dead_letters(
        &self,
        tenant: &Tenant,
        action: DeadLetterAction,
        limit: u32,
    ) -> Result<Vec<DeadLetter>> {
        dead::letters(self, tenant, action, limit).await
    }

    async fn status(&self, tenant: &Tenant) -> Result<StoreStatus> {
        upkeep::status(self, tenant).await
    }

    async fn ready(&self) -> Result<()> {
        upkeep::ready(self).await
    }
}
