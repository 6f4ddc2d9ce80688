//! What the tiered engine does with messages that users hide when one of its servers is away or has lost what it
//! held, when SQL refuses it, and as conversations cool down.

use super::backend::{Backend, block_on};
use super::hidden::hide;
use super::site::{Site, drain, engine_on};
use super::talk::*;
use super::tiered::{Drained, Hot, TieredBackend};
use crate::servers::postgres::query_at;
use crate::servers::proxy::Proxy;
use crate::servers::redis::command_at;
use im_domain::limits::HIDDEN_MAX;
use im_domain::page::Direction;
use im_domain::partition::partition_of;
use im_domain::storage::Storage;
use im_domain::upkeep::{DeadLetterAction, Task};
use im_domain::{Error, MsgId};
use im_store::arguments;
use im_store::redis::Value;
use im_store::tiered::HotDurability::Everysec;

fn seen_by(store: &impl Storage, name: &str) -> Vec<MsgId> {
    walk(store, name, "c", 50, Direction::Down).iter().map(|message| message.msg_id).collect()
}

fn rows(url: &str) -> u64 {
    query_at(url, "SELECT count(*) FROM hidden", Vec::new()).unwrap()[0].count().unwrap()
}

#[test]
fn with_sql_away_what_is_hot_is_hidden_at_once_and_nothing_else_is() {
    let site = Site::new(1, 1);
    let (proxy, by_proxy) = Proxy::before(&site.databases[0].url());
    let store = engine_on(&site.redis_urls(), &[by_proxy], Everysec);
    group(&store, "c", &["a", "b"]);
    let old = send(&store, "a", "c", 0).msg_id;
    drain(&store);
    site.evict();
    let ids: Vec<_> = (1..4).map(|n| send(&store, "a", "c", n).msg_id).collect();
    drain(&store);
    proxy.cut();
    assert_eq!(hide(&store, &actor("b"), "c", &ids[1..2]), Ok(vec![Ok(())]));
    let refused = hide(&store, &actor("b"), "c", &[ids[0], old]);
    assert!(matches!(refused, Err(Error::SqlUnavailable { .. })), "{refused:?}");
    let newest = page(&store, "b", query("c", MsgId::NONE, 1, Direction::Up)).unwrap();
    assert_eq!((newest.messages[0].msg_id, newest.has_more), (ids[2], true));
    assert_eq!(conversation(&store, "b", "c").unread, 3);
    proxy.mend();
    for _ in 0..2 {
        drain(&store);
        assert_eq!(seen_by(&store, "b"), [old, ids[0], ids[2]], "what was refused is not hidden in part");
        assert_eq!(conversation(&store, "b", "c").unread, 3);
        site.evict();
    }
    assert_eq!(rows(&site.databases[0].url()), 1);
}

#[test]
fn what_is_hidden_stays_so_when_redis_has_lost_everything() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..4).map(|n| send(&store, "a", "c", n).msg_id).collect();
    assert_eq!(hide(&store, &actor("b"), "c", &[ids[1], ids[3]]), Ok(vec![Ok(()), Ok(())]));
    backend.flush_redis();
    assert_eq!(seen_by(&store, "b"), [ids[0], ids[2]]);
    let one = conversation(&store, "b", "c");
    assert_eq!((one.unread, one.last.map(|last| last.msg_id)), (2, Some(ids[2])));
    assert_eq!(hide(&store, &actor("b"), "c", &[ids[1], ids[2]]), Ok(vec![Ok(()), Ok(())]));
    assert_eq!(seen_by(&store, "b"), [ids[0]]);
    assert_eq!(seen_by(&store, "a"), ids);
}

#[test]
fn what_sql_refuses_to_hide_is_hidden_once_it_is_put_back() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    let url = backend.postgres_url();
    let run = || {
        let report = block_on(store.run(&[Task::Drain], 10_000)).unwrap();
        (report.dead_lettered, report.backlog)
    };
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..3).map(|n| send(&store, "a", "c", n).msg_id).collect();
    run();
    query_at(&url, "ALTER TABLE hidden ADD CONSTRAINT poison CHECK (user_id <> 'b')", Vec::new()).unwrap();
    assert_eq!(hide(&store, &actor("b"), "c", &ids[..1]), Ok(vec![Ok(())]));
    assert_eq!(hide(&store, &actor("a"), "c", &ids[1..2]), Ok(vec![Ok(())]));
    run();
    assert_eq!((rows(&url), seen_by(&store, "b")), (1, ids[1..].to_vec()));
    query_at(&url, "ALTER TABLE hidden DROP CONSTRAINT poison", Vec::new()).unwrap();
    let put_back = block_on(store.dead_letters(&actor("a").tenant, DeadLetterAction::Replay, 10)).unwrap();
    assert_eq!((put_back.len(), put_back[0].conversation.clone()), (1, Some(id("c"))));
    assert_eq!(run(), (0, 0));
    assert_eq!(rows(&url), 2);
    block_on(store.evict());
    assert_eq!((seen_by(&store, "b"), seen_by(&store, "a")), (ids[1..].to_vec(), vec![ids[0], ids[2]]));
}

#[test]
fn so_many_are_hidden_in_a_conversation_and_no_more() {
    let backend = TieredBackend::<Drained>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..4).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let fill = format!(
        "INSERT INTO hidden SELECT cid, 'b', n, 0 FROM conversation, generate_series(1, {HIDDEN_MAX} - 2) n"
    );
    query_at(&backend.postgres_url(), &fill, Vec::new()).unwrap();
    let outcome = hide(&store, &actor("b"), "c", &ids[..3]).unwrap();
    assert_eq!(outcome[..2], [Ok(()), Ok(())]);
    assert!(matches!(&outcome[2], Err(Error::Conflict { field, .. }) if field == "msgIds"), "{outcome:?}");
    assert_eq!(hide(&store, &actor("b"), "c", &ids[..2]).unwrap(), [Ok(()), Ok(())], "they are already");
    assert!(hide(&store, &actor("b"), "c", &ids[3..]).unwrap()[0].is_err());
    assert_eq!(hide(&store, &actor("a"), "c", &ids[3..]).unwrap(), [Ok(())], "each user has as many");
    assert_eq!(seen_by(&store, "b"), ids[2..]);
}

#[test]
fn beside_the_stream_stands_only_what_is_hot_or_unread_or_the_last() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let mut ids = Vec::new();
    for hundred in 0..5 {
        let many = (0..100).map(|n| draft("a", "c", &format!("{hundred}-{n}"), "more")).collect();
        ids.extend(append(&store, many).into_iter().map(|receipt| receipt.unwrap().msg_id));
        let hidden: Vec<_> = ids[hundred * 100..hundred * 100 + 50].to_vec();
        assert!(hide(&store, &actor("b"), "c", &hidden).unwrap().iter().all(Result::is_ok));
    }
    let known = || {
        let key = format!("im:{{{}}}:y:acme/c", partition_of(&actor("a").tenant, &id("c")));
        match command_at(backend.redis_url(), "ZCARD", arguments![key]).unwrap()[..] {
            [Value::Integer(count)] => count,
            _ => panic!("not a number"),
        }
    };
    let left: Vec<_> = ids.iter().enumerate().filter(|(at, _)| at % 100 >= 50).map(|(_, id)| *id).collect();
    // 300 messages are hot; what is unread stays.
    block_on(store.run(&[Task::Drain], 10_000)).unwrap();
    assert_eq!((known(), conversation(&store, "b", "c").unread), (250, 250));
    read(&store, "b", "c", ids[399]).unwrap();
    for n in 0..3 {
        ids.push(send(&store, "a", "c", 1_000 + n).msg_id);
        block_on(store.run(&[Task::Drain], 10_000)).unwrap();
    }
    assert_eq!(known(), 147, "those of the last 300");
    let seen = [&left[..], &ids[500..]].concat();
    for _ in 0..2 {
        assert_eq!((seen_by(&store, "b"), conversation(&store, "b", "c").unread), (seen.clone(), 53));
        block_on(store.evict());
    }
    conversation(&store, "b", "c");
    assert_eq!(known(), 50, "the unread ones");
}
