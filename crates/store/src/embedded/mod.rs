//! The embedded engine: a whole store on one SQLite database.
//!
//! The same rules as the big engine: ids and `seq` are made at the moment of append, in append
//! order; a retry is known by (tenant, conversation, sender, clientMsgId). Every write is one
//! transaction that begins IMMEDIATE, so writers never meet halfway; reads are one statement, which
//! sees one state of the database.
//!
//! Durability: WAL with `synchronous = NORMAL`. A commit survives the death of every process of the
//! product (`accepted`); it reaches the disk at the next flush. `persisted` commits with
//! `synchronous = FULL`, which flushes it and everything before it.

mod access;
mod append;
mod audit;
mod clock;
mod cold;
mod conversation;
mod devices;
mod erase;
mod expire;
mod export;
mod feed;
mod global;
mod head;
mod hide;
mod index;
mod list;
mod members;
mod messages;
mod migrate;
mod pages;
mod positions;
mod push;
mod read_position;
mod retention;
mod revise;
mod settings;
#[cfg(all(test, feature = "native"))]
mod testing;
mod tier;
mod transaction;
mod unread;
mod upkeep;
mod versions;

use crate::sql::SqlError;
use crate::sqlite::Sqlite;
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
use im_domain::push::{Due, PushRules, PushSettings, PushSettingsChange};
use im_domain::retention::RetentionRules;
use im_domain::revision::{Revised, Revision, RevisionRules, Version};
use im_domain::storage::{Actor, Storage};
use im_domain::tier::TierRules;
use im_domain::upkeep::{DeadLetter, DeadLetterAction, RunReport, StoreStatus, Task};
use im_domain::{ConversationId, DeviceId, Error, MsgId, Result, Tenant, UserId};

/// How long a statement waits for another writer, in milliseconds. Past it the call answers
/// "overloaded".
pub const BUSY_TIMEOUT_MS: u32 = 5_000;
/// Page cache of one connection, in KiB (SQLite takes it as a negative number).
pub const CACHE_KIB: u32 = 8_192;

/// What an engine takes from its surroundings.
pub struct Environment {
    /// Milliseconds since 1970.
    pub now_ms: Box<dyn Fn() -> u64>,
    /// 128 random bits; they name epochs and conversations.
    pub random: Box<dyn Fn() -> u128>,
    /// How long messages are kept.
    pub retention: RetentionRules,
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

/// A store on one SQLite connection.
pub struct Embedded<P> {
    db: P,
    environment: Environment,
}

impl<P: Sqlite> Embedded<P> {
    /// Sets the connection up and brings the schema to this version.
    pub fn open(db: P, environment: Environment) -> Result<Self> {
        let pragmas = [
            format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}"),
            "PRAGMA journal_mode = WAL".to_owned(),
            "PRAGMA synchronous = NORMAL".to_owned(),
            format!("PRAGMA cache_size = -{CACHE_KIB}"),
            // What was erased is in no free page.
            "PRAGMA secure_delete = ON".to_owned(),
        ];
        for pragma in &pragmas {
            db.execute(pragma, Vec::new())?;
        }
        check_journal(&db)?;
        let store = Self { db, environment };
        migrate::migrate(&store)?;
        Ok(store)
    }

    fn now_ms(&self) -> u64 {
        (self.environment.now_ms)()
    }

    fn random_name(&self) -> String {
        format!("{:032x}", (self.environment.random)())
    }

    fn run_statement(&self, statement: &str) -> Result<(), SqlError> {
        self.db.execute(statement, Vec::new()).map(|_| ())
    }
}

/// SQLite keeps another journal without an error where WAL is not possible, on a network file system
/// for example; the acknowledgements would then promise too much.
fn check_journal(db: &impl Sqlite) -> Result<()> {
    let mut rows = db.execute("PRAGMA journal_mode", Vec::new())?;
    let mode = rows.first_mut().map_or(Ok(String::new()), |row| row.text())?;
    match mode.as_str() {
        "wal" | "memory" => Ok(()),
        other => Err(Error::internal(format!("the database cannot use WAL (its journal is {other})"))),
    }
}

impl<P: Sqlite> Storage for Embedded<P> {
    async fn append(&self, actor: &Actor, drafts: Vec<Draft>, ack: Ack) -> Result<Vec<Result<Receipt>>> {
        append::append(self, actor, drafts, ack)
    }

    async fn page(&self, actor: &Actor, queries: Vec<PageQuery>) -> Result<Vec<Result<Page>>> {
        pages::pages(self, actor, queries)
    }

    async fn get(&self, actor: &Actor, conversation: &ConversationId, ids: &[MsgId]) -> Result<Found> {
        messages::get(self, actor, conversation, ids)
    }

    async fn revise(&self, actor: &Actor, revision: &Revision) -> Result<Revised> {
        revise::revise(self, actor, revision)
    }

    async fn hide(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        ids: &[MsgId],
    ) -> Result<Vec<Result<()>>> {
        hide::hide(self, actor, conversation, ids)
    }

    async fn versions(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        msg_id: MsgId,
    ) -> Result<Vec<Version>> {
        versions::versions(self, actor, conversation, msg_id)
    }

    async fn create(&self, actor: &Actor, new: NewConversation) -> Result<Conversation> {
        conversation::create(self, actor, new)
    }

    async fn change_members(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: MemberChange,
    ) -> Result<Conversation> {
        members::change(self, actor, conversation, &change)
    }

    async fn update(
        &self,
        actor: &Actor,
        conversation: &ConversationId,
        change: ConversationChange,
    ) -> Result<Conversation> {
        settings::update(self, actor, conversation, &change)
    }

    async fn conversation(&self, actor: &Actor, id: &ConversationId) -> Result<Conversation> {
        list::one(self, actor, id)
    }

    async fn list(&self, actor: &Actor, cursor: &str, limit: u32) -> Result<ConversationList> {
        list::list(self, actor, cursor, limit)
    }

    async fn sync(&self, actor: &Actor, device: &DeviceId, query: SyncQuery) -> Result<SyncPage> {
        positions::sync(self, actor, device, &query)
    }

    async fn global(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: Option<GlobalCursor>,
        limit: u32,
    ) -> Result<Changes> {
        devices::seen(self, actor, device)?;
        global::changes(self, actor, cursor.as_ref(), limit)
    }

    async fn digest(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: &str,
        limit: u32,
        latest: u32,
    ) -> Result<Digest> {
        devices::seen(self, actor, device)?;
        crate::digest::digest(self, actor, cursor, limit, latest).await
    }

    async fn read(&self, actor: &Actor, conversation: &ConversationId, up_to: MsgId) -> Result<ReadState> {
        read_position::read(self, actor, conversation, up_to)
    }

    async fn totals(&self, actor: &Actor) -> Result<Totals> {
        list::totals(self, actor)
    }

    async fn devices(&self, actor: &Actor, forget: Option<&DeviceId>) -> Result<Vec<Device>> {
        devices::devices(self, actor, forget)
    }

    async fn push_settings(&self, actor: &Actor, change: PushSettingsChange) -> Result<PushSettings> {
        push::settings(self, actor, &change)
    }

    async fn push_due(&self, tenant: &Tenant, limit: u32, confirm: &[String]) -> Result<Vec<Due>> {
        push::due(self, tenant, limit, confirm)
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
        upkeep::run(self, tasks, max_ms)
    }

    /// Messages are in SQL at once here, or refused at once.
    async fn dead_letters(
        &self,
        _tenant: &Tenant,
        _action: DeadLetterAction,
        _limit: u32,
    ) -> Result<Vec<DeadLetter>> {
        Ok(Vec::new())
    }

    async fn status(&self, tenant: &Tenant) -> Result<StoreStatus> {
        upkeep::status(self, tenant)
    }

    async fn ready(&self) -> Result<()> {
        Ok(self.run_statement("SELECT epoch FROM store WHERE id = 1")?)
    }
}
