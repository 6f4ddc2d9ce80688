//! What moves to cold segments before an index has come to it is in the feed all the same, once and in the order of its
//! conversation; so is what came late of it.

use super::backend::{Backend, block_on, on_every_back_end};
use super::erase::{drain, erase};
use super::erase_traces::Traced;
use super::feed_index::{Index, pulled};
use super::talk::*;
use im_domain::MsgId;
use im_domain::message::Draft;
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::tier::TierRules;
use im_domain::upkeep::Task;
use std::collections::BTreeSet;

on_every_back_end!(
    what_moves_before_the_tail_has_come_there_is_in_it,
    what_is_erased_and_moves_before_the_tail_has_come_there_is_in_it,
);

const NAMES: [&str; 3] = ["c", "d", "e"];

/// Moves all that may move.
fn pack<B: Backend>(backend: &B) {
    block_on(backend.tiering(TierRules::at_once()).run(&[Task::Drain, Task::Tier], 10_000)).unwrap();
    assert!(!backend.packed().is_empty());
}

fn what_moves_before_the_tail_has_come_there_is_in_it<B: Backend>() {
    for limit in [1, 3, 100] {
        let backend = B::new();
        let store = backend.open();
        NAMES.iter().for_each(|name| group(&store, name, &["a", "b"]));
        NAMES.iter().for_each(|name| drop(send(&store, "a", name, 0)));
        drain(&store);
        let mut index = Index::of(&store, 10);
        let sent: Vec<MsgId> =
            (1..6).flat_map(|n| ["c", "d"].map(|name| send(&store, "a", name, n).msg_id)).collect();
        revise(&store, &actor("a"), "c", sent[2], Change::Recall).unwrap();
        revise(&store, &actor("a"), "d", sent[3], edit_to("edited")).unwrap();
        let reply = Draft { reply_to: Some(sent[1]), ..draft("b", "d", "reply", "yes") };
        append(&store, vec![reply]).remove(0).unwrap();
        pack(&backend);
        (6..8).for_each(|n| drop(send(&store, "a", "d", n)));
        drain(&store);
        index.catch_up(&store, || limit);
        assert_eq!(index.shelf, pulled(&store, "b", NAMES), "{limit}");
        assert_eq!(index.seen.len(), index.seen.iter().collect::<BTreeSet<_>>().len(), "each once");
        assert_eq!(index.seen.len(), 3 + 10 + 2 + 1 + 2);
        let next = send(&store, "a", "e", 1).msg_id;
        drain(&store);
        index.catch_up(&store, || limit);
        assert_eq!(index.seen.last(), Some(&next.to_string()));
        assert_eq!(Index::of(&store, limit).shelf, index.shelf);
    }
}

fn what_is_erased_and_moves_before_the_tail_has_come_there_is_in_it<B: Traced>() {
    for limit in [1, 100] {
        let backend = B::new();
        let store = backend.open();
        NAMES.iter().for_each(|name| group(&store, name, &["b", "a"]));
        let known: Vec<MsgId> =
            (0..2).flat_map(|n| NAMES.map(|name| send(&store, "a", name, n).msg_id)).collect();
        NAMES.iter().for_each(|name| drop(send(&store, "b", name, 0)));
        drain(&store);
        let mut index = Index::of(&store, 10);
        let unknown = send(&store, "a", "d", 2).msg_id;
        assert_eq!(erase(&store, "a"), 7);
        NAMES.iter().for_each(|name| drop(send(&store, "b", name, 1)));
        pack(&backend);
        index.catch_up(&store, || limit);
        let erased: BTreeSet<MsgId> = index.erased.iter().copied().collect();
        assert!(known.iter().all(|id| erased.contains(id)), "{erased:?}");
        let shelf = pulled(&store, "b", NAMES);
        assert!(shelf.values().any(|one| one.msg_id == unknown) && index.shelf == shelf);
    }
}
