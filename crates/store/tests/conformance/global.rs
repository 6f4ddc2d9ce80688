//! What has changed over all conversations: a device that asks again and again is told of everything, and
//! of what has not changed it is not.

use super::asking::Asking;
use super::backend::{Backend, on_every_back_end};
use super::talk::*;
use super::wide::wide_group;
use im_domain::conversation::{ConversationChange, History, MemberChange, Role};
use im_domain::global::{ChangeKind, GlobalCursor, Known};
use im_domain::message::Draft;
use im_domain::page::ResetReason;
use im_domain::storage::Storage;
use im_domain::{MsgId, Tenant};
use std::collections::BTreeMap;

on_every_back_end!(
    the_start_names_every_conversation_and_then_only_what_changes_is_named,
    a_conversation_is_told_as_its_member_sees_it,
    every_kind_of_change_is_told_and_what_changes_nothing_is_not,
    who_leaves_is_told_and_who_joins_again_too,
    parts_skip_nothing_and_owe_nothing,
    what_changes_between_two_parts_is_in_a_later_one,
    a_cursor_that_is_not_good_any_more_begins_anew_and_says_why,
    nothing_of_another_tenant_or_user_is_told,
    the_list_is_in_the_order_of_what_was_said_whatever_else_happens,
    among_concurrent_writers_a_device_is_told_of_everything,
);

use ChangeKind::{Membership, Messages, Read};

fn the_start_names_every_conversation_and_then_only_what_changes_is_named<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let mut nobody = Asking::new::<B>("nobody");
    nobody.ask(&store).assert_names(&[]);
    for name in ["c1", "c2", "c3", "c4"] {
        group(&store, name, &["a", "b"]);
    }
    let mut device = Asking::new::<B>("a");
    let first = device.ask(&store);
    first.assert_names(&["c1", "c2", "c3", "c4"]);
    first.assert_kinds("c1", &[Messages, Membership]);
    device.ask(&store).assert_names(&[]);
    device.ask(&backend.open()).assert_names(&[]);
    send(&store, "b", "c2", 1);
    send(&store, "a", "c4", 1);
    group(&store, "c5", &["b", "a"]);
    let second = device.ask(&store);
    second.assert_names(&["c2", "c4", "c5"]);
    second.assert_kinds("c2", &[Messages]);
    device.ask(&store).assert_names(&[]);
    nobody.ask(&store).assert_names(&[]);
}

fn a_conversation_is_told_as_its_member_sees_it<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let (mut of_a, mut of_b) = (Asking::new::<B>("a"), Asking::new::<B>("b"));
    assert_eq!(of_a.ask(&store).assert_kinds("c", &[]).head_seq, 0);
    let first = send(&store, "a", "c", 1).msg_id;
    let second = send(&store, "a", "c", 2).msg_id;
    read(&store, "b", "c", first).unwrap();
    let (a, b) = (of_a.ask(&store), of_b.ask(&store));
    let (a, b) = (a.assert_kinds("c", &[Messages]), b.assert_kinds("c", &[Messages, Read]));
    assert_eq!((a.head_msg_id, a.head_seq, a.unread, a.read_msg_id), (second, 2, 0, MsgId::NONE));
    assert_eq!((b.head_msg_id, b.head_seq, b.unread, b.read_msg_id), (second, 2, 1, first));
    assert!(!a.left && !b.left);
}

fn every_kind_of_change_is_told_and_what_changes_nothing_is_not<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = send(&store, "b", "c", 1).msg_id;
    let second = send(&store, "b", "c", 2).msg_id;
    let (mut of_a, mut of_b) = (Asking::new::<B>("a"), Asking::new::<B>("b"));
    of_a.ask(&store);
    of_b.ask(&store);
    let mut expect = |a: &[ChangeKind], b: &[ChangeKind]| {
        for (device, kinds) in [(&mut of_a, a), (&mut of_b, b)] {
            let told = device.ask(&store);
            let names: &[&str] = if kinds.is_empty() { &[] } else { &["c"] };
            told.assert_names(names);
            match told.changed.get("c") {
                Some(_) if !told.anew => drop(told.assert_kinds("c", kinds)),
                _ => {}
            }
        }
    };
    read(&store, "a", "c", second).unwrap();
    expect(&[Read], &[]);
    read(&store, "a", "c", first).unwrap();
    expect(&[], &[]);
    mute(&store, "a", "c", true);
    expect(&[Membership], &[]);
    mute(&store, "a", "c", true);
    expect(&[], &[]);
    change(&store, "c", set_role("b", Role::Admin));
    expect(&[Membership], &[Membership]);
    change(&store, "c", set_role("b", Role::Admin));
    expect(&[], &[]);
    change(&store, "c", add("x"));
    expect(&[Membership], &[Membership]);
    change(&store, "c", MemberChange { add: vec![user("x")], ..remove("nobody") });
    expect(&[], &[]);
    change(&store, "c", remove("x"));
    expect(&[Membership], &[Membership]);
    let history = ConversationChange { history: Some(History::FromJoin), ..ConversationChange::default() };
    update(&store, &actor("a"), "c", history).unwrap();
    expect(&[Membership], &[Membership]);
    // It tells that it is old: what it repeats may be in a segment.
    let again = Draft { client_time: Some(1), ..draft("b", "c", "b-1", "message 1") };
    assert!(append(&store, vec![again]).remove(0).unwrap().duplicate);
    expect(&[], &[]);
    mute(&store, "a", "c", false);
    send(&store, "b", "c", 3);
    read(&store, "a", "c", send(&store, "a", "c", 4).msg_id).unwrap();
    expect(&[Messages, Membership, Read], &[Messages]);
}

fn who_leaves_is_told_and_who_joins_again_too<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    group(&store, "d", &["b"]);
    send(&store, "a", "c", 1);
    let (mut one, mut other) = (Asking::new::<B>("b"), Asking::new::<B>("b"));
    one.ask(&store);
    other.ask(&store);
    change(&store, "c", remove("b"));
    one.ask(&store).assert_left("c");
    one.ask(&store).assert_names(&[]);
    Asking::new::<B>("b").ask(&store).assert_names(&["d"]);
    // Also to a device that asked for the first time when there was nothing.
    let mut early = Asking::new::<B>("x");
    early.ask(&store).assert_names(&[]);
    change(&store, "c", add("x"));
    change(&store, "c", remove("x"));
    early.ask(&store).assert_left("c");
    one.ask(&store).assert_names(&[]);
    send(&store, "a", "c", 2);
    change(&store, "c", add("b"));
    let told = one.ask(&store);
    told.assert_names(&["c"]);
    let back = told.assert_kinds("c", &[Messages, Membership]);
    assert_eq!((back.left, back.head_seq, back.unread), (false, 2, 0));
    let told = other.ask(&store);
    assert!(!told.assert_kinds("c", &[Messages, Membership]).left);
    // In one call the last word counts: members are added, then removed.
    change(&store, "c", MemberChange { add: vec![user("b")], ..remove("b") });
    other.ask(&store).assert_left("c");
}

fn parts_skip_nothing_and_owe_nothing<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    let names: Vec<String> = (0..12).map(|n| format!("c{n:02}")).collect();
    for name in &names {
        match name.as_str() {
            "c03" | "c07" => wide_group(&store, name),
            _ => group(&store, name, &["a", "m1"]),
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // Where what was looked up is forgotten again at once, a part that has no room for all comes to no end.
    let limits = |limits: &[u32]| {
        limits.iter().copied().filter(|limit| !B::REPEATS || *limit == 100).collect::<Vec<_>>()
    };
    for limit in limits(&[1, 3, 100]) {
        Asking::new::<B>("a").ask_in_parts(&store, limit, |_| {}).assert_names(&names);
    }
    let mut devices: Vec<_> =
        limits(&[1, 2, 5, 100]).into_iter().map(|limit| (limit, Asking::new::<B>("a"))).collect();
    devices.iter_mut().for_each(|(_, device)| drop(device.ask(&store)));
    // What was said first is read last, so that the last change is not the one that matters.
    let said: Vec<MsgId> = names
        .iter()
        .map(|name| {
            backend.advance(5);
            send(&store, "m1", name, 1).msg_id
        })
        .collect();
    for (name, up_to) in names.iter().zip(said).rev() {
        backend.advance(5);
        read(&store, "a", name, up_to).unwrap();
    }
    for (limit, device) in &mut devices {
        let told = device.ask_in_parts(&store, *limit, |_| {});
        told.assert_names(&names);
        names.iter().for_each(|name| {
            told.assert_kinds(name, &[Messages, Read]);
        });
        device.ask(&store).assert_names(&[]);
    }
}

fn what_changes_between_two_parts_is_in_a_later_one<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    for n in 0..6 {
        backend.advance(5);
        group(&store, &format!("c{n}"), &["a", "b"]);
    }
    let mut device = Asking::new::<B>("a");
    // The first conversation is given first and changes behind the walk, the last one ahead of it; one is
    // left behind, one ahead.
    let told = device.ask_in_parts(&store, 2, |part| {
        backend.advance(5);
        if part == 1 {
            send(&store, "b", "c0", 1);
            send(&store, "b", "c5", 1);
            change(&store, "c1", remove("a"));
            change(&store, "c4", remove("a"));
            group(&store, "c6", &["a", "b"]);
        }
    });
    let seq = |name: &str| told.assert_kinds(name, &[Messages]).head_seq;
    assert_eq!((seq("c0"), seq("c2"), seq("c3"), seq("c5"), seq("c6")), (1, 0, 0, 1, 0));
    assert!(told.anew || told.changed["c1"].left);
    assert!(told.changed.get("c4").is_none_or(|one| one.left));
    device.ask(&store).assert_names(&[]);
}

fn a_cursor_that_is_not_good_any_more_begins_anew_and_says_why<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    for name in ["c1", "c2", "c3"] {
        group(&store, name, &["a"]);
    }
    let good = global(&store, "a", None, "", 100).unwrap().cursor;
    let good = GlobalCursor::parse(&good).unwrap().unwrap();
    let other_epoch = GlobalCursor { epoch: "0".repeat(32), ..good.clone() };
    let known = Known { noted: good.known.noted + (1 << 50), ..good.known.clone() };
    let ahead = GlobalCursor { known, ..good.clone() };
    for (cursor, reason) in [(other_epoch, ResetReason::EpochChanged), (ahead, ResetReason::PositionAhead)] {
        let first = global(&store, "a", None, &cursor.to_string(), 2).unwrap();
        assert_eq!(first.reset.map(|reset| (reset.reason, reset.oldest)), Some((reason, MsgId::NONE)));
        assert_eq!((first.changed.len(), first.has_more), (2, true));
        let mut device = Asking { cursor: first.cursor, ..Asking::new::<B>("a") };
        let rest = device.ask(&store);
        let given = first.changed.iter().map(|one| one.conversation.to_string());
        let all = given.chain(rest.changed.keys().cloned()).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), ["c1", "c2", "c3"]);
        device.ask(&store).assert_names(&[]);
    }
}

fn nothing_of_another_tenant_or_user_is_told<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let there = im_domain::storage::Actor { tenant: Tenant::parse("globex").unwrap(), ..actor("a") };
    group(&store, "c", &["a", "b"]);
    group(&store, "of-b", &["b"]);
    let mut device = Asking::new::<B>("a");
    device.ask(&store).assert_names(&["c"]);
    let of = |who| super::backend::block_on(store.global(who, None, None, 100)).unwrap().changed;
    assert_eq!(of(&there), []);
    let new = im_domain::conversation::NewConversation {
        id: Some(id("c")),
        kind: im_domain::conversation::ConversationKind::Group,
        members: vec![user("b")],
        history: History::All,
    };
    super::backend::block_on(store.create(&there, new)).unwrap();
    send(&store, "b", "of-b", 1);
    device.ask(&store).assert_names(&[]);
    assert_eq!(of(&there).len(), 1);
}

fn the_list_is_in_the_order_of_what_was_said_whatever_else_happens<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    for name in ["c1", "c2", "c3"] {
        backend.advance(5);
        group(&store, name, &["a", "b"]);
    }
    let step = |step: &dyn Fn(), order: &[&str]| {
        backend.advance(5);
        step();
        for limit in [1, 2, 100] {
            assert_eq!(listed(&store, "a", limit), order, "in parts of {limit}");
        }
    };
    step(&|| (), &["c3", "c2", "c1"]);
    step(&|| drop(send(&store, "b", "c1", 1)), &["c1", "c3", "c2"]);
    let said = send(&store, "b", "c1", 2).msg_id;
    step(&|| drop(send(&store, "a", "c2", 1)), &["c2", "c1", "c3"]);
    step(&|| drop(read(&store, "a", "c1", said)), &["c2", "c1", "c3"]);
    step(&|| drop(mute(&store, "a", "c3", true)), &["c2", "c1", "c3"]);
    step(&|| drop(change(&store, "c3", set_role("b", Role::Admin))), &["c2", "c1", "c3"]);
    step(&|| drop(change(&store, "c3", add("x"))), &["c2", "c1", "c3"]);
    step(&|| drop(change(&store, "c2", remove("a"))), &["c1", "c3"]);
    step(&|| drop(change(&store, "c2", add("a"))), &["c2", "c1", "c3"]);
    let mut silent = draft("b", "c3", "silent", "x");
    silent.silent = true;
    step(&|| drop(append(&store, vec![silent.clone()])), &["c3", "c2", "c1"]);
}

fn among_concurrent_writers_a_device_is_told_of_everything<B: Backend>() {
    const WRITERS: usize = 6;
    const MESSAGES: usize = 15;
    let backend = B::new();
    let store = backend.open();
    for n in 0..3 {
        group(&store, &format!("c{n}"), &["a", "b"]);
    }
    wide_group(&store, "c3");
    change(&store, "c3", add("b"));
    let open = backend.opener();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let open = open.clone();
            std::thread::spawn(move || {
                let store = open();
                for n in 0..MESSAGES {
                    send(&store, "b", &format!("c{}", (writer + n) % 4), writer * 1_000 + n);
                }
            })
        })
        .collect();
    let store = open();
    let mut device = Asking::new::<B>("a");
    let mut heads = BTreeMap::new();
    loop {
        let are_done = writers.iter().all(std::thread::JoinHandle::is_finished);
        for (name, one) in device.ask_in_parts(&store, 2, |_| {}).changed {
            heads.insert(name, one.head_seq);
        }
        if are_done {
            break;
        }
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(heads.values().sum::<u64>(), (WRITERS * MESSAGES) as u64, "{heads:?}");
}
