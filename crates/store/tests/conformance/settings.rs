//! Settings: those of a conversation are for who manages it, a member's own are the member's alone.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use im_domain::conversation::{ConversationChange, ConversationKind, History, NewConversation, Role};
use im_domain::page::Direction;
use im_domain::storage::Storage;
use im_domain::{Error, MsgId};

on_every_back_end!(
    a_member_mutes_for_itself_alone,
    history_is_changed_by_who_manages_and_holds_for_all,
    who_may_not_is_refused_and_nothing_changes,
    a_single_chat_is_muted_but_its_history_stays,
    a_service_changes_history_and_sees_nothing_of_what_was_said,
);

const NOTHING: ConversationChange =
    ConversationChange { muted: None, history: None, keep_for: None, legal_hold: None };
const MUTED: ConversationChange = ConversationChange { muted: Some(true), ..NOTHING };
const FROM_JOIN: ConversationChange = ConversationChange { history: Some(History::FromJoin), ..NOTHING };
const BOTH: ConversationChange = ConversationChange { muted: Some(true), ..FROM_JOIN };

fn a_member_mutes_for_itself_alone<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let before = conversation(&store, "a", "c");
    backend.advance(1_000);
    let muted = mute(&store, "b", "c", true);
    assert!(muted.muted && conversation(&backend.open(), "b", "c").muted);
    assert_eq!(conversation(&store, "a", "c"), before);
    send(&store, "a", "c", 1);
    assert_eq!(conversation(&store, "b", "c").unread, 1);
    let list = block_on(store.list(&actor("b"), "", 1)).unwrap().conversations;
    assert!(list[0].muted);
    assert!(!mute(&store, "b", "c", false).muted);
    mute(&store, "b", "c", true);
    change(&store, "c", remove("b"));
    change(&store, "c", add("b"));
    assert!(!conversation(&store, "b", "c").muted);
}

fn history_is_changed_by_who_manages_and_holds_for_all<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["owner", "admin"]);
    change(&store, "c", set_role("admin", Role::Admin));
    send(&store, "owner", "c", 1);
    change(&store, "c", add("late"));
    let sees = |name: &str| walk(&store, name, "c", 10, Direction::Down).len();
    assert_eq!((sees("owner"), sees("late")), (1, 1));
    update(&store, &actor("admin"), "c", FROM_JOIN).unwrap();
    assert_eq!((sees("owner"), sees("late")), (1, 0));
    assert_eq!(conversation(&store, "late", "c").last, None);
    let all = ConversationChange { history: Some(History::All), ..MUTED };
    let answer = update(&store, &actor("owner"), "c", all).unwrap();
    assert!(answer.muted && answer.last.is_some());
    assert_eq!((sees("owner"), sees("late")), (1, 1));
}

fn who_may_not_is_refused_and_nothing_changes<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "plain"]);
    send(&store, "a", "c", 1);
    change(&store, "c", add("late"));
    for change in [FROM_JOIN, BOTH] {
        let refusal = update(&store, &actor("plain"), "c", change);
        assert!(matches!(refusal, Err(Error::Forbidden { .. })), "{refusal:?}");
    }
    assert!(!conversation(&store, "plain", "c").muted);
    assert_eq!(walk(&store, "late", "c", 10, Direction::Down).len(), 1);
    for (who, change) in
        [(actor("x"), MUTED), (actor("x"), FROM_JOIN), (service("x"), MUTED), (service("x"), BOTH)]
    {
        assert_eq!(update(&store, &who, "c", change), Err(Error::NotMember), "{change:?}");
    }
    assert_eq!(walk(&store, "late", "c", 10, Direction::Down).len(), 1);
    assert_eq!(update(&store, &actor("a"), "nowhere", MUTED), Err(Error::ConversationNotFound));
    assert!(matches!(update(&store, &actor("a"), "c", NOTHING), Err(Error::Invalid { .. })));
}

fn a_single_chat_is_muted_but_its_history_stays<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let new = NewConversation {
        id: None,
        kind: ConversationKind::Single,
        members: vec![user("b")],
        history: History::All,
    };
    let chat = block_on(store.create(&actor("a"), new)).unwrap().id;
    let update = |who, change| block_on(store.update(&who, &chat, change));
    assert!(update(actor("b"), MUTED).unwrap().muted);
    for who in [actor("a"), actor("b"), service("bot")] {
        let refusal = update(who, FROM_JOIN);
        assert!(matches!(&refusal, Err(Error::Invalid { field, .. }) if field == "history"), "{refusal:?}");
    }
    assert!(update(actor("a"), BOTH).is_err());
    assert!(!block_on(store.conversation(&actor("a"), &chat)).unwrap().muted);
}

fn a_service_changes_history_and_sees_nothing_of_what_was_said<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    send(&store, "a", "c", 1);
    let answer = update(&store, &service("bot"), "c", FROM_JOIN).unwrap();
    assert_eq!((answer.last, answer.unread, answer.muted), (None, 0, false));
    assert_eq!((answer.head_seq, answer.read_msg_id), (1, MsgId::NONE));
    change(&store, "c", add("late"));
    assert_eq!(walk(&store, "late", "c", 10, Direction::Down), []);
}
