//! Whom a push service is given: who is away and has enough messages or an old enough one, until a device syncs. What
//! is shown is read when it is given. Leases are in [`super::push_leases`].

use super::backend::{Backend, INDEX_MEMBERS, block_on, on_every_back_end};
use super::talk::*;
use im_domain::limits::{DEVICE_SEEN_STEP_MS, PUSH_LEASE_MS, PUSH_PREVIEW_MAX};
use im_domain::push::{Due, PushSettings, PushSettingsChange};
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::Task;
use im_domain::{Error, Result, Tenant};

on_every_back_end!(
    enough_messages_make_a_user_due_at_once,
    a_message_that_is_old_enough_makes_a_user_due,
    who_has_just_synced_is_not_due_yet,
    a_sync_ends_what_waits,
    what_is_read_does_not_wait,
    own_and_silent_messages_wake_nobody,
    several_conversations_are_one_push,
    muted_conversations_wake_nobody,
    members_of_a_wide_group_are_woken_too,
    who_joins_is_woken_by_what_is_said_from_then_on_and_who_has_left_by_nothing,
    what_has_expired_wakes_nobody,
    a_preview_shows_the_newest_to_who_allows_it,
    nothing_of_another_tenant_is_given_or_ended,
    settings_stay_until_they_are_changed,
    settings_that_name_a_strangers_conversation_change_nothing,
);

/// The rules of the tests: five messages, five minutes, away for one.
pub const ENOUGH: usize = 5;
pub const WAIT_MS: u64 = 300_000;
pub const OFFLINE_MS: u64 = 60_000;

pub fn tenant() -> Tenant {
    actor("a").tenant
}

/// The tiered engine's drain tells whom to wake.
pub fn drain(store: &impl Storage) {
    block_on(store.run(&[Task::Drain], 10_000)).unwrap();
}

pub fn due(store: &impl Storage) -> Vec<Due> {
    confirming(store, &[])
}

pub fn confirming(store: &impl Storage, done: &[&Due]) -> Vec<Due> {
    let done: Vec<String> = done.iter().map(|due| due.lease_id.clone()).collect();
    drain(store);
    block_on(store.push_due(&tenant(), 100, &done)).unwrap()
}

/// User, messages, conversations; in the order of the users.
pub fn summary(due: &[Due]) -> Vec<(&str, u64, u64)> {
    let mut all: Vec<_> =
        due.iter().map(|due| (due.user.as_str(), due.messages, due.conversations)).collect();
    all.sort_unstable();
    all
}

pub fn say(store: &impl Storage, sender: &str, conversation: &str, numbers: std::ops::Range<usize>) {
    numbers.for_each(|n| drop(send(store, sender, conversation, n)));
}

fn settings(store: &impl Storage, name: &str, change: PushSettingsChange) -> Result<PushSettings> {
    block_on(store.push_settings(&actor(name), change))
}

fn muting(names: &[&str]) -> PushSettingsChange {
    let muted = names.iter().map(|name| id(name)).collect();
    PushSettingsChange { show_content: None, muted: Some(muted) }
}

fn showing(show_content: bool) -> PushSettingsChange {
    PushSettingsChange { show_content: Some(show_content), muted: None }
}

fn enough_messages_make_a_user_due_at_once<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let start = backend.now();
    for n in 0..ENOUGH {
        assert_eq!(due(&store), [], "after {n}");
        send(&store, "b", "c", n);
        backend.advance(1_000);
    }
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 5, 1)]);
    assert_eq!(given[0].oldest_time_ms, start);
    assert_eq!(due(&store), []);
}

fn a_message_that_is_old_enough_makes_a_user_due<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let start = backend.now();
    send(&store, "b", "c", 1);
    assert_eq!(due(&store), []);
    backend.advance(WAIT_MS / 2);
    send(&store, "b", "c", 2);
    assert_eq!(due(&store), []);
    backend.set_clock(start + WAIT_MS - 1);
    assert_eq!(due(&backend.open()), []);
    backend.advance(1);
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 2, 1)]);
    assert_eq!(given[0].oldest_time_ms, start);
}

fn who_has_just_synced_is_not_due_yet<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let seen = backend.now();
    sync(&store, "a", "phone", sync_query("c", None)).unwrap();
    backend.advance(1_000);
    say(&store, "b", "c", 0..7);
    for wait in [1_000, OFFLINE_MS - 1] {
        backend.set_clock(seen + wait);
        assert_eq!(due(&store), [], "{wait} ms after the sync");
    }
    backend.set_clock(seen + OFFLINE_MS);
    assert_eq!(summary(&due(&store)), [("a", 7, 1)]);
}

fn a_sync_ends_what_waits<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let phone = im_domain::DeviceId::parse("phone").unwrap();
    let syncs: [&dyn Fn(); 3] = [
        &|| drop(sync(&store, "a", "phone", sync_query("c", None)).unwrap()),
        &|| drop(global(&store, "a", Some("phone"), "", 10).unwrap()),
        &|| drop(block_on(store.digest(&actor("a"), Some(&phone), "", 10, 1)).unwrap()),
    ];
    let mut said = 0;
    // Asked in between or not, seen long ago or a moment ago.
    for (round, wait) in [(1, DEVICE_SEEN_STEP_MS), (2, 10), (3, DEVICE_SEEN_STEP_MS), (4, 10)] {
        for sync in syncs {
            say(&store, "b", "c", said..said + 4);
            said += 4;
            if round > 2 {
                assert_eq!(due(&store), []);
            }
            backend.advance(wait);
            sync();
            assert_eq!(due(&store), []);
        }
        backend.advance(10 * WAIT_MS);
        assert_eq!(due(&store), [], "in round {round}");
    }
    // They are unread all the same; what comes now waits alone.
    assert_eq!(conversation(&store, "a", "c").unread, said as u64);
    send(&store, "b", "c", said);
    backend.advance(WAIT_MS);
    assert_eq!(summary(&due(&store)), [("a", 1, 1)]);
}

fn what_is_read_does_not_wait<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b", "x"]);
    let ids: Vec<_> = (0..6).map(|n| send(&store, "b", "c", n).msg_id).collect();
    read(&store, "a", "c", ids[2]).unwrap();
    read(&store, "x", "c", ids[5]).unwrap();
    assert_eq!(due(&store), []);
    backend.advance(WAIT_MS);
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 3, 1)]);
    assert_eq!(confirming(&store, &[&given[0]]), []);
    say(&store, "b", "c", 6..11);
    read(&store, "a", "c", conversation(&store, "a", "c").last.unwrap().msg_id).unwrap();
    assert_eq!(summary(&due(&store)), [("x", 5, 1)]);
    backend.advance(10 * WAIT_MS);
    assert_eq!(summary(&due(&store)), [("x", 5, 1)]);
}

fn own_and_silent_messages_wake_nobody<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    say(&store, "a", "c", 0..20);
    let silent = |n: usize| {
        let mut one = draft("b", "c", &format!("silent-{n}"), "x");
        one.silent = true;
        one
    };
    append(&store, (0..20).map(silent).collect());
    let given = due(&store);
    assert_eq!(summary(&given), [("b", 20, 1)]);
    confirming(&store, &[&given[0]]);
    backend.advance(WAIT_MS);
    assert_eq!(due(&store), []);
    let said = backend.now();
    send(&store, "b", "c", 1);
    backend.advance(WAIT_MS);
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 1, 1)]);
    assert_eq!(given[0].oldest_time_ms, said);
}

fn several_conversations_are_one_push<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    let start = backend.now();
    for name in ["c1", "c2", "c3"] {
        group(&store, name, &["a", "b"]);
    }
    for n in 0..ENOUGH {
        assert_eq!(due(&store), []);
        send(&store, "b", ["c1", "c2"][n % 2], n);
        backend.advance(1);
    }
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 5, 2)]);
    assert_eq!(given[0].oldest_time_ms, start);
}

fn muted_conversations_wake_nobody<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    for name in ["c1", "c2"] {
        group(&store, name, &["a", "b"]);
    }
    mute(&store, "a", "c1", true);
    say(&store, "b", "c1", 0..9);
    say(&store, "b", "c2", 0..4);
    assert_eq!(due(&store), []);
    send(&store, "b", "c2", 4);
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 5, 1)]);
    let preview = given[0].preview.clone().unwrap();
    assert!(preview.iter().all(|(conversation, _)| *conversation == id("c2")));
    assert_eq!(confirming(&store, &[&given[0]]), []);
    settings(&store, "a", muting(&["c2"])).unwrap();
    say(&store, "b", "c2", 5..10);
    backend.advance(WAIT_MS);
    assert_eq!(due(&store), []);
    say(&store, "b", "c1", 9..14);
    let given = due(&store);
    assert_eq!((given.len(), given[0].conversations), (1, 1));
}

fn members_of_a_wide_group_are_woken_too<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    let names: Vec<String> = (0..=INDEX_MEMBERS).map(|n| format!("m{n}")).collect();
    let members: Vec<&str> = ["b"].into_iter().chain(names.iter().map(String::as_str)).collect();
    group(&store, "w", &members);
    group(&store, "c", &["b", "m0"]);
    sync(&store, "m1", "phone", sync_query("w", None)).unwrap();
    mute(&store, "m2", "w", true);
    backend.advance(1_000);
    say(&store, "b", "w", 0..5);
    send(&store, "b", "c", 1);
    let given = due(&store);
    let given = summary(&given);
    assert_eq!(given, [("m0", 6, 2), ("m3", 5, 1), ("m4", 5, 1), ("m5", 5, 1)]);
    sync(&store, "m1", "phone", sync_query("w", None)).unwrap();
    backend.advance(10 * WAIT_MS);
    assert!(due(&store).iter().all(|due| !["m1", "m2", "b"].contains(&due.user.as_str())));
}

fn who_joins_is_woken_by_what_is_said_from_then_on_and_who_has_left_by_nothing<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    say(&store, "b", "c", 0..5);
    change(&store, "c", add("late"));
    change(&store, "c", remove("a"));
    assert_eq!(due(&store), []);
    send(&store, "b", "c", 5);
    backend.advance(WAIT_MS);
    assert_eq!(summary(&due(&store)), [("late", 1, 1)]);
}

fn what_has_expired_wakes_nobody<B: Backend>() {
    let backend = B::keeping(WAIT_MS);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    group(&store, "d", &["a", "x"]);
    let start = backend.now();
    say(&store, "b", "c", 0..3);
    assert_eq!(due(&store), []);
    backend.advance(WAIT_MS - 1_000);
    say(&store, "x", "d", 0..2);
    backend.set_clock(start + WAIT_MS + 1);
    for _ in 0..2 {
        assert_eq!(due(&store), []);
        block_on(store.run(&[], 1_000)).unwrap();
    }
    say(&store, "x", "d", 2..4);
    assert_eq!(due(&store), []);
    send(&store, "x", "d", 4);
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 5, 1)]);
    assert_eq!(given[0].oldest_time_ms, start + WAIT_MS - 1_000);
}

fn a_preview_shows_the_newest_to_who_allows_it<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    for name in ["c1", "c2"] {
        group(&store, name, &["a", "b", "private"]);
    }
    settings(&store, "private", showing(false)).unwrap();
    let mut said = Vec::new();
    for n in 0..6 {
        backend.advance(1);
        let name = ["c1", "c2"][usize::from(n == 4)];
        said.push((id(name), send(&store, "b", name, n).msg_id));
    }
    backend.advance(1);
    send(&store, "a", "c1", 6);
    let mut silent = draft("b", "c1", "silent", "x");
    silent.silent = true;
    append(&store, vec![silent]);
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 6, 2), ("private", 7, 2)]);
    let of = |name: &str| given.iter().find(|due| due.user.as_str() == name).unwrap().preview.clone();
    assert_eq!(of("private"), None);
    let shown = of("a").unwrap();
    assert_eq!(shown.len(), PUSH_PREVIEW_MAX);
    let ids: Vec<_> = shown.iter().map(|(name, message)| (name.clone(), message.msg_id)).collect();
    assert_eq!(ids, [said[5].clone(), said[4].clone(), said[3].clone()]);
    assert_eq!((shown[0].1.content.as_str(), shown[0].1.sender.as_str()), ("message 5", "b"));
    settings(&store, "private", showing(true)).unwrap();
    backend.advance(PUSH_LEASE_MS);
    assert!(due(&store).iter().all(|due| due.preview.as_ref().is_some_and(|shown| shown.len() == 3)));
}

fn nothing_of_another_tenant_is_given_or_ended<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    say(&store, "b", "c", 0..5);
    let there = Tenant::parse("globex").unwrap();
    let at_globex = |done: &[String]| block_on(store.push_due(&there, 100, done)).unwrap();
    assert_eq!(at_globex(&[]), []);
    let given = due(&store);
    assert_eq!(summary(&given), [("a", 5, 1)]);
    assert_eq!(at_globex(&[given[0].lease_id.clone()]), []);
    let same_user = Actor { tenant: there.clone(), ..actor("a") };
    let phone = im_domain::DeviceId::parse("phone").unwrap();
    block_on(store.global(&same_user, Some(&phone), None, 10)).unwrap();
    backend.advance(PUSH_LEASE_MS);
    assert_eq!(summary(&due(&store)), [("a", 5, 1)]);
}

fn settings_stay_until_they_are_changed<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    for name in ["c2", "c1", "c3"] {
        group(&store, name, &["a", "b"]);
    }
    let ask = |change| settings(&store, "a", change).unwrap();
    let expect = |show_content, muted: &[&str]| PushSettings {
        show_content,
        muted: muted.iter().map(|name| id(name)).collect(),
    };
    assert_eq!(ask(PushSettingsChange::default()), expect(true, &[]));
    assert_eq!(ask(muting(&["c3", "c1", "c3"])), expect(true, &["c1", "c3"]));
    assert_eq!(ask(showing(false)), expect(false, &["c1", "c3"]));
    assert!(conversation(&store, "a", "c1").muted && !conversation(&store, "a", "c2").muted);
    mute(&store, "a", "c2", true);
    assert_eq!(ask(PushSettingsChange::default()), expect(false, &["c1", "c2", "c3"]));
    assert_eq!(ask(muting(&["c2"])), expect(false, &["c2"]));
    assert!(!conversation(&store, "a", "c1").muted);
    change(&store, "c2", remove("a"));
    let last = settings(&backend.open(), "a", PushSettingsChange::default()).unwrap();
    assert_eq!(last, expect(false, &[]));
    let both = PushSettingsChange { show_content: Some(true), ..muting(&[]) };
    assert_eq!(ask(both), expect(true, &[]));
    assert_eq!(settings(&store, "b", PushSettingsChange::default()).unwrap(), expect(true, &[]));
}

fn settings_that_name_a_strangers_conversation_change_nothing<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    group(&store, "of-b", &["b"]);
    settings(&store, "a", muting(&["c"])).unwrap();
    for name in ["of-b", "nowhere"] {
        let change = PushSettingsChange { show_content: Some(false), ..muting(&[name]) };
        let refusal = settings(&store, "a", change);
        assert!(matches!(&refusal, Err(Error::Invalid { field, .. }) if field == "muted"), "{refusal:?}");
    }
    let now = settings(&store, "a", PushSettingsChange::default()).unwrap();
    assert_eq!(now, PushSettings { show_content: true, muted: vec![id("c")] });
}
