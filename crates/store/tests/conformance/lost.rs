//! What the tiered engine does when Redis has lost everything it held.

use super::backend::{Backend, INDEX_MEMBERS, block_on, machine_ms};
use super::site::{Site, drain};
use super::talk::*;
use super::tiered::{Drained, Hot, TieredBackend};
use crate::servers::redis::{RedisServer, command_at};
use im_domain::Error;
use im_domain::message::Ack;
use im_domain::page::{Direction, ResetReason, SyncQuery};
use im_domain::storage::Storage;
use std::collections::BTreeSet;

#[test]
fn what_sql_had_is_served_and_numbers_and_ids_go_on_in_a_new_epoch() {
    let backend = TieredBackend::<Drained>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let sent: Vec<_> = (0..3).map(|n| send(&store, "a", "c", n)).collect();
    let ids: Vec<_> = sent.iter().map(|receipt| receipt.msg_id).collect();
    assert_eq!(sync(&store, "b", "phone", sync_query("c", Some(ids[1]))).unwrap().position, ids[1]);
    backend.flush_redis();
    let walked = walk(&store, "b", "c", 2, Direction::Down);
    assert_eq!(walked.iter().map(|m| m.msg_id).collect::<Vec<_>>(), ids);
    assert_eq!(block_on(store.list(&actor("b"), "", 10)).unwrap().conversations.len(), 1);
    // The marker of its first copy is lost; SQL has the message.
    let again = send(&store, "a", "c", 1);
    assert_eq!((again.duplicate, again.msg_id, again.seq), (true, ids[1], 2));
    let next = send(&store, "a", "c", 3);
    let shown = [&ids[..], &[next.msg_id]].concat();
    let walked = walk(&store, "b", "c", 2, Direction::Down);
    assert_eq!(walked.iter().map(|m| m.msg_id).collect::<Vec<_>>(), shown);
    assert!(!next.duplicate && next.seq > 3 && next.msg_id > ids[2]);
    assert_ne!(next.epoch, sent[0].epoch);
    let query = SyncQuery { epoch: Some(sent[0].epoch.clone()), ..sync_query("c", Some(ids[2])) };
    let reset = sync(&store, "b", "phone", query).unwrap().page.reset;
    assert_eq!(reset.map(|reset| reset.reason), Some(ResetReason::EpochChanged));
    let resumed = sync(&store, "b", "phone", sync_query("c", None)).unwrap();
    assert_eq!((resumed.position, resumed.page.messages[0].msg_id), (ids[1], ids[2]));
}

/// The server's clock was ahead, so what it counts begins anew below what devices know.
#[test]
fn after_the_loss_of_one_server_users_of_all_are_told_of_what_comes_next() {
    const USERS: [&str; 6] = ["a0", "a1", "a2", "a3", "a4", "a5"];
    let mut site = Site::new(2, 1);
    site.redis[1] = RedisServer::start(Some(machine_ms() + 40_000));
    let store = site.engine();
    let crowd: Vec<String> = (0..INDEX_MEMBERS).map(|n| format!("m{n}")).collect();
    let names: Vec<String> = (0..6).flat_map(|n| [format!("narrow{n}"), format!("wide{n}")]).collect();
    for name in &names {
        let members = crowd.iter().map(String::as_str).filter(|_| name.starts_with("wide"));
        group(&store, name, &USERS.into_iter().chain(members).collect::<Vec<_>>());
    }
    let say = |n| names.iter().for_each(|name| drop(send(&store, "a0", name, n)));
    let ask = |user: &str, cursor: &mut String| {
        let (mut told, mut is_reset) = (BTreeSet::new(), false);
        loop {
            let answer = global(&store, user, None, cursor, 5).unwrap();
            is_reset |= answer.reset.is_some();
            told.extend(answer.changed.iter().map(|one| one.conversation.to_string()));
            *cursor = answer.cursor;
            if !answer.has_more {
                return (told, is_reset);
            }
        }
    };
    say(1);
    drain(&store);
    // What SQL never gets.
    site.redis[1].set_clock(machine_ms() + 80_000);
    say(2);
    let mut cursors = USERS.map(|user| (user, String::new()));
    for (user, cursor) in &mut cursors {
        ask(user, cursor);
        assert_eq!(ask(user, cursor), (BTreeSet::new(), false));
    }
    command_at(site.redis[1].url(), "FLUSHALL", Vec::new()).unwrap();
    site.redis[1].set_clock(machine_ms());
    say(3);
    let all: BTreeSet<String> = names.iter().cloned().collect();
    let mut resets = 0;
    for (user, cursor) in &mut cursors {
        let (told, is_reset) = ask(user, cursor);
        assert_eq!(told, all, "{user}");
        resets += usize::from(is_reset);
        assert_eq!(ask(user, cursor), (BTreeSet::new(), false), "{user}");
    }
    assert!((1..USERS.len()).contains(&resets), "{resets} of these users have their index on the server");
}

#[test]
fn what_only_redis_had_is_gone_and_its_numbers_and_ids_are_not_given_again() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let kept = send(&store, "a", "c", 0);
    backend.drain(&store);
    let lost: Vec<_> = (1..4).map(|n| send(&store, "a", "c", n)).collect();
    backend.flush_redis();
    assert_eq!(walk(&store, "a", "c", 10, Direction::Up).len(), 1);
    let next = send(&store, "a", "c", 1);
    assert!(!next.duplicate && next.epoch != kept.epoch);
    assert!(lost.iter().all(|old| old.msg_id < next.msg_id && old.seq < next.seq), "{lost:?}, {next:?}");
    let ahead = lost[2].msg_id;
    let query = SyncQuery { epoch: Some(kept.epoch), ..sync_query("c", Some(ahead)) };
    let reset = sync(&store, "a", "phone", query).unwrap().page.reset;
    assert_eq!(reset.map(|reset| reset.reason), Some(ResetReason::EpochChanged));
}

#[test]
fn numbers_are_not_given_again_where_sql_had_the_conversation_and_no_message() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    backend.drain(&store);
    let lost: Vec<_> = (0..5).map(|n| send(&store, "a", "c", n)).collect();
    backend.flush_redis();
    let next = send(&store, "a", "c", 9);
    assert!(lost.iter().all(|old| old.msg_id < next.msg_id && old.seq < next.seq), "{lost:?}, {next:?}");
}

/// A head that is gone while entries wait: nobody should let go of it, and if somebody does, nothing
/// is counted from an old state.
#[test]
fn a_conversation_whose_head_is_gone_is_made_hot_from_all_that_was_written() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    backend.drain(&store);
    let before: Vec<_> = (0..3).map(|n| send(&store, "a", "c", n).seq).collect();
    backend.forget("im:{*}:h:*");
    let after: Vec<_> = (3..6).map(|n| send(&store, "a", "c", n).seq).collect();
    assert_eq!([before, after].concat(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(walk(&store, "a", "c", 10, Direction::Up).len(), 6);
}

#[test]
fn a_log_outlives_the_loss_of_its_clock() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    backend.drain(&store);
    let sent: Vec<_> = (0..3).map(|n| send(&store, "a", "c", n).msg_id).collect();
    backend.forget("im:{*}:clock");
    let next = send(&store, "a", "c", 3);
    let walked: Vec<_> = walk(&store, "a", "c", 10, Direction::Down).iter().map(|m| m.msg_id).collect();
    assert_eq!(walked, [&sent[..], &[next.msg_id]].concat());
}

#[test]
fn an_entry_with_a_stamp_that_was_never_given_is_set_aside_and_hides_nothing() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let first = send(&store, "a", "c", 0);
    let partition = first.msg_id.partition();
    let (ms, low) = (first.msg_id.number() >> 22, u64::from(partition) << 14);
    let forged = format!("p\n{}\n{low}\nacme/c\n1-1\na\nphone\n1-1\n1\n", ms + 3_600_000);
    let log = format!("im:{{{partition}}}:log");
    let entry = im_store::arguments![log.as_str(), "*", "v", forged];
    command_at(backend.redis_url(), "XADD", entry).unwrap();
    send(&store, "a", "c", 1);
    let report = block_on(store.run(&[im_domain::upkeep::Task::Drain], 10_000)).unwrap();
    assert_eq!((report.drained, report.dead_lettered, report.backlog), (2, 1, 0));
}

#[test]
fn a_full_redis_is_drained_all_the_same() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    for n in 0..20 {
        send(&store, "a", "c", n);
    }
    let set = |value: &str| {
        let setting = im_store::arguments!["SET", "maxmemory", value];
        command_at(backend.redis_url(), "CONFIG", setting).unwrap();
    };
    set("1mb");
    let refused = block_on(store.append(&actor("a"), vec![draft("a", "c", "full", "x")], Ack::Accepted));
    assert!(matches!(refused, Err(Error::HotUnavailable { .. })), "{refused:?}");
    let report = block_on(store.run(&[im_domain::upkeep::Task::Drain], 10_000)).unwrap();
    assert_eq!((report.drained, report.backlog), (20, 0));
    set("0");
    send(&store, "a", "c", 20);
}
