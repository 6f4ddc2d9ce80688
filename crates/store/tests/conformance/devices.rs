//! Devices: a sync makes one known; a forgotten one begins anew; positions are confirmed in any order and
//! never go back.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use super::tiered::{Hot, TieredBackend};
use im_domain::device::Device;
use im_domain::limits::{DEVICE_SEEN_STEP_MS, DEVICES_MAX};
use im_domain::page::SyncQuery;
use im_domain::storage::{Actor, Storage};
use im_domain::{DeviceId, MsgId, Tenant};

on_every_back_end!(
    every_kind_of_sync_makes_a_device_known,
    when_a_device_was_seen_is_kept_to_within_a_step,
    a_forgotten_device_begins_anew,
    a_forgotten_device_leaves_nothing_in_conversations_the_user_has_left,
    of_too_many_devices_the_one_seen_longest_ago_is_forgotten,
    devices_of_others_are_theirs,
    confirmations_in_any_order_at_once_never_move_a_position_back,
    a_device_that_was_away_walks_everything_it_missed,
);

fn device(name: &str) -> DeviceId {
    DeviceId::parse(name).unwrap()
}

fn devices(store: &impl Storage, name: &str) -> Vec<Device> {
    block_on(store.devices(&actor(name), None)).unwrap()
}

fn names(devices: &[Device]) -> Vec<&str> {
    devices.iter().map(|device| device.id.as_str()).collect()
}

fn forget(store: &impl Storage, name: &str, forgotten: &str) -> Vec<Device> {
    block_on(store.devices(&actor(name), Some(&device(forgotten)))).unwrap()
}

fn every_kind_of_sync_makes_a_device_known<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    assert_eq!(devices(&store, "a"), []);
    global(&store, "a", None, "", 10).unwrap();
    block_on(store.digest(&actor("a"), None, "", 10, 1)).unwrap();
    assert_eq!(devices(&store, "a"), []);
    sync(&store, "a", "one", sync_query("c", None)).unwrap();
    backend.advance(1);
    global(&store, "a", Some("two"), "", 10).unwrap();
    backend.advance(1);
    block_on(store.digest(&actor("a"), Some(&device("three")), "", 10, 1)).unwrap();
    let known = devices(&backend.open(), "a");
    assert_eq!(names(&known), ["three", "two", "one"]);
    let seen: Vec<u64> = known.iter().map(|device| device.last_seen_ms).collect();
    assert_eq!(seen, [backend.now(), backend.now() - 1, backend.now() - 2]);
}

fn when_a_device_was_seen_is_kept_to_within_a_step<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    for step in
        [1, DEVICE_SEEN_STEP_MS - 1, DEVICE_SEEN_STEP_MS, DEVICE_SEEN_STEP_MS + 1, 5 * DEVICE_SEEN_STEP_MS]
    {
        backend.advance(step);
        sync(&store, "a", "phone", sync_query("c", None)).unwrap();
        let seen = devices(&store, "a")[0].last_seen_ms;
        assert!(seen <= backend.now() && seen + DEVICE_SEEN_STEP_MS > backend.now(), "after {step}");
    }
}

fn a_forgotten_device_begins_anew<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    group(&store, "d", &["a"]);
    let last = (0..3).map(|n| send(&store, "a", "c", n).msg_id).last().unwrap();
    let in_d = send(&store, "a", "d", 1).msg_id;
    for name in ["phone", "tablet"] {
        backend.advance(1);
        assert_eq!(sync(&store, "a", name, sync_query("c", Some(last))).unwrap().position, last);
        assert_eq!(sync(&store, "a", name, sync_query("d", Some(in_d))).unwrap().position, in_d);
    }
    assert_eq!(names(&forget(&store, "a", "phone")), ["tablet"]);
    assert_eq!(names(&forget(&store, "a", "phone")), ["tablet"]);
    assert_eq!(names(&forget(&store, "a", "unknown")), ["tablet"]);
    for conversation in ["c", "d"] {
        let anew = sync(&backend.open(), "a", "phone", sync_query(conversation, None)).unwrap();
        assert_eq!((anew.position, anew.page.reset), (MsgId::NONE, None));
        assert_eq!(anew.page.messages.len() as u64, anew.page.head_seq);
    }
    assert_eq!(sync(&store, "a", "tablet", sync_query("c", None)).unwrap().position, last);
    assert_eq!(devices(&store, "a").len(), 2);
    assert_eq!(sync(&store, "a", "phone", sync_query("c", Some(last))).unwrap().position, last);
}

fn a_forgotten_device_leaves_nothing_in_conversations_the_user_has_left<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let last = send(&store, "a", "c", 1).msg_id;
    sync(&store, "b", "phone", sync_query("c", Some(last))).unwrap();
    sync(&store, "b", "tablet", sync_query("c", Some(last))).unwrap();
    change(&store, "c", remove("b"));
    forget(&store, "b", "phone");
    change(&store, "c", add("b"));
    assert_eq!(sync(&store, "b", "phone", sync_query("c", None)).unwrap().position, MsgId::NONE);
    assert_eq!(sync(&store, "b", "tablet", sync_query("c", None)).unwrap().position, last);
}

fn of_too_many_devices_the_one_seen_longest_ago_is_forgotten<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let last = send(&store, "a", "c", 1).msg_id;
    for n in 0..DEVICES_MAX {
        backend.advance(1);
        sync(&store, "a", &format!("d{n}"), sync_query("c", Some(last))).unwrap();
    }
    backend.advance(DEVICE_SEEN_STEP_MS);
    global(&store, "a", Some("d0"), "", 10).unwrap();
    backend.advance(1);
    sync(&store, "a", "new", sync_query("c", Some(last))).unwrap();
    let known = devices(&store, "a");
    assert_eq!(known.len(), DEVICES_MAX);
    let known = names(&known);
    assert_eq!(known[..2], ["new", "d0"]);
    assert!(!known.contains(&"d1") && known.contains(&"d2"));
    assert_eq!(sync(&store, "a", "d2", sync_query("c", None)).unwrap().position, last);
    assert_eq!(sync(&store, "a", "d1", sync_query("c", None)).unwrap().position, MsgId::NONE);
}

/// Also where SQL learns of both at once, and Redis has nothing more of the user.
#[test]
fn a_device_that_is_forgotten_makes_room_for_another() {
    let backend = TieredBackend::<Hot>::clocked();
    let store = backend.open();
    let see = |device: &str| {
        backend.advance(1);
        drop(global(&store, "a", Some(device), "", 10).unwrap());
    };
    for n in 0..DEVICES_MAX {
        see(&format!("d{n}"));
    }
    backend.drain(&store);
    forget(&store, "a", "d5");
    see("new");
    let check = || {
        let known = devices(&store, "a");
        let known = names(&known);
        assert_eq!(known.len(), DEVICES_MAX);
        assert!(known[0] == "new" && known.contains(&"d0") && !known.contains(&"d5"), "{known:?}");
    };
    check();
    backend.drain(&store);
    backend.forget("im:{*}:s:*");
    check();
}

fn devices_of_others_are_theirs<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let there = Actor { tenant: Tenant::parse("globex").unwrap(), ..actor("a") };
    group(&store, "c", &["a", "b"]);
    let last = send(&store, "a", "c", 1).msg_id;
    for name in ["a", "b"] {
        sync(&store, name, "phone", sync_query("c", Some(last))).unwrap();
    }
    block_on(store.global(&there, Some(&device("phone")), None, 10)).unwrap();
    let forgotten = block_on(store.devices(&there, Some(&device("phone")))).unwrap();
    assert_eq!(forgotten, []);
    forget(&store, "b", "phone");
    assert_eq!(names(&devices(&store, "a")), ["phone"]);
    assert_eq!(sync(&store, "a", "phone", sync_query("c", None)).unwrap().position, last);
}

fn confirmations_in_any_order_at_once_never_move_a_position_back<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<MsgId> = (0..40).map(|n| send(&store, "b", "c", n).msg_id).collect();
    let open = backend.opener();
    let threads: Vec<_> = (0..6)
        .map(|thread| {
            let (open, ids) = (open.clone(), ids.clone());
            std::thread::spawn(move || {
                let store = open();
                let device = ["phone", "tablet"][thread % 2];
                let mut last = MsgId::NONE;
                for step in 0..20 {
                    let confirmed = ids[(step * 23 + thread * 7) % ids.len()];
                    let query = SyncQuery { limit: 3, ..sync_query("c", Some(confirmed)) };
                    let position = sync(&store, "a", device, query).unwrap().position;
                    assert!(position >= last.max(confirmed), "it went back");
                    last = position;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let highest = |thread: usize| (0..20).map(move |step| (step * 23 + thread * 7) % 40).max();
    for (at, device) in ["phone", "tablet"].into_iter().enumerate() {
        let expected = [at, at + 2, at + 4].into_iter().filter_map(highest).max().unwrap();
        let position = sync(&store, "a", device, sync_query("c", None)).unwrap().position;
        assert_eq!(position, ids[expected], "{device}");
    }
}

fn a_device_that_was_away_walks_everything_it_missed<B: Backend>() {
    const MISSED: usize = 500;
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = send(&store, "b", "c", 0).msg_id;
    sync(&store, "a", "phone", sync_query("c", Some(first))).unwrap();
    for batch in 0..MISSED / 100 {
        let one = |n| draft("b", "c", &format!("{batch}-{n}"), "x");
        append(&store, (0..100).map(one).collect());
    }
    let mut last = None;
    let mut seqs = Vec::new();
    loop {
        let answer = sync(&store, "a", "phone", SyncQuery { limit: 20, ..sync_query("c", last) }).unwrap();
        assert_eq!((answer.page.head_seq, answer.page.reset), (MISSED as u64 + 1, None));
        assert_eq!(answer.position, last.unwrap_or(first));
        seqs.extend(answer.page.messages.iter().map(|message| message.seq));
        last = Some(answer.page.cursor);
        if !answer.page.has_more {
            break;
        }
    }
    assert_eq!(seqs, (2..MISSED as u64 + 2).collect::<Vec<_>>());
}
