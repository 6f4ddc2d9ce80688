//! What a user says while others are to be told to the user counts for nothing, nor does it when it is taken back.

use super::backend::{Backend, INDEX_MEMBERS, block_on};
use super::settled::HOT_KEYS;
use super::site::{Site, engine_on};
use super::talk::*;
use super::tiered::{Hot, TieredBackend};
use super::watched::watched;
use super::woken::{WAIT_MS, counts, due, run, send_all, tenant};
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_store::tiered::HotDurability::Everysec;
use std::time::Duration;

/// How a group's members are told: by the drain, or apart from it, from what is hot or from SQL.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    ByTheDrain,
    Apart,
    ApartFromSql,
}

impl Told {
    fn group(self, store: &impl Storage) {
        let others: Vec<String> = (0..INDEX_MEMBERS).map(|n| format!("u{n}")).collect();
        let members = ["a", "b"].into_iter().chain(others.iter().map(String::as_str));
        let few = if self == Self::ByTheDrain { 2 } else { usize::MAX };
        group(store, "c", &members.take(few).collect::<Vec<_>>());
        run(store);
    }
}

#[test]
fn own_messages_that_were_taken_back_hide_nothing_of_others() {
    for told in [Told::ByTheDrain, Told::Apart, Told::ApartFromSql] {
        let backend = TieredBackend::<Hot>::clocked();
        let store = backend.open();
        told.group(&store);
        send_all(&store, "a", "c", 0..2);
        run(&store);
        send_all(&store, "b", "c", 0..1);
        let slip = send_all(&store, "a", "c", 2..3)[0];
        // It waits for SQL, and so does all that was said before.
        revise(&store, &actor("a"), "c", slip, Change::Recall).unwrap();
        if told == Told::ApartFromSql {
            backend.forget(HOT_KEYS);
        }
        run(&store);
        backend.advance(WAIT_MS);
        let given = due(&store);
        assert_eq!(counts(&given)[..2], [("a", 1, 1), ("b", 2, 1)], "{told:?}");
    }
}

/// A user goes on talking while others are told of what was said before.
#[test]
fn own_messages_that_came_since_count_for_nothing() {
    for told in [Told::ByTheDrain, Told::Apart] {
        let site = Site::new(1, 1);
        let (store, watch) = watched(&site);
        told.group(&store);
        let due = |confirm: &[String]| {
            let given = block_on(store.push_due(&tenant(), 10, confirm)).unwrap();
            given.into_iter().filter(|due| due.user == user("a")).collect::<Vec<_>>()
        };
        send_all(&store, "b", "c", 0..5);
        run(&store);
        let first = due(&[]);
        assert_eq!(counts(&first), [("a", 5, 1)]);
        assert_eq!(due(&[first[0].lease_id.clone()]), []);
        send_all(&store, "b", "c", 5..10);
        let (redis, postgres) = (site.redis_urls(), site.postgres_urls());
        *watch.before.borrow_mut() = Some(Box::new(move |statement| {
            let (redis, postgres) = (redis.clone(), postgres.clone());
            let talk = move || {
                let other = engine_on(&redis, &postgres, Everysec);
                send_all(&other, "a", "c", 0..2);
            };
            if statement.contains("INSERT INTO message") {
                std::thread::spawn(talk).join().unwrap();
            }
        }));
        block_on(store.run(&[Task::Drain], 10_000)).unwrap();
        *watch.before.borrow_mut() = None;
        // Told apart from the drain, a conversation is let be for a while before it is told of again.
        let given = (0..400).find_map(|_| {
            run(&store);
            let given = Some(due(&[])).filter(|given| !given.is_empty());
            if given.is_none() {
                std::thread::sleep(Duration::from_millis(50));
            }
            given
        });
        assert_eq!(counts(&given.unwrap_or_default()), [("a", 5, 1)], "{told:?}");
    }
}
