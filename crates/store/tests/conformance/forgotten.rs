//! Devices in the tiered engine: SQL knows them by way of the log, and keeps them when Redis has lost everything;
//! one that is forgotten starts anew, wherever its positions are and wherever the call is killed.

use super::backend::{Backend, START_MS, block_on};
use super::killed::{Engine, at_every_step, drain as drain_at_once};
use super::talk::*;
use super::tiered::{Hot, Mode, Spread, TieredBackend, in_every_mode};
use crate::servers::postgres::query_at;
use im_domain::limits::DEVICES_MAX;
use im_domain::push::PushSettingsChange;
use im_domain::storage::Storage;
use im_domain::{DeviceId, MsgId};

in_every_mode!(
    devices_are_listed_by_when_they_synced,
    a_device_that_is_forgotten_starts_anew_everywhere,
    of_too_many_devices_the_one_seen_longest_ago_goes,
);

fn device(name: &str) -> DeviceId {
    DeviceId::parse(name).unwrap()
}

fn devices(store: &impl Storage, user: &str) -> Vec<(String, u64)> {
    let found = block_on(store.devices(&actor(user), None)).unwrap();
    found.into_iter().map(|device| (device.id.to_string(), device.last_seen_ms)).collect()
}

fn names(store: &impl Storage, user: &str) -> Vec<String> {
    devices(store, user).into_iter().map(|(name, _)| name).collect()
}

fn confirm(store: &impl Storage, user: &str, device: &str, conversation: &str, up_to: MsgId) {
    let answer = sync(store, user, device, sync_query(conversation, Some(up_to))).unwrap();
    assert_eq!(answer.position, up_to);
}

fn position(store: &impl Storage, user: &str, device: &str, conversation: &str) -> MsgId {
    sync(store, user, device, sync_query(conversation, None)).unwrap().position
}

fn devices_are_listed_by_when_they_synced<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    assert_eq!(devices(&store, "a"), []);
    position(&store, "a", "phone", "c");
    backend.advance(9_999);
    position(&store, "a", "phone", "c");
    assert_eq!(devices(&store, "a"), [("phone".to_owned(), START_MS)]);
    backend.advance(1);
    position(&store, "a", "tablet", "c");
    backend.advance(20_000);
    position(&store, "a", "phone", "c");
    let expected = [("phone".to_owned(), START_MS + 30_000), ("tablet".to_owned(), START_MS + 10_000)];
    assert_eq!(devices(&store, "a"), expected);
    assert_eq!(devices(&store, "b"), []);
}

fn a_device_that_is_forgotten_starts_anew_everywhere<M: Mode>() {
    let backend = TieredBackend::<M>::new();
    let store = backend.open();
    let conversations = ["c", "d", "e", "left"];
    for name in conversations {
        group(&store, name, &["b", "a"]);
        let first = send(&store, "b", name, 0).msg_id;
        send(&store, "b", name, 1);
        for device in ["phone", "tablet"] {
            confirm(&store, "a", device, name, first);
        }
    }
    block_on(store.change_members(&actor("a"), &id("left"), remove("a"))).unwrap();
    let phone = device("phone");
    let listed = block_on(store.devices(&actor("a"), Some(&phone))).unwrap();
    assert_eq!(listed.iter().map(|device| device.id.as_str()).collect::<Vec<_>>(), ["tablet"]);
    assert_eq!(names(&store, "a"), ["tablet"]);
    // One that is unknown is no error.
    assert_eq!(block_on(store.devices(&actor("a"), Some(&device("none")))).unwrap().len(), 1);
    block_on(store.change_members(&actor("b"), &id("left"), add("a"))).unwrap();
    for pass in 0..2 {
        for name in conversations {
            assert_eq!(position(&store, "a", "phone", name), MsgId::NONE, "{name} {pass}");
            assert!(position(&store, "a", "tablet", name) > MsgId::NONE, "{name} {pass}");
        }
        backend.evict(&store);
    }
    assert_eq!(names(&store, "a").len(), 2);
    // Forgotten and found again within one batch of the log.
    let last = send(&store, "b", "c", 2).msg_id;
    confirm(&store, "a", "phone", "c", last);
    block_on(store.devices(&actor("a"), Some(&phone))).unwrap();
    let first = walk(&store, "a", "c", 10, im_domain::page::Direction::Down)[0].msg_id;
    confirm(&store, "a", "phone", "c", first);
    backend.evict(&store);
    assert_eq!(position(&store, "a", "phone", "c"), first);
    assert_eq!(names(&store, "a").len(), 2);
}

fn of_too_many_devices_the_one_seen_longest_ago_goes<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    for n in 0..DEVICES_MAX + 3 {
        backend.advance(1);
        position(&store, "a", &format!("d{n}"), "c");
    }
    let expected: Vec<_> = (3..DEVICES_MAX + 3).rev().map(|n| format!("d{n}")).collect();
    assert_eq!(names(&store, "a"), expected);
    backend.evict(&store);
    backend.flush_redis();
    assert_eq!(names(&store, "a"), expected);
    backend.advance(1);
    position(&store, "a", "new", "c");
    backend.evict(&store);
    let count = "SELECT count(*) FROM device";
    let rows = |url: &String| query_at(url, count, Vec::new()).unwrap().remove(0).count().unwrap() as usize;
    assert_eq!(backend.postgres_urls().iter().map(rows).sum::<usize>(), DEVICES_MAX);
    assert_eq!(names(&store, "a")[..2], ["new".to_owned(), expected[0].clone()]);
}

/// A device is an entry of the log when it is new, and then once an hour.
#[test]
fn sql_is_told_of_a_device_now_and_then() {
    let backend = TieredBackend::<Hot>::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let entries = || block_on(store.status(&actor("a").tenant)).unwrap().backlog;
    backend.drain(&store);
    for (step_ms, expected) in [(0, 1), (15_000, 0), (3_585_000, 1), (0, 0)] {
        backend.advance(step_ms);
        position(&store, "a", "phone", "c");
        assert_eq!(entries(), expected, "{step_ms}");
        backend.drain(&store);
    }
}

#[test]
fn devices_and_settings_outlive_the_hot_store() {
    let backend = TieredBackend::<Spread>::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    position(&store, "a", "phone", "c");
    position(&store, "a", "tablet", "c");
    block_on(store.devices(&actor("a"), Some(&device("tablet")))).unwrap();
    let hide = PushSettingsChange { show_content: Some(false), muted: None };
    block_on(store.push_settings(&actor("a"), hide)).unwrap();
    backend.drain(&store);
    backend.flush_redis();
    assert_eq!(names(&store, "a"), ["phone"]);
    let settings = block_on(store.push_settings(&actor("a"), PushSettingsChange::default())).unwrap();
    assert!(!settings.show_content);
}

#[test]
fn forgetting_is_killed_at_every_step() {
    let prepare = |engine: &Engine, name: &str| {
        for conversation in [name.to_owned(), format!("sql-{name}")] {
            group(engine, &conversation, &["a"]);
            let first = send(engine, "a", &conversation, 0).msg_id;
            send(engine, "a", &conversation, 1);
            confirm(engine, "a", &format!("phone-{name}"), &conversation, first);
            if conversation == name {
                drain_at_once(engine);
            }
        }
    };
    let forget = |engine: &Engine, name: &str| {
        let phone = device(&format!("phone-{name}"));
        block_on(engine.devices(&actor("a"), Some(&phone))).map(drop)
    };
    at_every_step(prepare, forget, |engine, name| {
        let phone = format!("phone-{name}");
        for conversation in [name.to_owned(), format!("sql-{name}")] {
            assert_eq!(position(engine, "a", &phone, &conversation), MsgId::NONE);
        }
        // The looks above have made it a device again.
        assert!(names(engine, "a").contains(&phone));
    });
}
