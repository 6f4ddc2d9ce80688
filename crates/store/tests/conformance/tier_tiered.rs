//! The move to cold segments in PostgreSQL, killed at every step, raced by revisions, and among databases that change.

use super::backend::{Backend, block_on};
use super::killed::{self, Engine, at_every_step, engine};
use super::mortal::Kill;
use super::rebalanced::{mover, on};
use super::settled::HOT_KEYS;
use super::site::{Site, drain, settings_on};
use super::talk::*;
use super::tiered::{Hot, TieredBackend};
use super::watched::{Watch, WatchedPostgres, WatchedRedis};
use crate::servers::postgres::query_at;
use im_domain::MsgId;
use im_domain::message::Status;
use im_domain::page::Direction::{Down, Up};
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::tier::TierRules;
use im_domain::upkeep::Task;
use im_store::native::{NativePostgres, NativeRedis};
use im_store::tiered::HotDurability::Everysec;
use im_store::tiered::Tiered;
use im_store::tiered::rebalance::{declare, finish, move_partitions};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

fn tier(store: &impl Storage) -> u64 {
    block_on(store.run(&[Task::Tier], 10_000)).unwrap().tiered
}

/// An engine that moves everything at once, with the number of databases.
fn packing(site: &Site, databases: usize) -> (Tiered<WatchedRedis, WatchedPostgres>, Rc<Watch>) {
    let watch = Rc::<Watch>::default();
    let postgres_urls = &site.postgres_urls()[..databases];
    let mut settings = settings_on(&site.redis_urls(), postgres_urls, Everysec);
    settings.tier = TierRules::at_once();
    let redis = |url: &String| WatchedRedis(NativeRedis::new(url).unwrap(), Rc::clone(&watch));
    let postgres = |url: &String| WatchedPostgres(NativePostgres::new(url).unwrap(), Rc::clone(&watch));
    let redis = site.redis_urls().iter().map(redis).collect();
    let postgres = postgres_urls.iter().map(postgres).collect();
    (Tiered::new(redis, postgres, settings).unwrap(), watch)
}

/// What another instance has.
fn another(redis: &[String], postgres: &[String]) -> super::tiered::Engine {
    let mut settings = settings_on(redis, postgres, Everysec);
    settings.tier = TierRules::at_once();
    let redis = redis.iter().map(|url| NativeRedis::new(url).unwrap()).collect();
    let postgres = postgres.iter().map(|url| NativePostgres::new(url).unwrap()).collect();
    Tiered::new(redis, postgres, settings).unwrap()
}

/// Only this conversation is looked at by the next move.
fn look_at(backend: &TieredBackend<Hot>, name: &str) {
    let looks = "
        UPDATE conversation SET cold_look = CASE WHEN name = $1::text THEN 0 ELSE 9223372036854775807 END";
    query_at(&backend.postgres_url(), looks, vec![name.into()]).unwrap();
}

/// Also the taking in of a message that was taken out to be revised.
#[test]
fn a_move_is_killed_at_every_step() {
    let backend = TieredBackend::<Hot>::new();
    let healthy = engine(&backend, None).0;
    let run = |engine: &Engine| block_on(engine.run(&[Task::Tier], 10_000)).map(|report| report.tiered);
    let prepare = |name: &str| {
        group(&healthy, name, &["a", "b"]);
        let ids: Vec<MsgId> = (0..8).map(|n| send(&healthy, "a", name, n).msg_id).collect();
        killed::drain(&healthy);
        look_at(&backend, name);
        assert_eq!(run(&healthy).unwrap(), 7);
        revise(&healthy, &actor("a"), name, ids[1], edit_to("edited")).unwrap();
        (8..12).for_each(|n| drop(send(&healthy, "a", name, n)));
        killed::drain(&healthy);
        look_at(&backend, name);
    };
    let check = |name: &str| {
        let shown = walk(&healthy, "b", name, 3, Down);
        let content = |n| match n {
            1 => "edited".to_owned(),
            8 => String::new(),
            n => format!("message {}", if n < 8 { n } else { n - 1 }),
        };
        let expected: Vec<_> = (0..13).map(content).collect();
        assert_eq!(
            shown.iter().map(|message| message.content.clone()).collect::<Vec<_>>(),
            expected,
            "{name}"
        );
        assert_eq!(walk(&healthy, "b", name, 4, Up), shown, "{name}");
        assert_eq!(conversation(&healthy, "b", name).unread, 12, "{name}");
    };
    for last_is_made in [false, true] {
        for after in 0.. {
            let name = format!("{after}-{last_is_made}");
            prepare(&name);
            let (mortal, life) = engine(&backend, Some(Kill { after, last_is_made }));
            let outcome = run(&mortal);
            assert!(outcome.is_ok() || life.died(), "step {name}: {outcome:?}");
            backend.forget(HOT_KEYS);
            check(&name);
            run(&healthy).unwrap();
            backend.forget(HOT_KEYS);
            check(&name);
            if !life.died() {
                assert!(after > 0);
                break;
            }
        }
    }
}

#[test]
fn the_revision_of_a_cold_message_is_killed_at_every_step() {
    let seconds: RefCell<HashMap<String, MsgId>> = RefCell::default();
    let prepare = |engine: &Engine, name: &str| {
        group(engine, name, &["a", "b"]);
        let ids: Vec<MsgId> = (0..6).map(|n| send(engine, "a", name, n).msg_id).collect();
        block_on(engine.run(&[Task::Drain, Task::Tier], 10_000)).unwrap();
        seconds.borrow_mut().insert(name.to_owned(), ids[1]);
    };
    let run = |engine: &Engine, name: &str| {
        let second = seconds.borrow()[name];
        revise(engine, &actor("a"), name, second, Change::Recall).map(|_| ())
    };
    at_every_step(prepare, run, |engine, name| {
        let shown = walk(engine, "b", name, 100, Down);
        let recalled: Vec<_> = shown.iter().map(|message| message.status == Status::Recalled).collect();
        assert_eq!(recalled, [false, true, false, false, false, false, false], "{name}");
        assert_eq!(conversation(engine, "b", name).unread, 5, "{name}");
    });
}

/// Between the reading of rows and the statement that takes them somebody takes a message back, and somebody else
/// moves them.
#[test]
fn a_move_that_is_overtaken_takes_nothing_back() {
    let site = Site::new(1, 1);
    let (store, watch) = packing(&site, 1);
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..10).map(|n| send(&store, "a", "c", n).msg_id).collect();
    drain(&store);
    let (redis, postgres, victim) = (site.redis_urls(), site.postgres_urls(), ids[3]);
    let turns = Cell::new(0);
    *watch.before.borrow_mut() = Some(Box::new(move |statement| {
        if !statement.contains("INSERT INTO segment") || turns.replace(turns.get() + 1) > 1 {
            return;
        }
        let (redis, postgres, is_first) = (redis.clone(), postgres.clone(), turns.get() == 1);
        let other = std::thread::spawn(move || {
            let other = another(&redis, &postgres);
            match is_first {
                true => drop(revise(&other, &actor("a"), "c", victim, Change::Recall).unwrap()),
                false => assert_eq!(tier(&other), 9),
            }
        });
        other.join().unwrap();
    }));
    assert_eq!(tier(&store), 0);
    *watch.before.borrow_mut() = None;
    let shown = walk(&store, "b", "c", 100, Down);
    assert_eq!((shown.len(), shown[3].status, shown[3].content.as_str()), (11, Status::Recalled, ""));
    let mut rows =
        query_at(&site.postgres_urls()[0], "SELECT cold, stored FROM conversation", Vec::new()).unwrap();
    assert_eq!((rows[0].count().unwrap(), rows[0].count().unwrap()), (9, 2));
}

#[test]
fn segments_move_with_their_partition() {
    const ROOMS: usize = 24;
    let site = Site::new(1, 2);
    let name = |room: usize| format!("c{room}");
    let one = on(&site, 1);
    for room in 0..ROOMS {
        group(&one, &name(room), &["a", "b"]);
        for n in 0..6 {
            send(&one, "a", &name(room), n);
        }
    }
    drain(&one);
    let first_half = ROOMS as u64 * 5;
    assert_eq!(tier(&packing(&site, 1).0), first_half);
    let whole: Vec<_> = (0..ROOMS).map(|room| walk(&one, "b", &name(room), 100, Down)).collect();
    block_on(declare(&mover(&site, None).0, 2)).unwrap();
    let two = on(&site, 2);
    for (room, before) in whole.iter().enumerate() {
        revise(&two, &actor("a"), &name(room), before[2].msg_id, edit_to("edited")).unwrap();
        send(&two, "a", &name(room), 6);
    }
    drain(&two);
    // While rows are copied some more move into segments.
    let (steps, watch) = packing(&site, 2);
    let (redis, postgres, moves) = (site.redis_urls(), site.postgres_urls(), Cell::new(0));
    *watch.before.borrow_mut() = Some(Box::new(move |statement| {
        if statement.contains("home = 2, moving") && moves.replace(moves.get() + 1) % 8 == 0 {
            let (redis, postgres) = (redis.clone(), postgres.clone());
            let other = std::thread::spawn(move || {
                tier(&another(&redis, &postgres));
            });
            other.join().unwrap();
        }
    }));
    block_on(move_partitions(&steps, |_| {})).unwrap();
    *watch.before.borrow_mut() = None;
    block_on(finish(&mover(&site, None).0)).unwrap();
    for server in &site.redis {
        let forget = im_store::arguments![super::settled::FORGET, "0", HOT_KEYS];
        crate::servers::redis::command_at(server.url(), "EVAL", forget).unwrap();
    }
    for (room, before) in whole.iter().enumerate() {
        let shown = walk(&two, "b", &name(room), 100, Down);
        assert_eq!(shown.len(), before.len() + 2, "{room}");
        assert_eq!((shown[2].content.as_str(), &shown[1]), ("edited", &before[1]), "{room}");
        assert_eq!(conversation(&two, "b", &name(room)).unread, 7, "{room}");
    }
    let count = |url: &String| {
        let all = "SELECT count(*), coalesce(sum(messages), 0)::bigint FROM segment";
        let mut rows = query_at(url, all, Vec::new()).unwrap();
        (rows[0].count().unwrap(), rows[0].count().unwrap())
    };
    let counts: Vec<(u64, u64)> = site.postgres_urls().iter().map(count).collect();
    assert!(counts.iter().all(|(segments, _)| *segments > 0), "{counts:?}");
    assert_eq!(counts.iter().map(|(segments, _)| segments).sum::<u64>(), ROOMS as u64, "{counts:?}");
    let stored = |url: &String| {
        let mut rows = query_at(url, "SELECT sum(cold)::bigint FROM conversation", Vec::new()).unwrap();
        rows[0].count().unwrap()
    };
    let cold: u64 = site.postgres_urls().iter().map(stored).sum();
    assert_eq!(counts.iter().map(|(_, messages)| messages).sum::<u64>(), cold);
}
