//! A user in very many large groups, which are looked up: no call grows with them, as it is seen at the ports, and
//! nothing is lost where one becomes several.

use super::backend::{INDEX_MEMBERS, block_on};
use super::site::{Site, drain, engine_on};
use super::talk::*;
use super::watched::watched;
use im_domain::storage::Storage;
use im_store::tiered::HotDurability::Everysec;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Conversations that one call asks about, and keys of each: as `tiered/limits.rs` and `views.lua` have them.
const VIEWS_MAX: usize = 500;
const KEYS_PER_VIEW: usize = 5;
const GROUPS: usize = VIEWS_MAX + 20;

/// A user "m0" in very many large groups, who knows of all of them.
fn in_many_groups(store: &impl Storage) -> String {
    let names: Vec<String> = (0..=INDEX_MEMBERS).map(|n| format!("m{n}")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    for n in 0..GROUPS {
        group(store, &format!("g{n}"), &members);
    }
    let mut cursor = String::new();
    loop {
        let told = global(store, "m0", None, &cursor, 100).unwrap();
        cursor = told.cursor;
        if !told.has_more {
            return cursor;
        }
    }
}

#[test]
fn a_user_in_very_many_large_groups_is_asked_about_in_parts() {
    let site = Site::new(1, 1);
    let (store, watch) = watched(&site);
    let cursor = in_many_groups(&store);
    send(&store, "m1", "g7", 0);
    drain(&store);
    for is_cold in [false, true] {
        if is_cold {
            site.evict();
        }
        watch.keys_max.set(0);
        watch.array_max.set(0);
        assert_eq!(block_on(store.list(&actor("m0"), "", 20)).unwrap().conversations.len(), 20);
        assert!(!global(&store, "m0", None, &cursor, 100).unwrap().changed.is_empty());
        assert!(watch.keys_max.get() <= VIEWS_MAX * KEYS_PER_VIEW, "{} keys", watch.keys_max.get());
        assert!(watch.array_max.get() <= VIEWS_MAX, "{} names", watch.array_max.get());
    }
}

/// What is said in groups of a part that was asked about already stands below what the other part says.
#[test]
fn nothing_is_lost_that_happens_between_two_parts() {
    let site = Site::new(1, 1);
    let (store, watch) = watched(&site);
    let mut cursor = in_many_groups(&store);
    let (redis, postgres) = (site.redis_urls(), site.postgres_urls());
    let is_said = Cell::new(false);
    *watch.before_script.borrow_mut() = Some(Box::new(move |keys| {
        let (redis, postgres) = (redis.clone(), postgres.clone());
        let say = move || {
            let other = engine_on(&redis, &postgres, Everysec);
            for n in 0..GROUPS {
                send(&other, "m1", &format!("g{n}"), 0);
            }
        };
        if keys == (GROUPS - VIEWS_MAX) * KEYS_PER_VIEW && !is_said.replace(true) {
            std::thread::spawn(say).join().unwrap();
        }
    }));
    let mut named = BTreeSet::new();
    for _ in 0..2 {
        loop {
            let told = global(&store, "m0", None, &cursor, 100).unwrap();
            named.extend(told.changed.into_iter().map(|one| one.conversation.to_string()));
            cursor = told.cursor;
            if !told.has_more {
                break;
            }
        }
    }
    assert_eq!(named.len(), GROUPS);
    assert!(global(&store, "m0", None, &cursor, 100).unwrap().changed.is_empty());
}
