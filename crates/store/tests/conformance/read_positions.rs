//! Read positions: one of a user in a conversation, whatever the device, never back; what is unread follows
//! from it and from nothing else.

use super::backend::{Backend, INDEX_MEMBERS, block_on, on_every_back_end};
use super::talk::*;
use im_domain::device::{ReadState, Totals};
use im_domain::message::Ack;
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::Task;
use im_domain::{Error, MsgId, Tenant};

on_every_back_end!(
    reading_moves_the_position_and_never_back,
    what_follows_the_position_is_unread_but_for_what_is_own_or_silent,
    read_all_and_two_more_arrive,
    a_place_that_is_no_message_is_as_good_as_one,
    a_place_beyond_the_newest_message_and_strangers_are_refused,
    who_joins_has_nothing_unread_and_who_joins_again_neither,
    what_has_expired_is_neither_unread_nor_counted,
    in_a_wide_group_each_member_reads_alone,
    positions_of_many_devices_at_once_never_go_back,
    totals_are_the_sums_of_what_each_conversation_says,
);

fn state(read_msg_id: MsgId, unread: u64) -> ReadState {
    ReadState { read_msg_id, unread }
}

fn reading_moves_the_position_and_never_back<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<MsgId> = (0..5).map(|n| send(&store, "b", "c", n).msg_id).collect();
    assert_eq!(read(&store, "a", "c", MsgId::NONE).unwrap(), state(MsgId::NONE, 5));
    assert_eq!(read(&store, "a", "c", ids[2]).unwrap(), state(ids[2], 2));
    let other = backend.open();
    for lower in [ids[1], ids[2], MsgId::NONE, ids[0]] {
        assert_eq!(read(&other, "a", "c", lower).unwrap(), state(ids[2], 2));
    }
    let seen = conversation(&other, "a", "c");
    assert_eq!((seen.read_msg_id, seen.unread), (ids[2], 2));
    assert_eq!(read(&other, "a", "c", ids[4]).unwrap(), state(ids[4], 0));
    let list = block_on(store.list(&actor("a"), "", 10)).unwrap().conversations;
    assert_eq!((list[0].read_msg_id, list[0].unread), (ids[4], 0));
    assert_eq!(conversation(&store, "b", "c").read_msg_id, MsgId::NONE);
}

fn what_follows_the_position_is_unread_but_for_what_is_own_or_silent<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b", "x"]);
    // Who says what, and whether it is silent.
    let said = "aBbaaXbBaxAab";
    let one = |(n, who): (usize, char)| {
        let mut one = draft(&who.to_lowercase().to_string(), "c", &n.to_string(), "x");
        one.silent = who.is_uppercase();
        one
    };
    let drafts = said.chars().enumerate().map(one).collect();
    let receipts = block_on(store.append(&service("service"), drafts, Ack::Accepted)).unwrap();
    let ids: Vec<MsgId> = receipts.into_iter().map(|receipt| receipt.unwrap().msg_id).collect();
    let unread_after = |reader: char, read: usize| {
        said.chars().skip(read).filter(|who| who.is_lowercase() && *who != reader).count() as u64
    };
    for (reader, step) in [('a', 1), ('b', 2), ('x', 5)] {
        let name = reader.to_string();
        assert_eq!(conversation(&store, &name, "c").unread, unread_after(reader, 0));
        for up_to in (step..=ids.len()).step_by(step) {
            let expected = state(ids[up_to - 1], unread_after(reader, up_to));
            assert_eq!(read(&store, &name, "c", ids[up_to - 1]).unwrap(), expected);
            assert_eq!(conversation(&store, &name, "c").unread, expected.unread);
        }
    }
    send(&store, "a", "c", 100);
    send(&store, "b", "c", 100);
    let unread = |name: &str| conversation(&store, name, "c").unread;
    assert_eq!((unread("a"), unread("b"), unread("x")), (1, 1, 4));
}

fn read_all_and_two_more_arrive<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let newest = (0..7).map(|n| send(&store, "b", "c", n).msg_id).last().unwrap();
    assert_eq!(read(&store, "a", "c", newest).unwrap().unread, 0);
    send(&store, "b", "c", 7);
    send(&store, "b", "c", 8);
    assert_eq!(conversation(&store, "a", "c").unread, 2);
}

fn a_place_that_is_no_message_is_as_good_as_one<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = send(&store, "b", "c", 1).msg_id;
    backend.advance(5);
    let second = send(&store, "b", "c", 2).msg_id;
    let between = MsgId::new(first.number() + 1).unwrap();
    assert!(between < second);
    assert_eq!(read(&store, "a", "c", between).unwrap(), state(between, 1));
    assert_eq!(read(&store, "a", "c", first).unwrap(), state(between, 1));
    group(&store, "empty", &["a"]);
    assert_eq!(read(&store, "a", "empty", MsgId::NONE).unwrap(), state(MsgId::NONE, 0));
}

fn a_place_beyond_the_newest_message_and_strangers_are_refused<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let newest = send(&store, "b", "c", 1).msg_id;
    let beyond = MsgId::new(newest.number() + 1).unwrap();
    for place in [beyond, MsgId::MAX] {
        let refusal = read(&store, "a", "c", place);
        assert_eq!(refusal, Err(Error::MessageNotFound { field: "msgId".into() }));
    }
    assert_eq!(conversation(&store, "a", "c").read_msg_id, MsgId::NONE);
    assert_eq!(read(&store, "x", "c", newest), Err(Error::NotMember));
    assert_eq!(block_on(store.read(&service("x"), &id("c"), newest)), Err(Error::NotMember));
    assert_eq!(read(&store, "a", "nowhere", newest), Err(Error::ConversationNotFound));
    let there = Actor { tenant: Tenant::parse("globex").unwrap(), ..actor("a") };
    assert_eq!(block_on(store.read(&there, &id("c"), newest)), Err(Error::ConversationNotFound));
}

fn who_joins_has_nothing_unread_and_who_joins_again_neither<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = send(&store, "a", "c", 1).msg_id;
    send(&store, "b", "c", 1);
    change(&store, "c", add("late"));
    let joined_at = conversation(&store, "late", "c").read_msg_id;
    assert_eq!(conversation(&store, "late", "c").unread, 0);
    assert_eq!(read(&store, "late", "c", first).unwrap(), state(joined_at, 0));
    send(&store, "b", "c", 2);
    send(&store, "late", "c", 2);
    assert_eq!(conversation(&store, "late", "c").unread, 1);
    change(&store, "c", remove("b"));
    send(&store, "a", "c", 3);
    change(&store, "c", add("b"));
    assert_eq!(conversation(&store, "b", "c").unread, 0);
    send(&store, "b", "c", 4);
    let last = send(&store, "a", "c", 4).msg_id;
    assert_eq!(conversation(&store, "b", "c").unread, 1);
    assert_eq!(read(&store, "b", "c", last).unwrap(), state(last, 0));
}

fn what_has_expired_is_neither_unread_nor_counted<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let mut silent = draft("b", "c", "silent", "x");
    silent.silent = true;
    let said = [send(&store, "b", "c", 1), send(&store, "a", "c", 1), send(&store, "b", "c", 2)];
    let silent = append(&store, vec![silent]).remove(0).unwrap();
    assert_eq!(conversation(&store, "a", "c").unread, 2);
    backend.advance(600);
    let kept = [send(&store, "a", "c", 2), send(&store, "b", "c", 3), send(&store, "a", "c", 3)];
    assert_eq!(conversation(&store, "a", "c").unread, 3);
    backend.advance(600);
    for purged in [false, true] {
        assert_eq!(conversation(&store, "a", "c").unread, 1, "purged: {purged}");
        assert_eq!(conversation(&store, "b", "c").unread, 2);
        let totals = block_on(store.totals(&actor("a"))).unwrap();
        assert_eq!(totals, Totals { conversations: 1, messages: 1 });
        block_on(store.run(&[Task::Drain, Task::Expire], 1_000)).unwrap();
    }
    // A place within what is gone.
    assert_eq!(read(&store, "a", "c", said[1].msg_id).unwrap(), state(said[1].msg_id, 1));
    assert_eq!(read(&store, "a", "c", silent.msg_id).unwrap(), state(silent.msg_id, 1));
    assert_eq!(read(&store, "a", "c", kept[0].msg_id).unwrap(), state(kept[0].msg_id, 1));
    assert_eq!(read(&store, "a", "c", kept[1].msg_id).unwrap(), state(kept[1].msg_id, 0));
    send(&store, "b", "c", 4);
    assert_eq!(conversation(&store, "a", "c").unread, 1);
    backend.advance(2_000);
    assert_eq!((conversation(&store, "a", "c").unread, conversation(&store, "b", "c").unread), (0, 0));
}

fn in_a_wide_group_each_member_reads_alone<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let names: Vec<String> = (0..=INDEX_MEMBERS + 1).map(|n| format!("m{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    group(&store, "w", &names);
    let ids: Vec<MsgId> = (0..4).map(|n| send(&store, names[n % 2], "w", n).msg_id).collect();
    for (n, name) in names.iter().enumerate() {
        let own_after = |read: usize| (read..4).filter(|at| at % 2 == n).count() as u64;
        let read_count = n % 4 + 1;
        let expected = state(ids[read_count - 1], 4 - read_count as u64 - own_after(read_count));
        assert_eq!(read(&store, name, "w", ids[read_count - 1]).unwrap(), expected, "{name}");
    }
    assert_eq!(conversation(&store, "m2", "w").unread, 1);
}

fn positions_of_many_devices_at_once_never_go_back<B: Backend>() {
    const DEVICES: usize = 6;
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<MsgId> = (0..60).map(|n| send(&store, "b", "c", n).msg_id).collect();
    let open = backend.opener();
    let threads: Vec<_> = (0..DEVICES)
        .map(|device| {
            let (open, ids) = (open.clone(), ids.clone());
            std::thread::spawn(move || {
                let store = open();
                let mut last = MsgId::NONE;
                for step in 0..30 {
                    // Each device jumps about in an order of its own.
                    let at = (step * 37 + device * 11) % (ids.len() - 1);
                    let now = read(&store, "a", "c", ids[at]).unwrap();
                    assert!(now.read_msg_id >= last.max(ids[at]), "it went back");
                    last = now.read_msg_id;
                    let reached = ids.iter().position(|id| *id == last).unwrap();
                    assert_eq!(now.unread as usize, ids.len() - 1 - reached);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(read(&store, "a", "c", ids[59]).unwrap(), state(ids[59], 0));
}

fn totals_are_the_sums_of_what_each_conversation_says<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let totals = |name: &str| block_on(store.totals(&actor(name))).unwrap();
    assert_eq!(totals("a"), Totals::default());
    let names: Vec<String> = (0..=INDEX_MEMBERS).map(|n| format!("m{n}")).collect();
    let wide: Vec<&str> = ["a", "b"].into_iter().chain(names.iter().map(String::as_str)).collect();
    group(&store, "w", &wide);
    for name in ["c1", "c2", "c3"] {
        group(&store, name, &["a", "b"]);
    }
    let said: Vec<MsgId> = ["c1", "c1", "c2", "w", "w"]
        .iter()
        .enumerate()
        .map(|(n, to)| send(&store, "b", to, n).msg_id)
        .collect();
    send(&store, "a", "c3", 1);
    assert_eq!(totals("a"), Totals { conversations: 3, messages: 5 });
    assert_eq!(totals("b"), Totals { conversations: 1, messages: 1 });
    read(&store, "a", "c1", said[0]).unwrap();
    read(&store, "a", "c2", said[2]).unwrap();
    assert_eq!(totals("a"), Totals { conversations: 2, messages: 3 });
    change(&store, "w", remove("a"));
    assert_eq!(totals("a"), Totals { conversations: 1, messages: 1 });
    let there = Actor { tenant: Tenant::parse("globex").unwrap(), ..actor("a") };
    assert_eq!(block_on(store.totals(&there)).unwrap(), Totals::default());
}
