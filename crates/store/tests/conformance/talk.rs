//! Short words for what the tests say often.

use super::backend::block_on;
use im_domain::conversation::{
    Conversation, ConversationChange, ConversationKind, History, MemberChange, NewConversation, Role,
};
use im_domain::device::ReadState;
use im_domain::global::{Changes, GlobalCursor};
use im_domain::message::{Ack, Draft, Kind, Message, Receipt, Target};
use im_domain::page::{Direction, Found, Page, PageQuery, SyncPage, SyncQuery};
use im_domain::revision::{Change, Revised, Revision};
use im_domain::storage::{Actor, Storage};
use im_domain::{ClientMsgId, ConversationId, DeviceId, MsgId, Result, Tenant, UserId};

pub fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

pub fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

pub fn actor(name: &str) -> Actor {
    Actor { tenant: Tenant::parse("acme").unwrap(), user: user(name), privileged: false }
}

pub fn service(name: &str) -> Actor {
    Actor { privileged: true, ..actor(name) }
}

pub fn draft(sender: &str, conversation: &str, client_msg_id: &str, content: &str) -> Draft {
    Draft {
        sender: user(sender),
        target: Target::Conversation(id(conversation)),
        client_msg_id: ClientMsgId::parse(client_msg_id).unwrap(),
        client_time: None,
        kind: Kind::Text,
        content: content.to_owned(),
        reply_to: None,
        ext: None,
        silent: false,
    }
}

/// A message to the single chat of two users.
pub fn draft_to_peer(from: &str, to: &str) -> Draft {
    Draft { target: Target::Peer(user(to)), ..draft(from, "unused", &format!("{from}-{to}"), "hi") }
}

pub fn append(store: &impl Storage, drafts: Vec<Draft>) -> Vec<Result<Receipt>> {
    let sender = drafts.first().map_or_else(|| "nobody".to_owned(), |d| d.sender.to_string());
    block_on(store.append(&actor(&sender), drafts, Ack::Accepted)).unwrap()
}

pub fn send(store: &impl Storage, sender: &str, conversation: &str, n: usize) -> Receipt {
    let client_msg_id = format!("{sender}-{n}");
    let one = vec![draft(sender, conversation, &client_msg_id, &format!("message {n}"))];
    append(store, one).remove(0).unwrap()
}

pub fn revise(
    store: &impl Storage,
    who: &Actor,
    conversation: &str,
    msg_id: MsgId,
    change: Change,
) -> Result<Revised> {
    let reason = Some("a slip,\nand a NUL: \0".to_owned());
    block_on(store.revise(who, &Revision { conversation: id(conversation), msg_id, change, reason }))
}

pub fn edit_to(content: &str) -> Change {
    Change::Edit { content: content.to_owned() }
}

/// A group with these members; the first makes it.
pub fn group(store: &impl Storage, conversation: &str, members: &[&str]) {
    group_with(store, conversation, members, History::All);
}

pub fn group_with(store: &impl Storage, conversation: &str, members: &[&str], history: History) {
    let new = NewConversation {
        id: Some(id(conversation)),
        kind: ConversationKind::Group,
        members: members.iter().map(|name| user(name)).collect(),
        history,
    };
    block_on(store.create(&actor(members[0]), new)).unwrap();
}

pub fn add(name: &str) -> MemberChange {
    MemberChange { add: vec![user(name)], ..MemberChange::default() }
}

pub fn remove(name: &str) -> MemberChange {
    MemberChange { remove: vec![user(name)], ..MemberChange::default() }
}

pub fn query(conversation: &str, cursor: MsgId, limit: u32, direction: Direction) -> PageQuery {
    let conversation = id(conversation);
    PageQuery { conversation, cursor, limit, direction, from_ms: None, to_ms: None, kinds: Vec::new() }
}

pub fn page(store: &impl Storage, reader: &str, query: PageQuery) -> Result<Page> {
    block_on(store.page(&actor(reader), vec![query])).unwrap().remove(0)
}

pub fn get(store: &impl Storage, reader: &str, conversation: &str, ids: &[MsgId]) -> Result<Found> {
    block_on(store.get(&actor(reader), &id(conversation), ids))
}

/// Everything a reader sees of a conversation, oldest first, walked in pages of `limit`.
pub fn walk(
    store: &impl Storage,
    reader: &str,
    conversation: &str,
    limit: u32,
    to: Direction,
) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut cursor = MsgId::NONE;
    loop {
        let page = page(store, reader, query(conversation, cursor, limit, to)).unwrap();
        assert!(page.messages.len() <= limit as usize);
        assert_eq!(page.cursor, page.messages.last().map_or(cursor, |m| m.msg_id));
        cursor = page.cursor;
        let has_more = page.has_more;
        messages.extend(page.messages);
        if !has_more {
            break;
        }
    }
    if to == Direction::Up {
        messages.reverse();
    }
    messages
}

pub fn sync(store: &impl Storage, reader: &str, device: &str, query: SyncQuery) -> Result<SyncPage> {
    block_on(store.sync(&actor(reader), &DeviceId::parse(device).unwrap(), query))
}

pub fn sync_query(conversation: &str, last_msg_id: Option<MsgId>) -> SyncQuery {
    SyncQuery { conversation: id(conversation), last_msg_id, limit: 100, epoch: None, auto_advance: false }
}

pub fn set_role(name: &str, role: Role) -> MemberChange {
    MemberChange { roles: vec![(user(name), role)], ..MemberChange::default() }
}

/// A change of a group's members that a service makes.
pub fn change(store: &impl Storage, conversation: &str, change: MemberChange) -> Conversation {
    block_on(store.change_members(&service("service"), &id(conversation), change)).unwrap()
}

pub fn update(
    store: &impl Storage,
    who: &Actor,
    conversation: &str,
    change: ConversationChange,
) -> Result<Conversation> {
    block_on(store.update(who, &id(conversation), change))
}

pub fn mute(store: &impl Storage, name: &str, conversation: &str, muted: bool) -> Conversation {
    let change = ConversationChange { muted: Some(muted), ..ConversationChange::default() };
    update(store, &actor(name), conversation, change).unwrap()
}

pub fn conversation(store: &impl Storage, name: &str, conversation: &str) -> Conversation {
    block_on(store.conversation(&actor(name), &id(conversation))).unwrap()
}

pub fn read(store: &impl Storage, name: &str, conversation: &str, up_to: MsgId) -> Result<ReadState> {
    block_on(store.read(&actor(name), &id(conversation), up_to))
}

pub fn global(
    store: &impl Storage,
    name: &str,
    device: Option<&str>,
    cursor: &str,
    limit: u32,
) -> Result<Changes> {
    let device = device.map(|device| DeviceId::parse(device).unwrap());
    let cursor = GlobalCursor::parse(cursor)?;
    block_on(store.global(&actor(name), device.as_ref(), cursor, limit))
}

/// Names of the conversations on a user's list, in its order, read in parts of `limit`.
pub fn listed(store: &impl Storage, name: &str, limit: u32) -> Vec<String> {
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let part = block_on(store.list(&actor(name), &cursor, limit)).unwrap();
        assert!(part.conversations.len() <= limit as usize);
        names.extend(part.conversations.iter().map(|one| one.id.to_string()));
        cursor = part.cursor;
        if !part.has_more {
            return names;
        }
    }
}
