//! After a user was erased, whoever comes under the name is somebody new. What others said stays and is counted right, and
//! indexes learn of each message.

use super::backend::{block_on, on_every_back_end};
use super::erase_traces::{Traced, holds};
use super::feed_index::{Index, pulled};
use super::talk::*;
use im_domain::conversation::{ConversationKind, NewConversation};
use im_domain::export::ExportCursor;
use im_domain::limits::{ERASE_CONVERSATIONS_MAX, ERASE_MESSAGES_MAX};
use im_domain::message::{Draft, Status};
use im_domain::page::Direction;
use im_domain::push::PushSettingsChange;
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_domain::{ConversationId, Error, MsgId};

on_every_back_end!(
    what_others_said_stays_and_is_counted_right,
    whoever_comes_under_the_name_is_somebody_new,
    a_chat_of_two_begins_anew,
    indexes_learn_of_each_message,
    very_many_messages_go_in_parts,
    very_many_conversations_go_in_parts,
    only_privileged_actors_may_erase_and_it_is_noted,
);

/// What the parts of an erasure have done.
#[derive(Debug, Default, PartialEq)]
pub struct Whole {
    pub messages: u64,
    pub held: Vec<ConversationId>,
}

/// Erases a user of whom nothing is held; gives how many messages there were.
pub fn erase(store: &impl Storage, name: &str) -> u64 {
    let whole = erase_all(store, name);
    assert!(whole.held.is_empty(), "{whole:?}");
    whole.messages
}

/// Erases a user.
pub fn erase_all(store: &impl Storage, name: &str) -> Whole {
    let (mut cursor, mut whole) = (ExportCursor::START, Whole::default());
    loop {
        let erased = block_on(store.erase(&service("z"), &user(name), cursor.clone())).unwrap();
        assert!(!erased.has_more || erased.cursor != cursor, "it does not go on");
        whole.messages += erased.messages;
        whole.held.extend(erased.held);
        cursor = erased.cursor;
        if !erased.has_more {
            return whole;
        }
    }
}

pub fn drain(store: &impl Storage) {
    block_on(store.run(&[Task::Drain], 10_000)).unwrap();
}

fn what_others_said_stays_and_is_counted_right<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["b", "a", "d"]);
    for n in 0..4 {
        send(&store, "a", "c", n);
        send(&store, "b", "c", n);
    }
    let silent = Draft { silent: true, ..draft("a", "c", "silent", "quiet") };
    append(&store, vec![silent]).remove(0).unwrap();
    assert_eq!((conversation(&store, "d", "c").unread, conversation(&store, "b", "c").unread), (8, 4));
    assert_eq!(erase(&store, "a"), 5);
    for _ in 0..2 {
        assert_eq!((conversation(&store, "d", "c").unread, conversation(&store, "b", "c").unread), (4, 0));
        assert_eq!(conversation(&store, "d", "c").member_count, 2);
        let said: Vec<String> =
            walk(&store, "d", "c", 3, Direction::Up).into_iter().map(|one| one.content).collect();
        let wanted: Vec<String> =
            (0..4).flat_map(|n| [String::new(), format!("message {n}")]).chain([String::new()]).collect();
        assert_eq!(said, wanted);
        assert_eq!(erase(&store, "a"), 5, "once more it changes nothing");
        drain(&store);
        backend.evict(&store);
    }
    let next = send(&store, "b", "c", 9);
    assert_eq!((next.seq, conversation(&store, "d", "c").unread), (10, 5));
}

fn whoever_comes_under_the_name_is_somebody_new<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["b", "a"]);
    let first = send(&store, "a", "c", 1);
    sync(&store, "a", "phone", sync_query("c", Some(first.msg_id))).unwrap();
    block_on(store.push_settings(&actor("a"), PushSettingsChange { show_content: Some(false), muted: None }))
        .unwrap();
    erase(&store, "a");
    assert_eq!(append(&store, vec![draft("a", "c", "x", "x")]).remove(0), Err(Error::NotMember));
    assert!(listed(&store, "a", 10).is_empty());
    assert!(block_on(store.devices(&actor("a"), None)).unwrap().is_empty());
    let settings = block_on(store.push_settings(&actor("a"), PushSettingsChange::default())).unwrap();
    assert!(settings.show_content && settings.muted.is_empty());
    change(&store, "c", add("a"));
    let again = send(&store, "a", "c", 1);
    assert!(!again.duplicate && again.msg_id > first.msg_id, "the same clientMsgId is a new one");
    assert_eq!(sync(&store, "a", "phone", sync_query("c", None)).unwrap().position, MsgId::NONE);
}

fn a_chat_of_two_begins_anew<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    let new = NewConversation {
        id: None,
        kind: ConversationKind::Single,
        members: vec![user("b")],
        history: im_domain::conversation::History::All,
    };
    let chat = block_on(store.create(&actor("a"), new)).unwrap().id.to_string();
    send(&store, "a", &chat, 1);
    send(&store, "b", &chat, 1);
    erase(&store, "a");
    assert_eq!(walk(&store, "b", &chat, 10, Direction::Down).len(), 2);
    assert!(walk(&store, "a", &chat, 10, Direction::Down).is_empty(), "who comes sees nothing of before");
    let peer = append(&store, vec![draft_to_peer("a", "b")]).remove(0).unwrap();
    assert_eq!(peer.conversation, id(&chat));
    assert_eq!(walk(&store, "a", &chat, 10, Direction::Down).len(), 1);
    assert_eq!(walk(&store, "b", &chat, 10, Direction::Down).len(), 3);
    assert_eq!((conversation(&store, "a", &chat).unread, conversation(&store, "b", &chat).unread), (0, 1));
}

fn indexes_learn_of_each_message<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    for name in ["c", "d"] {
        group(&store, name, &["b", "a"]);
        (0..3).for_each(|n| drop(send(&store, "a", name, n)));
        send(&store, "b", name, 0);
    }
    drain(&store);
    let mut index = Index::of(&store, 4);
    erase(&store, "a");
    index.catch_up(&store, || 2);
    let shelf = pulled(&store, "b", ["c", "d"]);
    let mut gone: Vec<MsgId> =
        shelf.values().filter(|one| one.status == Status::Deleted).map(|one| one.msg_id).collect();
    gone.sort();
    index.erased.sort();
    assert_eq!((gone.len(), &index.erased), (6, &gone));
    assert_eq!(index.shelf, shelf);
    assert_eq!(Index::of(&store, 3).shelf, shelf);
}

fn very_many_messages_go_in_parts<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["b", "a"]);
    let count = ERASE_MESSAGES_MAX + 30;
    for batch in 0..count.div_ceil(100) {
        let one = |n| draft("a", "c", &format!("{n:05}"), "to be erased");
        let drafts = (batch * 100..count.min(batch * 100 + 100)).map(one).collect();
        append(&store, drafts).into_iter().for_each(|one| drop(one.unwrap()));
    }
    let first = block_on(store.erase(&service("z"), &user("a"), ExportCursor::START)).unwrap();
    assert_eq!((first.messages, first.has_more), (ERASE_MESSAGES_MAX as u64, true));
    assert!(conversation(&store, "a", "c").member_count == 2, "who has more to be erased is still there");
    let rest = block_on(store.erase(&service("z"), &user("a"), first.cursor)).unwrap();
    assert_eq!((rest.messages, rest.has_more), (30, false));
    assert!(walk(&store, "b", "c", 100, Direction::Down).iter().all(|one| one.content.is_empty()));
    assert_eq!(conversation(&store, "b", "c").member_count, 1);
}

/// More than one part takes something from.
fn very_many_conversations_go_in_parts<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    let names: Vec<String> = (0..ERASE_CONVERSATIONS_MAX + 3).map(|n| format!("c{n:04}")).collect();
    for name in &names {
        group(&store, name, &["b", "a"]);
        send(&store, "a", name, 0);
    }
    let first = block_on(store.erase(&service("z"), &user("a"), ExportCursor::START)).unwrap();
    assert_eq!((first.messages, first.has_more), (ERASE_CONVERSATIONS_MAX as u64, true));
    let rest = block_on(store.erase(&service("z"), &user("a"), first.cursor)).unwrap();
    assert_eq!((rest.messages, rest.has_more), (3, false));
    for name in &names {
        assert_eq!(conversation(&store, "b", name).member_count, 1);
        assert!(walk(&store, "b", name, 10, Direction::Down).iter().all(|one| one.content.is_empty()));
    }
}

fn only_privileged_actors_may_erase_and_it_is_noted<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["b", "a"]);
    send(&store, "a", "c", 0);
    for who in ["a", "b"] {
        let refused = block_on(store.erase(&actor(who), &user("a"), ExportCursor::START));
        assert!(matches!(refused, Err(Error::Forbidden { .. })));
    }
    assert_eq!(conversation(&store, "b", "c").unread, 1);
    erase(&store, "a");
    assert!(holds(&backend.everything(), "erase"), "the note stays");
}
