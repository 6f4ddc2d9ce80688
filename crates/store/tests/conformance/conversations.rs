//! Conversations: made once, found by pair, listed newest first; members and their rights.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use im_domain::conversation::{ConversationKind, History, MemberChange, NewConversation, Role};
use im_domain::message::Ack;
use im_domain::storage::{Actor, Storage};
use im_domain::{ConversationId, Error, Result};

on_every_back_end!(
    creating_again_gives_the_same_and_changes_nothing,
    a_pair_has_one_chat_from_either_side,
    the_first_single_chat_of_a_pair_is_the_pairs,
    nobody_takes_the_id_of_a_pair,
    a_single_chat_has_two_members_for_ever,
    system_conversations_are_for_services_to_write_and_for_members_to_read,
    members_come_and_go_by_the_hand_of_those_who_may,
    members_are_counted_as_they_come_and_go,
    a_change_that_fails_changes_nothing,
    unread_counts_what_others_said_and_did_not_whisper,
    the_list_is_newest_first_with_summaries_and_pages_through_concurrent_sends,
    a_group_takes_ten_thousand_members_in_one_call,
);

fn new(id: Option<&str>, kind: ConversationKind, members: &[&str]) -> NewConversation {
    let members = members.iter().map(|name| user(name)).collect();
    NewConversation {
        id: id.map(|id| ConversationId::parse(id).unwrap()),
        kind,
        members,
        history: History::All,
    }
}

fn create(store: &impl Storage, actor: &Actor, new: NewConversation) -> Result<ConversationId> {
    block_on(store.create(actor, new)).map(|conversation| conversation.id)
}

fn to_peer(store: &impl Storage, from: &str, to: &str) -> ConversationId {
    append(store, vec![draft_to_peer(from, to)]).remove(0).unwrap().conversation
}

fn creating_again_gives_the_same_and_changes_nothing<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    let first = block_on(store.create(&actor("a"), new(Some("c"), ConversationKind::Group, &["b"]))).unwrap();
    assert_eq!((first.member_count, first.head_seq, first.last.as_ref()), (2, 0, None));
    backend.advance(1_000);
    let again =
        block_on(store.create(&actor("b"), new(Some("c"), ConversationKind::Group, &["b", "z"]))).unwrap();
    assert_eq!(again, first);
    let other_type = create(&store, &actor("a"), new(Some("c"), ConversationKind::Single, &["b"]));
    assert!(matches!(other_type, Err(Error::Conflict { field, .. }) if field == "type"));
    let stranger = create(&store, &actor("x"), new(Some("c"), ConversationKind::Group, &[]));
    assert_eq!(stranger, Err(Error::NotMember));
}

fn a_pair_has_one_chat_from_either_side<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let from_a = to_peer(&store, "a", "b");
    assert_eq!(to_peer(&store, "b", "a"), from_a);
    assert_eq!(create(&store, &actor("b"), new(None, ConversationKind::Single, &["a"])).unwrap(), from_a);
    assert_ne!(to_peer(&store, "a", "c"), from_a);
    let chat = block_on(store.conversation(&actor("b"), &from_a)).unwrap();
    assert_eq!((chat.kind, chat.member_count, chat.head_seq), (ConversationKind::Single, 2, 2));
}

fn the_first_single_chat_of_a_pair_is_the_pairs<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let named = create(&store, &actor("a"), new(Some("dm-1"), ConversationKind::Single, &["b"])).unwrap();
    assert_eq!(to_peer(&store, "b", "a"), named);
    create(&store, &actor("a"), new(Some("dm-2"), ConversationKind::Single, &["b"])).unwrap();
    assert_eq!(to_peer(&store, "a", "b"), named);
}

fn nobody_takes_the_id_of_a_pair<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let pair = to_peer(&store, "a", "b");
    let taken = create(&store, &actor("x"), new(Some(pair.as_str()), ConversationKind::Group, &[]));
    assert!(matches!(taken, Err(Error::Invalid { field, .. }) if field == "conversationId"));
}

fn a_single_chat_has_two_members_for_ever<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    for members in [&[][..], &["a"], &["b", "c"]] {
        let answer = create(&store, &actor("a"), new(None, ConversationKind::Single, members));
        assert!(matches!(answer, Err(Error::Invalid { field, .. }) if field == "members"), "{members:?}");
    }
    let chat = create(&store, &actor("a"), new(None, ConversationKind::Single, &["b"])).unwrap();
    assert!(matches!(
        block_on(store.change_members(&actor("a"), &chat, add("c"))),
        Err(Error::Invalid { .. })
    ));
}

fn system_conversations_are_for_services_to_write_and_for_members_to_read<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let by_user = create(&store, &actor("a"), new(Some("news"), ConversationKind::System, &["b"]));
    assert!(matches!(by_user, Err(Error::Forbidden { .. })));
    create(&store, &service("bot"), new(Some("news"), ConversationKind::System, &["b"])).unwrap();
    let by_member = append(&store, vec![draft("b", "news", "1", "x")]).remove(0);
    assert!(matches!(by_member, Err(Error::Forbidden { .. })));
    let drafts = vec![draft("bot", "news", "1", "x")];
    block_on(store.append(&service("bot"), drafts, Ack::Accepted)).unwrap().remove(0).unwrap();
    assert_eq!(block_on(store.conversation(&actor("b"), &id("news"))).unwrap().unread, 1);
}

fn members_come_and_go_by_the_hand_of_those_who_may<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["owner", "admin", "plain"]);
    let change = |who: &Actor, change| block_on(store.change_members(who, &id("c"), change));
    let role = |name: &str, role| MemberChange { roles: vec![(user(name), role)], ..Default::default() };
    assert!(matches!(change(&actor("plain"), add("x")), Err(Error::Forbidden { .. })));
    assert!(matches!(change(&actor("plain"), remove("admin")), Err(Error::Forbidden { .. })));
    assert!(matches!(change(&actor("admin"), role("admin", Role::Owner)), Err(Error::Forbidden { .. })));
    assert_eq!(change(&actor("stranger"), add("x")), Err(Error::NotMember));
    change(&actor("owner"), role("admin", Role::Admin)).unwrap();
    assert_eq!(change(&actor("admin"), add("x")).unwrap().member_count, 4);
    assert_eq!(change(&actor("admin"), add("x")).unwrap().member_count, 4);
    assert!(matches!(change(&actor("admin"), remove("owner")), Err(Error::Forbidden { .. })));
    assert_eq!(change(&actor("admin"), remove("x")).unwrap().member_count, 3);
    assert!(change(&actor("plain"), remove("plain")).is_ok());
    assert_eq!(change(&service("bot"), add("y")).unwrap().member_count, 3);
    assert!(matches!(change(&actor("owner"), role("gone", Role::Admin)), Err(Error::Invalid { .. })));
    let nothing = change(&actor("owner"), MemberChange::default());
    assert!(matches!(nothing, Err(Error::Invalid { field, .. }) if field == "add"));
}

fn members_are_counted_as_they_come_and_go<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let users = |names: &[&str]| names.iter().map(|name| user(name)).collect::<Vec<_>>();
    let change = MemberChange {
        add: users(&["b", "c", "c", "d"]),
        remove: users(&["d", "nobody", "b"]),
        roles: vec![(user("c"), Role::Admin)],
    };
    let changed = block_on(store.change_members(&actor("a"), &id("c"), change)).unwrap();
    let is_member = |name: &&str| block_on(store.conversation(&actor(name), &id("c"))).is_ok();
    let members: Vec<_> = ["a", "b", "c", "d", "nobody"].into_iter().filter(is_member).collect();
    assert_eq!((changed.member_count, members), (2, vec!["a", "c"]));
}

fn a_change_that_fails_changes_nothing<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let mut change = add("b");
    change.roles = vec![(user("stranger"), Role::Admin)];
    assert!(block_on(store.change_members(&actor("a"), &id("c"), change)).is_err());
    assert_eq!(block_on(store.conversation(&actor("a"), &id("c"))).unwrap().member_count, 1);
}

fn unread_counts_what_others_said_and_did_not_whisper<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let unread = |name: &str| block_on(store.conversation(&actor(name), &id("c"))).unwrap().unread;
    send(&store, "a", "c", 1);
    send(&store, "b", "c", 2);
    send(&store, "b", "c", 3);
    let mut silent = draft("b", "c", "silent", "x");
    silent.silent = true;
    append(&store, vec![silent]);
    assert_eq!((unread("a"), unread("b")), (2, 1));
    block_on(store.change_members(&actor("a"), &id("c"), add("late"))).unwrap();
    assert_eq!(unread("late"), 0);
    send(&store, "a", "c", 4);
    assert_eq!((unread("a"), unread("b"), unread("late")), (2, 2, 1));
}

fn the_list_is_newest_first_with_summaries_and_pages_through_concurrent_sends<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    for n in 0..10 {
        backend.advance(5);
        group(&store, &format!("c{n}"), &["a", "b"]);
    }
    backend.advance(5);
    let last = append(&store, vec![draft("a", "c3", "x", &"ż".repeat(300))]).remove(0).unwrap();
    let first = block_on(store.list(&actor("b"), "", 4)).unwrap();
    let names = |list: &[im_domain::conversation::Conversation]| {
        list.iter().map(|c| c.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&first.conversations), ["c3", "c9", "c8", "c7"]);
    let summary = first.conversations[0].last.clone().unwrap();
    assert_eq!((summary.msg_id, summary.summary.as_str()), (last.msg_id, "ż".repeat(100).as_str()));
    assert!(first.has_more && first.conversations[1].last.is_none());
    // Moves to the top between the parts; it is not shown again further down, nor is another lost.
    send(&store, "a", "c8", 1);
    send(&store, "a", "c5", 1);
    let second = block_on(store.list(&actor("b"), &first.cursor, 4)).unwrap();
    assert_eq!(names(&second.conversations), ["c6", "c4", "c2", "c1"]);
    let third = block_on(store.list(&actor("b"), &second.cursor, 4)).unwrap();
    assert_eq!((names(&third.conversations), third.has_more), (vec!["c0".to_owned()], false));
    for bad in ["x", "-1", "99999999999999999999", "18446744073709551615"] {
        let answer = block_on(store.list(&actor("b"), bad, 4));
        assert!(matches!(answer, Err(Error::Invalid { field, .. }) if field == "cursor"), "{bad}");
    }
}

fn a_group_takes_ten_thousand_members_in_one_call<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let names: Vec<String> = (0..9_999).map(|n| format!("u{n}")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    let big =
        block_on(store.create(&actor("a"), new(Some("big"), ConversationKind::Group, &members))).unwrap();
    assert_eq!(big.member_count, 10_000);
    send(&store, "u7", "big", 1);
    assert_eq!(block_on(store.list(&actor("u9998"), "", 10)).unwrap().conversations[0].unread, 1);
}
