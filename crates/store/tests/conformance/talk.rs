//! Short words for what the tests say often.

use super::backend::block_on;
use im_domain::conversation::{ConversationKind, History, MemberChange, NewConversation};
use im_domain::message::{Ack, Draft, Kind, Message, Receipt, Target};
use im_domain::page::{Direction, Page, PageQuery, SyncPage, SyncQuery};
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
