//! What is under legal hold stays when a user is erased, all of it, and is named; what is not held goes meanwhile, and once
//! it is held no more the rest does. Nothing that a user has hidden is left of who was erased.

use super::backend::{Backend, block_on, on_every_back_end};
use super::erase::{Whole, drain, erase, erase_all};
use super::erase_secrets::{POISON, Secrets};
use super::erase_traces::{Traced, holds};
use super::export::whole;
use super::feed_index::tenant;
use super::hidden::hide;
use super::retention::hold;
use super::settled::HOT_KEYS;
use super::talk::*;
use super::tiered::{Hot, TieredBackend};
use crate::servers::postgres::query_at;
use im_domain::export::ExportCursor;
use im_domain::limits::ERASE_MESSAGES_MAX;
use im_domain::page::Direction;
use im_domain::retention::RetentionRules;
use im_domain::storage::Storage;
use im_domain::upkeep::DeadLetterAction;
use im_domain::{Error, MsgId};

on_every_back_end!(
    what_is_held_stays_and_is_named_and_goes_later,
    a_hold_that_comes_between_two_parts_keeps_what_is_left,
    under_a_hold_of_the_tenant_nothing_goes,
    what_the_user_has_hidden_goes_and_what_others_have_stays,
);

fn set_hold(store: &impl Storage, name: &str, held: bool) {
    update(store, &service("z"), name, hold(held)).unwrap();
}

/// What a member sees of a conversation.
fn seen(store: &impl Storage, name: &str, conversation: &str) -> Vec<MsgId> {
    walk(store, name, conversation, 10, Direction::Down).iter().map(|message| message.msg_id).collect()
}

fn what_is_held_stays_and_is_named_and_goes_later<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    let mut secrets = Secrets::new();
    for name in ["also", "free", "held"] {
        group(&store, name, &["b", "a"]);
    }
    // Nothing of the user's is said there, but the user is in it.
    send(&store, "b", "also", 0);
    let said = ["free", "held"].map(|name| {
        let own = append(&store, vec![draft("a", name, &secrets.next(), &secrets.next())])
            .remove(0)
            .unwrap()
            .msg_id;
        let edited = edit_to(&secrets.next());
        revise(&store, &actor("a"), name, own, edited).unwrap();
        let other = send(&store, "b", name, 0).msg_id;
        assert_eq!(hide(&store, &actor("a"), name, &[other]), Ok(vec![Ok(())]));
        sync(&store, "a", "phone", sync_query(name, Some(other))).unwrap();
        own
    });
    ["also", "held"].iter().for_each(|name| set_hold(&store, name, true));
    let before = (seen(&store, "a", "held"), conversation(&store, "a", "held"));
    for round in 0..2 {
        let erased = erase_all(&store, "a");
        assert_eq!(erased, Whole { messages: 1, held: vec![id("also"), id("held")] }, "{round}");
        assert_eq!((seen(&store, "a", "held"), conversation(&store, "a", "held")), before);
        assert!(!walk(&store, "b", "held", 10, Direction::Down)[0].content.is_empty());
        assert!(walk(&store, "b", "free", 10, Direction::Down)[0].content.is_empty());
        assert_eq!(page(&store, "a", query("free", MsgId::NONE, 1, Direction::Up)), Err(Error::NotMember));
        let everything = backend.everything();
        let left: Vec<bool> = secrets.0.iter().map(|secret| holds(&everything, secret)).collect();
        assert_eq!(left, [false, false, false, true, true, true]);
        let left = whole(&store, "a", 10);
        let names: Vec<&str> = left.memberships.iter().map(|one| one.conversation.as_str()).collect();
        assert_eq!(names, ["also", "held"]);
        assert!(left.memberships[1].hidden.len() == 1 && left.memberships[1].positions.len() == 1);
    }
    ["also", "held"].iter().for_each(|name| set_hold(&store, name, false));
    assert_eq!(erase_all(&store, "a"), Whole { messages: 2, held: Vec::new() });
    let everything = backend.everything();
    assert!(secrets.0.iter().all(|secret| !holds(&everything, secret)));
    assert_eq!(seen(&store, "b", "held")[0], said[1], "others see where it was");
    assert!(whole(&store, "a", 10).memberships.is_empty());
}

fn a_hold_that_comes_between_two_parts_keeps_what_is_left<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["b", "a"]);
    group(&store, "d", &["b", "a"]);
    send(&store, "a", "d", 0);
    let count = ERASE_MESSAGES_MAX + 30;
    for batch in 0..count.div_ceil(100) {
        let one = |n| draft("a", "c", &format!("{n:05}"), "to be erased");
        let drafts = (batch * 100..count.min(batch * 100 + 100)).map(one).collect();
        append(&store, drafts).into_iter().for_each(|one| drop(one.unwrap()));
    }
    let left =
        || walk(&store, "b", "c", 100, Direction::Down).iter().filter(|one| !one.content.is_empty()).count();
    let first = block_on(store.erase(&service("z"), &user("a"), ExportCursor::START)).unwrap();
    assert!(first.has_more && first.held.is_empty());
    set_hold(&store, "c", true);
    let second = block_on(store.erase(&service("z"), &user("a"), first.cursor)).unwrap();
    assert_eq!((second.messages, second.held, second.has_more), (1, vec![id("c")], false));
    assert_eq!((left(), conversation(&store, "a", "c").member_count), (30, 2));
    assert_eq!(erase_all(&store, "a"), Whole { messages: 1, held: vec![id("c")] });
    assert_eq!(left(), 30);
    set_hold(&store, "c", false);
    assert_eq!(erase(&store, "a"), count as u64 + 1);
    assert_eq!((left(), conversation(&store, "b", "c").member_count), (0, 1));
}

fn under_a_hold_of_the_tenant_nothing_goes<B: Traced>() {
    let backend = B::new();
    backend.set_rules(RetentionRules::parse("0", "acme").unwrap());
    let store = backend.open();
    group(&store, "c", &["b", "a"]);
    let said = send(&store, "a", "c", 0).msg_id;
    sync(&store, "a", "phone", sync_query("c", Some(said))).unwrap();
    let before = whole(&store, "a", 10);
    match block_on(store.erase(&service("z"), &user("a"), ExportCursor::START)) {
        Err(Error::Conflict { reason, .. }) => assert!(reason.contains("tenant"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(whole(&store, "a", 10), before);
    assert_eq!(walk(&store, "b", "c", 10, Direction::Down)[0].content, "message 0");
    backend.set_rules(RetentionRules::parse("0", "other").unwrap());
    assert_eq!(erase(&backend.open(), "a"), 1);
}

fn what_the_user_has_hidden_goes_and_what_others_have_stays<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["b", "a", "d"]);
    group(&store, "left", &["b", "a"]);
    let own = send(&store, "a", "c", 0).msg_id;
    let others: Vec<MsgId> = (0..3).map(|n| send(&store, "b", "c", n).msg_id).collect();
    let behind = send(&store, "b", "left", 0).msg_id;
    assert_eq!(hide(&store, &actor("a"), "c", &[own, others[1]]), Ok(vec![Ok(()), Ok(())]));
    assert_eq!(hide(&store, &actor("a"), "left", &[behind]), Ok(vec![Ok(())]));
    assert_eq!(hide(&store, &actor("d"), "c", &[own, others[2]]), Ok(vec![Ok(()), Ok(())]));
    change(&store, "left", remove("a"));
    assert_eq!(conversation(&store, "d", "c").unread, 2);
    assert_eq!(erase(&store, "a"), 1);
    for _ in 0..2 {
        assert_eq!(seen(&store, "d", "c"), others[..2], "what others have hidden they have hidden");
        assert_eq!(conversation(&store, "d", "c").unread, 2);
        backend.evict(&store);
    }
    ["c", "left"].iter().for_each(|name| drop(change(&store, name, add("a"))));
    assert_eq!(seen(&store, "a", "c"), [&[own], &others[..]].concat());
    assert_eq!(seen(&store, "a", "left"), [behind]);
    assert!(whole(&store, "a", 10).memberships.iter().all(|one| one.hidden.is_empty()));
}

#[test]
fn dead_letters_of_what_is_held_stay() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    let mut secrets = Secrets::new();
    for name in ["free", "held"] {
        group(&store, name, &["b", "a"]);
    }
    drain(&store);
    query_at(&backend.postgres_url(), POISON, Vec::new()).unwrap();
    for name in ["free", "held"] {
        append(&store, vec![draft("a", name, "poison", &secrets.next())]).remove(0).unwrap();
    }
    drain(&store);
    // Who was thrown out has nothing else there.
    change(&store, "held", remove("a"));
    set_hold(&store, "held", true);
    let left = |expected: [bool; 2]| {
        let everything = backend.everything();
        assert_eq!([0, 1].map(|at: usize| holds(&everything, &secrets.0[at])), expected);
        let letters = block_on(store.dead_letters(&tenant("acme"), DeadLetterAction::Show, 10)).unwrap();
        assert_eq!(letters.len(), expected.iter().filter(|left| **left).count());
    };
    for cold in [false, true] {
        if cold {
            backend.forget(HOT_KEYS);
        }
        assert_eq!(erase_all(&store, "a").held, [id("held")]);
        left([false, true]);
    }
    set_hold(&store, "held", false);
    assert_eq!(erase_all(&store, "a").held, []);
    left([false, false]);
}
