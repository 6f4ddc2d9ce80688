//! What only the embedded back end shows: its file looked into from outside, a clock that moves on
//! within one call, and one order of what happens in different conversations.

use super::backend::{Backend, EmbeddedBackend, block_on};
use super::talk::*;
use im_domain::Error;
use im_domain::message::Ack;
use im_domain::page::ResetReason;
use im_domain::storage::Storage;
use im_domain::upkeep::Task;

#[test]
fn persisted_is_flushed_also_for_a_retry() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    for duplicate in [false, true] {
        let drafts = vec![draft("a", "c", "1", "x")];
        let receipt = block_on(store.append(&actor("a"), drafts, Ack::Persisted)).unwrap().remove(0).unwrap();
        assert_eq!((receipt.ack, receipt.duplicate), (Ack::Persisted, duplicate));
    }
    let count = |statement| backend.raw().query_row(statement, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT flushes FROM store"), 2);
    assert_eq!(count("SELECT count(*) FROM message"), 1);
}

#[test]
fn what_expires_while_a_device_asks_is_told() {
    let backend = EmbeddedBackend::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a"]);
    let start = backend.now();
    let first = send(&store, "a", "c", 1).msg_id;
    send(&store, "a", "c", 2);
    backend.set_clock(start + 2_000);
    let third = send(&store, "a", "c", 3).msg_id;
    // Everything is there at the first look at the clock, and only the third at the next ones.
    backend.set_clock(start + 500);
    let answer = sync(&backend.open_leaping(700), "a", "phone", sync_query("c", Some(first))).unwrap();
    assert_eq!(answer.page.messages.iter().map(|m| m.msg_id).collect::<Vec<_>>(), [third]);
    assert_eq!(answer.page.reset.map(|reset| reset.reason), Some(ResetReason::Expired));
}

#[test]
fn a_purge_ends_when_its_time_is_over_and_the_next_one_goes_on() {
    let backend = EmbeddedBackend::keeping(1_000);
    let store = backend.open_leaping(1);
    for conversation in 0..20 {
        group(&store, &format!("c{conversation}"), &["a"]);
        send(&store, "a", &format!("c{conversation}"), 1);
    }
    backend.advance(2_000);
    let first = block_on(store.run(&[Task::Expire], 5)).unwrap().expired;
    assert!((1..=5).contains(&first), "{first}");
    assert_eq!(block_on(store.run(&[Task::Expire], 10_000)).unwrap().expired, 20 - first);
}

#[test]
fn a_schema_of_a_newer_version_is_refused() {
    let backend = EmbeddedBackend::new();
    drop(backend.open());
    backend.raw().execute_batch("PRAGMA user_version = 999").unwrap();
    let refusal = backend.try_open().err();
    assert!(matches!(&refusal, Some(Error::Internal { reason }) if reason.contains("999")), "{refusal:?}");
}

#[test]
fn a_run_of_the_drain_alone_leaves_no_trace() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    let tenant = actor("a").tenant;
    let last_run = || block_on(store.status(&tenant)).unwrap().last_run;
    block_on(store.run(&[Task::Drain], 1_000)).unwrap();
    assert_eq!(last_run(), None);
    block_on(store.run(&[Task::Drain, Task::Expire], 1_000)).unwrap();
    assert!(last_run().is_some());
}

#[test]
fn within_one_millisecond_the_list_is_in_the_order_of_what_happened() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    let made: Vec<String> = (0..60).map(|n| format!("c{n}")).collect();
    made.iter().for_each(|name| group(&store, name, &["a"]));
    let listed = || {
        let list = block_on(store.list(&actor("a"), "", 100)).unwrap().conversations;
        list.into_iter().map(|c| c.id.to_string()).rev().collect::<Vec<_>>()
    };
    assert_eq!(listed(), made);
    let mut written = made.clone();
    written.reverse();
    written.iter().enumerate().for_each(|(n, name)| drop(send(&store, "a", name, n)));
    assert_eq!(listed(), written);
}
