//! Leases of users who are due: nobody is given to two push services at once, what was confirmed is not given again,
//! and what was not is.

use super::backend::{Backend, block_on, on_every_back_end};
use super::push::{ENOUGH, OFFLINE_MS, WAIT_MS, confirming, drain, due, say, summary, tenant};
use super::talk::*;
use im_domain::limits::PUSH_LEASE_MS;
use im_domain::storage::Storage;
use std::collections::BTreeSet;

on_every_back_end!(
    a_lease_ends_by_its_confirmation_and_what_came_since_begins_anew,
    a_lease_that_runs_out_is_given_again_with_what_came_since,
    a_confirmation_of_what_is_no_lease_changes_nothing,
    a_device_that_syncs_ends_a_lease_too,
    nobody_is_given_to_two_services_at_once,
    a_call_gives_no_more_than_it_is_asked_for,
);

fn a_lease_ends_by_its_confirmation_and_what_came_since_begins_anew<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    say(&store, "b", "c", 0..5);
    let first = due(&store);
    assert_eq!(summary(&first), [("a", 5, 1)]);
    backend.advance(1_000);
    let since = backend.now();
    say(&store, "b", "c", 5..7);
    assert_eq!(due(&store), []);
    assert_eq!(confirming(&store, &[&first[0]]), []);
    assert_eq!(conversation(&store, "a", "c").unread, 7);
    backend.set_clock(since + WAIT_MS - 1);
    assert_eq!(due(&store), []);
    backend.advance(1);
    let second = due(&store);
    assert_eq!(summary(&second), [("a", 2, 1)]);
    assert_eq!(second[0].oldest_time_ms, since);
    // Enough have come while the lease was held: due with its confirmation.
    say(&store, "b", "c", 7..12);
    assert_eq!(due(&store), []);
    let third = confirming(&store, &[&second[0]]);
    assert_eq!(summary(&third), [("a", 5, 1)]);
    assert_eq!(confirming(&store, &[&third[0]]), []);
    backend.advance(10 * WAIT_MS);
    assert_eq!(due(&store), []);
}

fn a_lease_that_runs_out_is_given_again_with_what_came_since<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let start = backend.now();
    say(&store, "b", "c", 0..5);
    let first = due(&store);
    assert_eq!(first.len(), 1);
    backend.advance(PUSH_LEASE_MS - 1);
    send(&store, "b", "c", 5);
    assert_eq!(due(&store), []);
    backend.advance(1);
    let second = due(&backend.open());
    assert_eq!(summary(&second), [("a", 6, 1)]);
    assert_eq!(second[0].oldest_time_ms, start);
    assert_ne!(second[0].lease_id, first[0].lease_id);
    // The first one is none any more.
    assert_eq!(confirming(&store, &[&first[0]]), []);
    backend.advance(PUSH_LEASE_MS);
    let third = due(&store);
    assert_eq!(summary(&third), [("a", 6, 1)]);
    assert_eq!(confirming(&store, &[&third[0], &third[0]]), []);
    backend.advance(PUSH_LEASE_MS);
    assert_eq!(due(&store), []);
}

fn a_confirmation_of_what_is_no_lease_changes_nothing<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let confirm = |done: &[String]| block_on(store.push_due(&tenant(), 100, done)).unwrap();
    let unknown = ["unknown".to_owned(), String::new(), "0".repeat(64), "a:b\u{1f}c".to_owned()];
    assert_eq!(confirm(&unknown), []);
    say(&store, "b", "c", 0..5);
    drain(&store);
    let first = confirm(&unknown);
    assert_eq!(summary(&first), [("a", 5, 1)]);
    backend.advance(PUSH_LEASE_MS);
    // It has run out, so what it covers is given again, even to who confirms it.
    let second = confirming(&store, &[&first[0]]);
    assert_eq!(summary(&second), [("a", 5, 1)]);
}

fn a_device_that_syncs_ends_a_lease_too<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    say(&store, "b", "c", 0..5);
    let first = due(&store);
    assert_eq!(first.len(), 1);
    sync(&store, "a", "phone", sync_query("c", None)).unwrap();
    backend.advance(1);
    say(&store, "b", "c", 5..10);
    assert_eq!(confirming(&store, &[&first[0]]), []);
    backend.advance(OFFLINE_MS);
    assert_eq!(summary(&due(&store)), [("a", 5, 1)]);
}

fn nobody_is_given_to_two_services_at_once<B: Backend>() {
    const USERS: usize = 24;
    let backend = B::new();
    let store = backend.open();
    for n in 0..USERS {
        let name = format!("c{n}");
        group(&store, &name, &["b", &format!("u{n:02}")]);
        let one = |m: usize| draft("b", &name, &m.to_string(), "x");
        append(&store, (0..ENOUGH).map(one).collect());
    }
    drain(&store);
    let open = backend.opener();
    let services: Vec<_> = (0..4)
        .map(|_| {
            let open = open.clone();
            std::thread::spawn(move || {
                let store = open();
                let mut given = Vec::new();
                for _ in 0..USERS {
                    let due = block_on(store.push_due(&tenant(), 2, &[])).unwrap();
                    assert!(due.len() <= 2);
                    given.extend(due.into_iter().map(|due| due.user.to_string()));
                }
                given
            })
        })
        .collect();
    let mut given: Vec<String> = services.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    given.sort_unstable();
    assert_eq!(given, (0..USERS).map(|n| format!("u{n:02}")).collect::<Vec<_>>());
}

fn a_call_gives_no_more_than_it_is_asked_for<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    for n in 0..7 {
        group(&store, &format!("c{n}"), &["b", &format!("u{n}")]);
        say(&store, "b", &format!("c{n}"), 0..5);
    }
    drain(&store);
    let mut given = BTreeSet::new();
    for expected in [3, 3, 1, 0] {
        let due = block_on(store.push_due(&tenant(), 3, &[])).unwrap();
        assert_eq!(due.len(), expected);
        assert!(due.into_iter().all(|due| given.insert(due.user)));
    }
}
