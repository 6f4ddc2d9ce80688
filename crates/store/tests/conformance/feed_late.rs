//! What reaches SQL late is in the feed when it comes, for whoever has read beyond it; a loss of the hot store leaves a
//! cursor good; and while a partition moves nothing of it is passed over.

use super::backend::{Backend, block_on, machine_ms};
use super::feed_index::{Index, pulled, tenant};
use super::rebalanced::{mover, on};
use super::site::{Site, drain as drain_site};
use super::talk::*;
use super::tiered::{Drained, Hot, TieredBackend};
use crate::servers::postgres::query_at;
use im_domain::message::Status;
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::upkeep::{DeadLetterAction, Task};
use im_domain::{Error, MsgId};
use im_store::tiered::rebalance::{declare, finish, move_partitions};

fn run(store: &impl Storage) -> u64 {
    block_on(store.run(&[Task::Drain], 10_000)).unwrap().dead_lettered
}

fn put_back(store: &impl Storage) -> usize {
    block_on(store.dead_letters(&tenant("acme"), DeadLetterAction::Replay, 100)).unwrap().len()
}

const POISON: &str =
    "ALTER TABLE message ADD CONSTRAINT poison CHECK (position('poison'::bytea IN content) = 0)";
const HEAL: &str = "ALTER TABLE message DROP CONSTRAINT poison";

fn query(backend: &TieredBackend<Hot>, statement: &str) {
    query_at(&backend.postgres_url(), statement, Vec::new()).unwrap();
}

fn say(store: &impl Storage, text: &str) -> MsgId {
    append(store, vec![draft("a", "c", text, text)]).remove(0).unwrap().msg_id
}

/// A message that SQL refuses at first, among others; `meanwhile` is done to it before it is put back.
fn a_late_message(meanwhile: Option<Change>) -> (Index, MsgId) {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    run(&store);
    let start = Index::of(&store, 10);
    query(&backend, POISON);
    for text in ["before", "poison", "after"] {
        say(&store, text);
    }
    assert_eq!(run(&store), 1);
    let mut index = Index::of(&store, 10);
    assert_eq!(index.contents(), ["before", "after"]);
    let late = walk(&store, "b", "c", 10, im_domain::page::Direction::Down)[1].msg_id;
    if let Some(change) = meanwhile {
        revise(&store, &service("a"), "c", late, change).unwrap();
        run(&store);
        index.catch_up(&store, || 1);
    }
    query(&backend, HEAL);
    assert_eq!(put_back(&store), 1);
    index.catch_up(&store, || 1);
    say(&store, "last");
    assert_eq!(run(&store), 0);
    index.catch_up(&store, || 1);
    let shelf = pulled(&store, "b", ["c"]);
    assert_eq!(index.shelf, shelf);
    for limit in [1, 2, 100] {
        assert_eq!(Index::of(&store, limit).shelf, shelf);
        let mut from_before = Index::from(start.cursor.clone());
        from_before.catch_up(&store, || limit);
        assert_eq!(from_before.shelf, shelf);
    }
    (index, late)
}

#[test]
fn a_message_that_was_set_aside_comes_when_it_is_stored() {
    let (index, late) = a_late_message(None);
    assert_eq!(index.seen.iter().filter(|seen| seen.starts_with(&format!("{late}."))).count(), 1);
    assert_eq!(index.contents(), ["before", "poison", "after", "last"]);
}

#[test]
fn one_that_was_revised_meanwhile_comes_as_it_has_become() {
    let (index, late) = a_late_message(Some(Change::Recall));
    let found = &index.shelf[&("c".to_owned(), late)];
    assert_eq!((found.status, found.content.as_str()), (Status::Recalled, ""));
    let (index, late) = a_late_message(Some(edit_to("harmless")));
    assert_eq!(index.shelf[&("c".to_owned(), late)].content, "harmless");
}

#[test]
fn an_edit_that_was_set_aside_comes_when_it_is_stored() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let msg_id = say(&store, "first");
    run(&store);
    query(&backend, POISON);
    revise(&store, &actor("a"), "c", msg_id, edit_to("poison")).unwrap();
    run(&store);
    assert_eq!(block_on(store.status(&tenant("acme"))).unwrap().dead_letters, 1);
    let mut index = Index::of(&store, 10);
    say(&store, "next");
    run(&store);
    index.catch_up(&store, || 10);
    query(&backend, HEAL);
    assert_eq!((put_back(&store), run(&store)), (1, 0));
    index.catch_up(&store, || 10);
    assert_eq!(index.shelf[&("c".to_owned(), msg_id)].content, "poison");
    assert_eq!(index.shelf, pulled(&store, "b", ["c"]));
}

#[test]
fn what_was_said_in_a_conversation_that_was_set_aside_comes_with_it() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "other", &["a", "b"]);
    send(&store, "a", "other", 0);
    run(&store);
    query(&backend, "ALTER TABLE conversation ADD CONSTRAINT poison CHECK (name <> 'c')");
    group(&store, "c", &["a", "b"]);
    for text in ["one", "two", "three"] {
        say(&store, text);
    }
    assert_eq!(run(&store), 1);
    let mut index = Index::of(&store, 10);
    assert_eq!(index.contents(), ["message 0"]);
    query(&backend, "ALTER TABLE conversation DROP CONSTRAINT poison");
    assert_eq!((put_back(&store), run(&store)), (1, 0));
    index.catch_up(&store, || 1);
    assert_eq!(index.shelf, pulled(&store, "b", ["c", "other"]));
}

#[test]
fn after_a_loss_a_cursor_goes_on_with_what_comes() {
    let backend = TieredBackend::<Drained>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    say(&store, "kept");
    let mut index = Index::of(&store, 10);
    backend.flush_redis();
    say(&store, "in another epoch");
    index.catch_up(&store, || 1);
    assert_eq!(index.contents(), ["kept", "in another epoch"]);
    assert_eq!(index.shelf, pulled(&store, "b", ["c"]));
}

/// A log that does not move holds the feed where it is, and lets it go on when it does.
#[test]
fn nothing_above_what_waits_is_told_of() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    for name in ["c", "other"] {
        group(&store, name, &["a", "b"]);
    }
    run(&store);
    let mut index = Index::of(&store, 10);
    say(&store, "waits");
    send(&store, "a", "other", 0);
    index.catch_up(&store, || 10);
    assert!(index.seen.is_empty());
    run(&store);
    index.catch_up(&store, || 10);
    assert_eq!(index.seen.len(), 2);
}

#[test]
fn a_memory_that_is_full_keeps_nobody_from_reading() {
    let site = Site::new(1, 1);
    let store = site.engine();
    group(&store, "c", &["a", "b"]);
    say(&store, "hello");
    drain_site(&store);
    let memory = |bytes: &str| {
        let command = im_store::arguments!["SET", "maxmemory", bytes];
        crate::servers::redis::command_at(site.redis[0].url(), "CONFIG", command).unwrap();
    };
    memory("1");
    assert_eq!(Index::of(&store, 10).contents(), ["hello"]);
    memory("0");
}

#[test]
fn what_moves_to_another_database_is_in_it_once_and_late_ones_move_too() {
    let site = Site::new(1, 2);
    let store = on(&site, 1);
    let names: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
    for name in &names {
        group(&store, name, &["a", "b"]);
    }
    drain_site(&store);
    let start = Index::of(&store, 10);
    let first = &site.postgres_urls()[0];
    query_at(first, POISON, Vec::new()).unwrap();
    for name in &names {
        let texts = ["poison", "harmless"].map(|text| draft("a", name, text, text));
        append(&store, texts.into()).into_iter().for_each(|one| drop(one.unwrap()));
    }
    assert_eq!(run(&store), 20);
    query_at(first, HEAL, Vec::new()).unwrap();
    let beyond = Index::of(&store, 10);
    assert_eq!((put_back(&store), run(&store)), (20, 0));
    let (mover, _) = mover(&site, None);
    block_on(declare(&mover, 2)).unwrap();
    let both = on(&site, 2);
    block_on(move_partitions(&mover, |_| {
        // Between two moves every partition is somewhere.
        let seen = block_on_other_thread(&site, start.cursor.clone());
        assert_eq!(seen, 40);
    }))
    .unwrap();
    block_on(finish(&mover)).unwrap();
    let shelf = pulled(&both, "b", names.iter().map(String::as_str));
    for index in [Index::default(), start, beyond] {
        let mut index = index;
        index.catch_up(&both, || 7);
        assert_eq!(index.shelf, shelf);
    }
    let moved: u64 = site.postgres_urls().iter().map(|url| late_of(url)).sum();
    assert_eq!(moved, 20);
    assert!(late_of(&site.postgres_urls()[1]) > 0 && machine_ms() > 0);
}

fn late_of(url: &str) -> u64 {
    query_at(url, "SELECT count(*) FROM late", Vec::new()).unwrap()[0].count().unwrap()
}

/// How many messages an index from `cursor` has, read by an engine of its own: the caller's runtime is at work.
fn block_on_other_thread(site: &Site, cursor: Option<im_domain::feed::FeedCursor>) -> usize {
    let (redis, postgres) = (site.redis_urls(), site.postgres_urls());
    let read = move || {
        let store = super::site::engine_on(&redis, &postgres, im_store::tiered::HotDurability::Everysec);
        let mut index = Index::from(cursor);
        index.catch_up(&store, || 50);
        index.shelf.len()
    };
    std::thread::spawn(read).join().unwrap()
}

#[test]
fn a_partition_that_is_nowhere_is_waited_for() {
    let site = Site::new(1, 1);
    let store = site.engine();
    group(&store, "c", &["a", "b"]);
    say(&store, "hello");
    drain_site(&store);
    let start = Index::of(&store, 10);
    let home = |home: u8| {
        let statement = format!("UPDATE partition_state SET home = {home} WHERE partition = 77");
        query_at(&site.postgres_urls()[0], &statement, Vec::new()).unwrap();
    };
    home(0);
    for cursor in [None, start.cursor] {
        let answer = block_on(store.events(&tenant("acme"), cursor, 10));
        assert!(matches!(answer, Err(Error::Overloaded { .. })), "{answer:?}");
    }
    home(1);
    assert_eq!(Index::of(&store, 10).contents(), ["hello"]);
}
