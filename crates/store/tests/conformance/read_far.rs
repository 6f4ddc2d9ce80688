//! Read positions far back: exact, and found by looking at a bounded part of what was said, as it is seen at the ports.

use super::backend::block_on;
use super::site::{Site, drain};
use super::talk::*;
use super::watched::watched;
use crate::servers::postgres::query_at;
use im_domain::message::Ack;
use im_domain::storage::Storage;
use im_store::sql::Value;

/// How many rows a statement looks at, at the most, in one step of its plan.
fn rows_looked_at(database: &str, statement: &str, parameters: Vec<Value>) -> u64 {
    let explain = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {statement}");
    let number = |text: &str, what: &str| {
        let (_, rest) = text.split_once(what)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    let lines = query_at(database, &explain, parameters).unwrap();
    let seen = lines.into_iter().map(|mut row| {
        let line = row.text().unwrap();
        let removed = number(&line, "Rows Removed by Filter: ").unwrap_or(0);
        removed.max(number(&line, "actual rows=").unwrap_or(0))
    });
    seen.max().unwrap()
}

#[test]
fn a_read_position_far_back_looks_at_what_was_read_and_not_at_all_that_came_since() {
    const MESSAGES: usize = 2_000;
    let site = Site::new(1, 1);
    let (store, watch) = watched(&site);
    group(&store, "c", &["a", "b", "quiet"]);
    let mut ids = Vec::new();
    for part in 0..MESSAGES / 100 {
        let one = |n| draft(if n % 2 == 0 { "a" } else { "b" }, "c", &format!("{part}-{n}"), "x");
        let service = service("service");
        let receipts = block_on(store.append(&service, (0..100).map(one).collect(), Ack::Accepted)).unwrap();
        ids.extend(receipts.into_iter().map(|receipt| receipt.unwrap().msg_id));
    }
    drain(&store);
    site.evict();
    *watch.wanted.borrow_mut() = "WITH place AS MATERIALIZED".to_owned();
    // Who has said nothing has nothing to look for, wherever it reads to; others look at the shorter side.
    for (name, at, said) in [("quiet", 1_000, 2), ("a", 20, 0), ("b", 1_979, 1), ("a", 40, 0)] {
        let unread = (at + 1..MESSAGES).filter(|n| n % 2 != said).count() as u64;
        assert_eq!(read(&store, name, "c", ids[at]).unwrap().unread, unread, "{name}");
        let (statement, parameters) = watch.found.borrow_mut().take().unwrap();
        let looked = rows_looked_at(&site.databases[0].url(), &statement, parameters);
        assert!(looked <= 25, "{name}: {looked} rows");
    }
}

/// So much waits for SQL only when that is far behind.
#[test]
fn a_read_position_far_back_in_what_sql_does_not_have_is_found() {
    let site = Site::new(1, 1);
    let (store, _) = watched(&site);
    group(&store, "c", &["a", "b"]);
    let first = send(&store, "b", "c", 0).msg_id;
    for part in 0..205 {
        let one = |n| draft(if n == 0 { "a" } else { "b" }, "c", &format!("{part}-{n}"), "x");
        block_on(store.append(&service("service"), (0..100).map(one).collect(), Ack::Accepted)).unwrap();
    }
    assert_eq!(read(&store, "a", "c", first).unwrap().unread, 205 * 99);
    assert_eq!(read(&store, "b", "c", first).unwrap().unread, 205);
}
