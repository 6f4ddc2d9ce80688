//! What a user has said that is in cold segments is taken out and erased as all else, in parts that look through so many
//! segments; no segment has it then, whoever moves messages meanwhile.

use super::backend::{block_on, on_every_back_end};
use super::erase::{Whole, drain, erase, erase_all};
use super::erase_secrets::Secrets;
use super::erase_traces::{Traced, holds};
use super::export::whole;
use super::retention::hold;
use super::talk::*;
use im_domain::MsgId;
use im_domain::export::ExportCursor;
use im_domain::limits::EXPORT_SEGMENTS_MAX;
use im_domain::message::{Draft, Status};
use im_domain::page::Direction;
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::tier::TierRules;
use im_domain::upkeep::Task;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

on_every_back_end!(
    what_is_packed_goes_and_is_in_no_segment,
    many_segments_are_looked_through_in_parts,
    nothing_is_left_while_others_move_messages,
);

/// Moves all that may move.
fn pack<B: Traced>(backend: &B) {
    block_on(backend.tiering(TierRules::at_once()).run(&[Task::Drain, Task::Tier], 10_000)).unwrap();
}

fn what_is_packed_goes_and_is_in_no_segment<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    let mut secrets = Secrets::new();
    group(&store, "c", &["b", "a", "d"]);
    let mut own = Vec::new();
    for n in 0..6 {
        let silent = n == 3;
        let one = Draft { silent, ..draft("a", "c", &secrets.next(), &secrets.next()) };
        own.push(append(&store, vec![one]).remove(0).unwrap().msg_id);
        send(&store, "b", "c", n);
    }
    revise(&store, &actor("a"), "c", own[0], edit_to(&secrets.next())).unwrap();
    revise(&store, &actor("a"), "c", own[1], Change::Recall).unwrap();
    let reply = Draft { reply_to: Some(own[2]), ..draft("b", "c", "reply", "what?") };
    append(&store, vec![reply]).remove(0).unwrap();
    pack(&backend);
    assert!(secrets.0[4..].iter().all(|secret| holds(&backend.everything(), secret)));
    let found: Vec<MsgId> = whole(&store, "a", 2).messages.iter().map(|(_, one)| one.msg_id).collect();
    assert_eq!(found, own);
    assert_eq!(conversation(&store, "d", "c").unread, 4 + 7, "one was recalled, and one is silent");
    assert_eq!(erase(&store, "a"), 6);
    for _ in 0..2 {
        let everything = backend.everything();
        assert!(secrets.0.iter().all(|secret| !holds(&everything, secret)));
        let messages = walk(&store, "b", "c", 4, Direction::Down);
        assert_eq!(messages.len(), 6 + 6 + 2 + 1);
        let gone = messages.iter().filter(|one| one.status == Status::Deleted).map(|one| one.msg_id);
        assert_eq!(gone.collect::<Vec<_>>(), own);
        assert_eq!(conversation(&store, "d", "c").unread, 7);
        pack(&backend);
    }
    assert_eq!(erase(&store, "a"), 6, "once more it changes nothing");
    let events = block_on(store.events(&actor("a").tenant, None, 100)).unwrap().events;
    assert_eq!(events.len(), 15);
}

/// More conversations with a segment than one part looks through, some of which the user has left.
fn many_segments_are_looked_through_in_parts<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    let names: Vec<String> = (0..EXPORT_SEGMENTS_MAX + 3).map(|n| format!("c{n:02}")).collect();
    let mut own = Vec::new();
    for (n, name) in names.iter().enumerate() {
        group(&store, name, &["b", "a"]);
        own.extend((0..2).map(|n| send(&store, "a", name, n).msg_id));
        send(&store, "b", name, 0);
        if n % 2 == 1 {
            change(&store, name, remove("a"));
        }
    }
    pack(&backend);
    let first = block_on(store.export(&service("z"), &user("a"), ExportCursor::START, 100)).unwrap();
    assert!(first.has_more && first.messages.len() == 2 * EXPORT_SEGMENTS_MAX, "{}", first.messages.len());
    for limit in [1, 3, 100] {
        let all = whole(&store, "a", limit);
        let found: Vec<MsgId> = all.messages.iter().map(|(_, one)| one.msg_id).collect();
        assert_eq!((found, all.memberships.len()), (own.clone(), names.len().div_ceil(2)));
    }
    update(&store, &service("z"), &names[3], hold(true)).unwrap();
    assert_eq!(erase_all(&store, "x"), Whole::default(), "who has said nothing is held nowhere");
    let first = block_on(store.erase(&service("z"), &user("a"), ExportCursor::START)).unwrap();
    assert!(
        first.has_more && first.messages == 2 * (EXPORT_SEGMENTS_MAX as u64 - 1) && first.held.len() == 1
    );
    let whole_of = |count: usize, held| Whole { messages: 2 * count as u64, held };
    assert_eq!(erase_all(&store, "a"), whole_of(names.len() - 1, vec![id(&names[3])]));
    update(&store, &service("z"), &names[3], hold(false)).unwrap();
    assert_eq!(erase_all(&store, "a"), whole_of(names.len(), Vec::new()));
    for name in &names {
        let left = walk(&store, "b", name, 10, Direction::Down);
        assert_eq!(left.iter().filter(|one| !one.content.is_empty()).count(), 1);
    }
    assert!(backend.packed().iter().all(|one| one.sender != "a" || one.content.is_empty()));
}

fn nothing_is_left_while_others_move_messages<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    let mut secrets = Secrets::new();
    group(&store, "c", &["b", "a"]);
    let is_over = Arc::new(AtomicBool::new(false));
    let mover = {
        let (open, is_over) = (backend.opener(), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let store = open();
            while !is_over.load(Ordering::Relaxed) {
                // It may be told to try again.
                let _moved = block_on(store.run(&[Task::Tier], 100));
            }
        })
    };
    for round in 0..6 {
        let mut own = Vec::new();
        for n in 0..5 {
            let one = draft("a", "c", &format!("{round}-{n}"), &secrets.next());
            own.push(append(&store, vec![one]).remove(0).unwrap().msg_id);
        }
        send(&store, "b", "c", round);
        for id in &own[..2] {
            revise(&store, &actor("a"), "c", *id, Change::Recall).unwrap();
        }
        drain(&store);
        assert!(erase(&store, "a") >= 5);
        let everything = backend.everything();
        let left: Vec<&String> = secrets.0.iter().filter(|secret| holds(&everything, secret)).collect();
        assert!(left.is_empty(), "round {round}: {left:?}");
        change(&store, "c", add("a"));
    }
    is_over.store(true, Ordering::Relaxed);
    mover.join().unwrap();
}
