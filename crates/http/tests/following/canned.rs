//! A store that has its answers ready and notes what it was asked: it shows what the edge makes of both.

use im_domain::conversation::{
    Conversation, ConversationChange, ConversationKind, ConversationList, LastMessage, MemberChange,
    NewConversation,
};
use im_domain::device::{Device, Digest, Digested, ReadState, Totals};
use im_domain::global::{ChangeKind, Changed, Changes, GlobalCursor};
use im_domain::message::{Ack, Draft, Kind, Message, Receipt, Status};
use im_domain::page::{Found, Page, PageQuery, Reset, ResetReason, SyncPage, SyncQuery};
use im_domain::push::{Due, PushSettings, PushSettingsChange};
use im_domain::revision::{Revised, Revision, Version};
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::{DeadLetter, DeadLetterAction, RunReport, StoreStatus, Task};
use im_domain::{ConversationId, DeviceId, MsgId, Result, Tenant, UserId};
use std::cell::RefCell;
use std::fmt::Debug;

pub const TIME_MS: u64 = 1_750_000_000_000;

#[derive(Default)]
pub struct Canned {
    asked: RefCell<Vec<String>>,
}

impl Canned {
    /// What it was asked since the last time, one line a call.
    pub fn asked(&self) -> Vec<String> {
        self.asked.take()
    }

    fn note(&self, who: &str, what: impl Debug) {
        self.asked.borrow_mut().push(format!("{who} {what:?}"));
    }
}

/// An id above what doubles hold exactly.
pub fn id() -> MsgId {
    MsgId::new(9_007_199_254_740_993).unwrap()
}

fn team() -> ConversationId {
    ConversationId::parse("team").unwrap()
}

fn bob() -> UserId {
    UserId::parse("bob").unwrap()
}

fn message() -> Message {
    Message {
        msg_id: id(),
        seq: 3,
        sender: bob(),
        kind: Kind::Text,
        content: "hi".to_owned(),
        client_msg_id: "1".to_owned(),
        create_time: TIME_MS,
        status: Status::Normal,
        edit_time: None,
        reply_to: None,
        ext: None,
        control: None,
    }
}

fn conversation() -> Conversation {
    let last = LastMessage {
        msg_id: id(),
        seq: 3,
        sender: bob(),
        kind: Kind::Text,
        summary: "hi".to_owned(),
        create_time: TIME_MS,
        status: Status::Normal,
    };
    Conversation {
        id: team(),
        kind: ConversationKind::Group,
        member_count: 2,
        last: Some(last),
        head_seq: 3,
        unread: 1,
        read_msg_id: MsgId::NONE,
        create_time: TIME_MS,
        update_time: TIME_MS,
        epoch: "e".to_owned(),
        muted: true,
        retention_ms: Some(60_000),
        legal_hold: None,
    }
}

fn changed(left: bool) -> Changed {
    Changed {
        conversation: team(),
        head_msg_id: if left { MsgId::NONE } else { id() },
        head_seq: 3,
        unread: 1,
        read_msg_id: MsgId::NONE,
        kinds: vec![ChangeKind::Messages, ChangeKind::Read],
        left,
    }
}

fn due(user: &str, preview: Option<Vec<(ConversationId, Message)>>) -> Due {
    Due {
        lease_id: format!("lease of {user}"),
        user: UserId::parse(user).unwrap(),
        messages: 5,
        conversations: 2,
        oldest_time_ms: TIME_MS,
        preview,
    }
}

/// Other tests ask this, of a whole store.
fn elsewhere() -> ! {
    panic!("no route that follows a user asks this")
}

impl Storage for Canned {
    async fn append(&self, _: &Actor, _: Vec<Draft>, _: Ack) -> Result<Vec<Result<Receipt>>> {
        elsewhere()
    }

    async fn page(&self, _: &Actor, _: Vec<PageQuery>) -> Result<Vec<Result<Page>>> {
        elsewhere()
    }

    async fn get(&self, _: &Actor, _: &ConversationId, _: &[MsgId]) -> Result<Found> {
        elsewhere()
    }

    async fn revise(&self, _: &Actor, _: &Revision) -> Result<Revised> {
        elsewhere()
    }

    async fn hide(&self, _: &Actor, _: &ConversationId, _: &[MsgId]) -> Result<Vec<Result<()>>> {
        elsewhere()
    }

    async fn versions(&self, _: &Actor, _: &ConversationId, _: MsgId) -> Result<Vec<Version>> {
        elsewhere()
    }

    async fn create(&self, _: &Actor, _: NewConversation) -> Result<Conversation> {
        elsewhere()
    }

    async fn change_members(&self, _: &Actor, _: &ConversationId, _: MemberChange) -> Result<Conversation> {
        elsewhere()
    }

    async fn update(
        &self,
        actor: &Actor,
        id: &ConversationId,
        change: ConversationChange,
    ) -> Result<Conversation> {
        let common = (change.history.map(|history| history.as_str()), change.keep_for, change.legal_hold);
        self.note(actor.user.as_str(), (id.as_str(), change.muted, common));
        Ok(conversation())
    }

    async fn conversation(&self, _: &Actor, _: &ConversationId) -> Result<Conversation> {
        elsewhere()
    }

    async fn list(&self, _: &Actor, _: &str, _: u32) -> Result<ConversationList> {
        elsewhere()
    }

    async fn sync(&self, actor: &Actor, device: &DeviceId, query: SyncQuery) -> Result<SyncPage> {
        self.note(actor.user.as_str(), device.as_str());
        let page = Page {
            conversation: query.conversation,
            messages: Vec::new(),
            has_more: false,
            cursor: MsgId::NONE,
            epoch: "e".to_owned(),
            head_seq: 0,
            reset: None,
        };
        Ok(SyncPage { page, position: MsgId::NONE })
    }

    /// From the start one is left and there was a reset; else neither.
    async fn global(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: Option<GlobalCursor>,
        limit: u32,
    ) -> Result<Changes> {
        let start = cursor.is_none();
        let cursor = cursor.map(|cursor| cursor.to_string());
        self.note(actor.user.as_str(), (device.map(DeviceId::as_str), cursor.as_deref(), limit));
        Ok(Changes {
            cursor: "e.7.8".to_owned(),
            changed: vec![changed(start)],
            has_more: start,
            reset: start.then_some(Reset { reason: ResetReason::EpochChanged, oldest: MsgId::NONE }),
        })
    }

    async fn digest(
        &self,
        actor: &Actor,
        device: Option<&DeviceId>,
        cursor: &str,
        limit: u32,
        latest: u32,
    ) -> Result<Digest> {
        self.note(actor.user.as_str(), (device.map(DeviceId::as_str), cursor, limit, latest));
        let digested = Digested { conversation: conversation(), latest: vec![message()] };
        Ok(Digest { conversations: vec![digested], cursor: "7.team".to_owned(), has_more: true })
    }

    async fn read(&self, actor: &Actor, conversation: &ConversationId, up_to: MsgId) -> Result<ReadState> {
        self.note(actor.user.as_str(), (conversation.as_str(), up_to.number()));
        Ok(ReadState { read_msg_id: up_to, unread: 2 })
    }

    async fn totals(&self, actor: &Actor) -> Result<Totals> {
        self.note(actor.user.as_str(), "totals");
        Ok(Totals { conversations: 2, messages: 7 })
    }

    async fn devices(&self, actor: &Actor, forget: Option<&DeviceId>) -> Result<Vec<Device>> {
        self.note(actor.user.as_str(), forget.map(DeviceId::as_str));
        Ok(vec![Device { id: DeviceId::parse("phone").unwrap(), last_seen_ms: TIME_MS }])
    }

    async fn push_settings(&self, actor: &Actor, change: PushSettingsChange) -> Result<PushSettings> {
        let muted = change.muted.map(|all| all.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>());
        self.note(actor.user.as_str(), (change.show_content, muted));
        Ok(PushSettings { show_content: true, muted: vec![team()] })
    }

    /// The first allows to show content.
    async fn push_due(&self, tenant: &Tenant, limit: u32, confirm: &[String]) -> Result<Vec<Due>> {
        self.note(tenant.as_str(), (limit, confirm));
        Ok(vec![due("bob", Some(vec![(team(), message())])), due("carol", None)])
    }

    async fn run(&self, _: &[Task], _: u64) -> Result<RunReport> {
        elsewhere()
    }

    async fn dead_letters(&self, _: &Tenant, _: DeadLetterAction, _: u32) -> Result<Vec<DeadLetter>> {
        elsewhere()
    }

    async fn status(&self, _: &Tenant) -> Result<StoreStatus> {
        elsewhere()
    }

    async fn ready(&self) -> Result<()> {
        elsewhere()
    }
}
