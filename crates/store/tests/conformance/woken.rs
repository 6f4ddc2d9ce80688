//! Whom the tiered engine wakes: messages are told to users by the drain, on whatever server they are, each once,
//! wherever a drain was killed; a user is leased to one caller, until it is confirmed or has run out; and what
//! is told is what the user has not read.

use super::backend::{Backend, START_MS, block_on};
use super::killed::{Engine, at_every_step, drain as drain_at_once, engine};
use super::mortal::Kill;
use super::site::{Site, drain, engine_on, patiently};
use super::talk::*;
use super::tiered::{Hot, Mode, Spread, TieredBackend, in_every_mode};
use crate::servers::redis::command_at;
use im_domain::message::{Ack, Draft};
use im_domain::push::{Due, PushSettingsChange};
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::Task;
use im_domain::{MsgId, Tenant};
use im_store::arguments;
use im_store::tiered::HotDurability::Everysec;
use std::collections::BTreeSet;

in_every_mode!(
    a_user_is_given_once_and_again_for_what_comes_after_the_push,
    a_lease_that_runs_out_is_given_again_with_what_came_meanwhile,
    a_device_that_syncs_ends_what_waits_and_what_was_on_its_way,
    only_what_counts_for_a_user_wakes,
    a_preview_shows_the_newest_to_those_who_allow_it,
    what_was_read_is_not_told,
    a_limit_leaves_the_others_for_the_next_call,
    what_has_expired_is_not_told,
);

/// Longer than anybody is asked to wait, in milliseconds.
pub const WAIT_MS: u64 = 300_000;
const LEASE_MS: u64 = 60_000;

pub fn tenant() -> Tenant {
    Tenant::parse("acme").unwrap()
}

pub fn run(store: &impl Storage) {
    assert_eq!(block_on(store.run(&[Task::Drain], 10_000)).unwrap().backlog, 0);
}

/// Who is due, once all that was said is known.
fn due_of(store: &impl Storage, limit: u32, confirm: &[String]) -> Vec<Due> {
    run(store);
    let mut due = block_on(store.push_due(&tenant(), limit, confirm)).unwrap();
    due.sort_by(|a, b| a.user.cmp(&b.user));
    due
}

pub fn due(store: &impl Storage) -> Vec<Due> {
    due_of(store, 100, &[])
}

/// User, messages, conversations.
pub fn counts(due: &[Due]) -> Vec<(&str, u64, u64)> {
    due.iter().map(|due| (due.user.as_str(), due.messages, due.conversations)).collect()
}

pub fn send_all(
    store: &impl Storage,
    sender: &str,
    conversation: &str,
    numbers: std::ops::Range<usize>,
) -> Vec<MsgId> {
    numbers.map(|n| send(store, sender, conversation, n).msg_id).collect()
}

fn a_user_is_given_once_and_again_for_what_comes_after_the_push<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    send_all(&store, "a", "c", 0..4);
    assert_eq!(counts(&due(&store)), []);
    send_all(&store, "a", "c", 4..5);
    let first = due(&store);
    assert_eq!(counts(&first), [("b", 5, 1)]);
    assert_eq!(first[0].oldest_time_ms, START_MS);
    assert_eq!(counts(&due(&store)), []);
    // A message that comes while the user is leased waits for the end of the lease.
    backend.advance(1_000);
    send_all(&store, "a", "c", 5..11);
    assert_eq!(counts(&due(&store)), []);
    let lease = first[0].lease_id.clone();
    for other in [format!("x{lease}"), format!("{lease}x"), "none".to_owned(), ".".to_owned()] {
        assert_eq!(counts(&due_of(&store, 100, &[other])), []);
    }
    let foreign = Tenant::parse("globex").unwrap();
    assert_eq!(block_on(store.push_due(&foreign, 100, std::slice::from_ref(&lease))).unwrap(), []);
    assert_eq!(counts(&due(&store)), []);
    let second = due_of(&store, 100, &[lease]);
    assert_eq!(counts(&second), [("b", 6, 1)]);
    assert_eq!(second[0].oldest_time_ms, START_MS + 1_000);
    assert_eq!(counts(&due_of(&store, 100, &[second[0].lease_id.clone()])), []);
    backend.advance(10 * WAIT_MS);
    assert_eq!(counts(&due(&store)), []);
    send_all(&store, "a", "c", 11..12);
    assert_eq!(counts(&due(&store)), []);
    backend.advance(WAIT_MS);
    assert_eq!(counts(&due(&store)), [("b", 1, 1)]);
}

fn a_lease_that_runs_out_is_given_again_with_what_came_meanwhile<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    group(&store, "d", &["a", "b"]);
    send_all(&store, "a", "c", 0..5);
    let first = due(&store);
    assert_eq!(counts(&first), [("b", 5, 1)]);
    backend.advance(1);
    send_all(&store, "a", "c", 5..6);
    send_all(&store, "a", "d", 6..7);
    backend.advance(LEASE_MS - 2);
    assert_eq!(counts(&due(&store)), []);
    backend.advance(1);
    // It has run out: to confirm it changes nothing.
    let again = due_of(&store, 100, &[first[0].lease_id.clone()]);
    assert_eq!(counts(&again), [("b", 7, 2)]);
    assert_eq!(again[0].oldest_time_ms, START_MS);
    assert_eq!(counts(&due_of(&store, 100, &[again[0].lease_id.clone()])), []);
    backend.advance(10 * WAIT_MS);
    assert_eq!(counts(&due(&store)), []);
}

fn a_device_that_syncs_ends_what_waits_and_what_was_on_its_way<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    for drains_before in [true, false] {
        send_all(&store, "a", "c", 0..5);
        if drains_before {
            run(&store);
        }
        backend.advance(1);
        sync(&store, "b", "phone", sync_query("c", None)).unwrap();
        backend.advance(10 * WAIT_MS);
        assert_eq!(counts(&due(&store)), [], "{drains_before}");
    }
    // What comes after the sync waits until the user is offline, and is told without what came before.
    sync(&store, "b", "phone", sync_query("c", None)).unwrap();
    backend.advance(1);
    send_all(&store, "a", "c", 10..16);
    backend.advance(59_998);
    assert_eq!(counts(&due(&store)), []);
    backend.advance(1);
    let given = due(&store);
    assert_eq!(counts(&given), [("b", 6, 1)]);
    // A sync ends the lease too.
    sync(&store, "b", "phone", sync_query("c", None)).unwrap();
    backend.advance(10 * WAIT_MS);
    assert_eq!(counts(&due_of(&store, 100, &[given[0].lease_id.clone()])), []);
}

fn only_what_counts_for_a_user_wakes<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b", "d"]);
    let silent = (0..9).map(|n| Draft { silent: true, ..draft("a", "c", &format!("s{n}"), "…") }).collect();
    append(&store, silent);
    send_all(&store, "b", "c", 0..2);
    send_all(&store, "a", "c", 2..4);
    send_all(&store, "b", "c", 4..5);
    let unknown = Actor { tenant: Tenant::parse("globex").unwrap(), ..actor("b") };
    assert_eq!(counts(&due(&store)), [("d", 5, 1)]);
    assert_eq!(block_on(store.push_due(&unknown.tenant, 100, &[])).unwrap(), []);
    backend.advance(WAIT_MS);
    assert_eq!(counts(&due(&store)), [("a", 3, 1), ("b", 2, 1), ("d", 5, 1)]);
}

fn a_preview_shows_the_newest_to_those_who_allow_it<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    for name in ["c", "d", "e", "f"] {
        group(&store, name, &["a", "b", "x"]);
    }
    let hide = PushSettingsChange { show_content: Some(false), muted: None };
    let settings = block_on(store.push_settings(&actor("x"), hide)).unwrap();
    assert_eq!((settings.show_content, settings.muted), (false, vec![]));
    for (n, name) in ["c", "d", "e", "f"].iter().enumerate() {
        backend.advance(1);
        send_all(&store, "a", name, n..n + 1);
    }
    send_all(&store, "a", "c", 4..6);
    backend.advance(1);
    append(&store, vec![Draft { silent: true, ..draft("a", "c", "s", "silent") }]);
    let given = due(&store);
    assert_eq!(counts(&given), [("b", 6, 4), ("x", 6, 4)]);
    let shown: Vec<_> =
        given[0].preview.iter().flatten().map(|(c, m)| (c.as_str(), m.content.as_str())).collect();
    assert_eq!(shown, [("c", "message 5"), ("c", "message 4"), ("f", "message 3")]);
    assert_eq!(given[1].preview, None);
    for (name, show) in [("x", false), ("b", true)] {
        let settings = block_on(store.push_settings(&actor(name), PushSettingsChange::default())).unwrap();
        assert_eq!(settings.show_content, show);
    }
}

fn what_was_read_is_not_told<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    send_all(&store, "a", "c", 0..5);
    run(&store);
    let leave = |change| block_on(store.change_members(&actor("a"), &id("c"), change)).unwrap();
    leave(remove("b"));
    assert_eq!(counts(&due(&store)), []);
    // Who joins again has read all of it.
    leave(add("b"));
    backend.advance(WAIT_MS);
    assert_eq!(counts(&due(&store)), []);
    send_all(&store, "a", "c", 5..10);
    assert_eq!(counts(&due(&store)), [("b", 5, 1)]);
}

fn a_limit_leaves_the_others_for_the_next_call<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    let names: Vec<String> = (0..30).map(|n| format!("u{n:02}")).collect();
    let members: Vec<&str> = std::iter::once("a").chain(names.iter().map(String::as_str)).collect();
    group(&store, "c", &members);
    send_all(&store, "a", "c", 0..5);
    let mut given = BTreeSet::new();
    let mut confirm = Vec::new();
    for expected in [13, 13, 4, 0] {
        let part = due_of(&store, 13, &confirm);
        assert_eq!(part.len(), expected);
        confirm = part.iter().map(|due| due.lease_id.clone()).collect();
        given.extend(part.into_iter().map(|due| due.user.to_string()));
    }
    assert!(given.into_iter().eq(names));
    backend.advance(10 * WAIT_MS);
    assert_eq!(counts(&due(&store)), []);
}

fn what_has_expired_is_not_told<M: Mode>() {
    let backend = TieredBackend::<M>::keeping(WAIT_MS + 5_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    send_all(&store, "a", "c", 0..3);
    backend.advance(10_000);
    send_all(&store, "a", "c", 3..4);
    run(&store);
    backend.advance(WAIT_MS);
    let given = due(&store);
    assert_eq!(counts(&given), [("b", 1, 1)]);
    assert_eq!(given[0].oldest_time_ms, START_MS + 10_000);
}

/// However a drain ends, its messages are told once: a drain that is repeated adds nothing.
#[test]
fn a_drain_that_is_killed_tells_each_message_once() {
    let prepare = |engine: &Engine, name: &str| {
        group(engine, name, &[&format!("a-{name}"), &format!("b-{name}")]);
        drain_at_once(engine);
        send_all(engine, &format!("a-{name}"), name, 0..4);
    };
    let operation = |engine: &Engine, _: &str| {
        let report = block_on(engine.run(&[Task::Drain], 10_000))?;
        assert_eq!((report.backlog, report.dead_lettered), (0, 0));
        Ok(())
    };
    at_every_step(prepare, operation, |engine, name| {
        // Four are not enough, and the fifth is.
        let of_name = || {
            let given = block_on(engine.push_due(&tenant(), 100, &[])).unwrap();
            given.into_iter().filter(|due| due.user.as_str().ends_with(name)).collect::<Vec<_>>()
        };
        assert_eq!(of_name(), [], "{name}");
        let peer = format!("b-{name}");
        if unread(engine, &peer, name) == 4 {
            send_all(engine, &format!("a-{name}"), name, 4..5);
            drain_at_once(engine);
            let given = of_name();
            assert_eq!(counts(&given), [(peer.as_str(), 5, 1)], "{name}");
            let confirm = [given[0].lease_id.clone()];
            block_on(engine.push_due(&tenant(), 1, &confirm)).unwrap();
        }
    });
}

fn unread(engine: &impl Storage, reader: &str, conversation: &str) -> u64 {
    block_on(engine.conversation(&actor(reader), &id(conversation))).unwrap().unread
}

/// The server of some users is away while others are told, and the log does not wait for it.
#[test]
fn a_server_that_is_away_keeps_nobody_else_from_being_woken() {
    let mut site = Site::new(3, 1);
    let store = site.engine();
    let names: Vec<String> = (0..20).map(|n| format!("u{n:02}")).collect();
    let members: Vec<&str> = std::iter::once("a").chain(names.iter().map(String::as_str)).collect();
    group(&store, "c", &members);
    drain(&store);
    let first = send(&store, "a", "c", 0).msg_id;
    send_all(&store, "a", "c", 1..5);
    let home = node_of(&site, first);
    let away = (0..3).find(|node| *node != home).unwrap();
    site.redis[away].kill();
    // The drain tells that a server is away, and has done what it could.
    let report = block_on(store.run(&[Task::Drain], 10_000));
    assert!(report.is_err(), "{report:?}");
    let log = format!("im:{{{}}}:log", first.partition());
    let left = command_at(site.redis[home].url(), "XLEN", arguments![log]).unwrap();
    assert_eq!(left, [im_store::redis::Value::Integer(0)]);
    let given = block_on(store.push_due(&tenant(), 100, &[])).unwrap();
    assert!(!given.is_empty() && given.len() < names.len());
    site.redis[away].start_again();
    block_on(patiently(async || store.ready().await));
    let confirm: Vec<String> = given.iter().map(|due| due.lease_id.clone()).collect();
    // What they missed they are told with what comes next.
    send_all(&store, "a", "c", 5..10);
    drain(&store);
    let rest = block_on(store.push_due(&tenant(), 100, &confirm)).unwrap();
    assert!(rest.iter().all(|due| due.messages == 5), "{:?}", counts(&rest));
    assert_eq!(rest.len(), names.len());
}

/// The server that has a message's log.
fn node_of(site: &Site, message: MsgId) -> usize {
    let log = format!("im:{{{}}}:log", message.partition());
    let has = |url: &String| command_at(url, "EXISTS", arguments![log.as_str()]).unwrap();
    site.redis_urls().iter().position(|url| has(url) == [im_store::redis::Value::Integer(1)]).unwrap()
}

#[test]
fn muted_members_and_groups_of_many_are_told_right() {
    let backend = TieredBackend::<Spread>::clocked();
    let store = backend.open();
    let names: Vec<String> = (0..2_500).map(|n| format!("u{n:04}")).collect();
    let members: Vec<&str> = std::iter::once("a").chain(names.iter().map(String::as_str)).collect();
    group(&store, "c", &members);
    run(&store);
    let mute = "local key = redis.call('KEYS', 'im:{*}:g:acme/c')[1]
        if key then
            local member = redis.call('HGET', key, ARGV[1])
            redis.call('HSET', key, ARGV[1], (string.gsub(member, '^(%d+ %d+ %d+ %d+ %d+ %d+ %d+) %d+', '%1 1')))
        end";
    for url in backend.redis_urls() {
        command_at(&url, "EVAL", arguments![mute, "0", "u0007"]).unwrap();
    }
    let service = actor("service");
    let messages = (0..5).map(|n| draft("a", "c", &format!("m{n}"), "hi")).collect();
    block_on(store.append(&service, messages, Ack::Accepted)).unwrap();
    let mut given = BTreeSet::new();
    let mut confirm = Vec::new();
    run(&store);
    loop {
        let part = block_on(store.push_due(&tenant(), 100, &confirm)).unwrap();
        if part.is_empty() {
            break;
        }
        assert!(part.iter().all(|due| due.messages == 5));
        confirm = part.iter().map(|due| due.lease_id.clone()).collect();
        given.extend(part.into_iter().map(|due| due.user.to_string()));
    }
    assert_eq!(given.len(), names.len() - 1);
    assert!(!given.contains("u0007"));
}

#[test]
fn of_many_conversations_the_newest_are_looked_at() {
    let backend = TieredBackend::<Hot>::clocked();
    let store = backend.open();
    for n in 0..55 {
        group(&store, &format!("c{n}"), &["a", "b"]);
        backend.advance(1);
        send(&store, "a", &format!("c{n}"), n);
    }
    let given = due(&store);
    assert_eq!(counts(&given), [("b", 50, 50)]);
    assert_eq!(given[0].oldest_time_ms, START_MS + 6);
}

/// A loss of everything in Redis forgets what waited; what comes after it is told.
#[test]
fn after_a_loss_users_are_woken_by_what_comes_next() {
    let site = Site::new(1, 1);
    let store = site.engine();
    group(&store, "c", &["a", "b"]);
    send_all(&store, "a", "c", 0..5);
    drain(&store);
    command_at(site.redis[0].url(), "FLUSHALL", arguments![]).unwrap();
    assert_eq!(block_on(patiently(async || store.push_due(&tenant(), 10, &[]).await)), []);
    send_all(&store, "a", "c", 5..10);
    drain(&store);
    let other = engine_on(&site.redis_urls(), &site.postgres_urls(), Everysec);
    assert_eq!(counts(&block_on(other.push_due(&tenant(), 10, &[])).unwrap()), [("b", 5, 1)]);
}

/// The members of a large group are told apart from the drain; whoever dies at it is followed by somebody else.
#[test]
fn telling_many_is_killed_at_every_step() {
    let backend = TieredBackend::<Hot>::clocked();
    let store = backend.open();
    for last_is_made in [false, true] {
        for after in 0.. {
            let name = format!("{after}-{last_is_made}");
            let members: Vec<String> = (0..8).map(|n| format!("u{n}-{name}")).collect();
            group(&store, &name, &members.iter().map(String::as_str).collect::<Vec<_>>());
            run(&store);
            send_all(&store, &members[0], &name, 0..4);
            let (mortal, life) = engine(&backend, Some(Kill { after, last_is_made }));
            let outcome = block_on(mortal.run(&[Task::Drain], 10_000));
            assert!(outcome.is_ok() || life.died(), "step {name}: {outcome:?}");
            if !life.died() {
                break;
            }
            backend.advance(30_000);
            let of_name = || {
                let given = due(&store);
                given.into_iter().filter(|due| due.user.as_str().ends_with(&name)).collect::<Vec<_>>()
            };
            assert_eq!(of_name(), [], "{name}");
            send_all(&store, &members[0], &name, 4..5);
            let given = of_name();
            assert!(given.iter().all(|due| due.messages == 5), "{name}: {:?}", counts(&given));
            assert_eq!(given.len(), members.len() - 1, "{name}");
        }
    }
}
