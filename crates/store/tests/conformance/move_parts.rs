//! A move of a partition takes steps of bounded size, whatever the partition has, as it is seen at the ports.

use super::backend::block_on;
use super::site::{Site, drain, engine_on};
use super::talk::*;
use super::watched::watched;
use crate::servers::postgres::query_at;
use im_domain::message::Ack;
use im_domain::page::Direction;
use im_domain::partition::partition_of;
use im_domain::storage::Storage;
use im_store::tiered::HotDurability::Everysec;
use im_store::tiered::rebalance::{declare, move_partitions, place_of};

/// Rows and bytes of one step, as `tiered/limits.rs` has them.
const ROWS_MAX: u64 = 1_000;
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A site of one Redis and two databases, of which the second is not used yet, and a conversation whose partition
/// is to move there, with messages that SQL has.
fn about_to_move(messages: usize) -> (Site, String) {
    let site = Site::new(1, 2);
    let store = engine_on(&site.redis_urls(), &site.postgres_urls()[..1], Everysec);
    let will_move = |name: &String| place_of(partition_of(&actor("a").tenant, &id(name)), 2) == 1;
    let name = (0..).map(|n| format!("c{n}")).find(will_move).unwrap();
    group(&store, &name, &["a", "b"]);
    for part in 0..messages / 100 {
        let one = |n| draft("a", &name, &format!("{part}-{n}"), "x");
        block_on(store.append(&actor("a"), (0..100).map(one).collect(), Ack::Accepted)).unwrap();
    }
    drain(&store);
    (site, name)
}

/// Takes every message back, each of which said so many bytes.
fn revise_all(database: &str, bytes: usize) {
    let trace = format!(
        "INSERT INTO revision (cid, msg_id, number, action, control_msg_id, user_id, role, time, reason, content)
        SELECT cid, msg_id, 1, 1, msg_id, 'a', 3, 0, '', decode(repeat('ab', {bytes}), 'hex') FROM message"
    );
    query_at(database, &trace, Vec::new()).unwrap();
    query_at(database, "UPDATE message SET status = 1, content = ''", Vec::new()).unwrap();
}

#[test]
fn a_move_copies_what_was_taken_back_in_parts_of_bounded_size() {
    const BYTES: usize = 60_000;
    let (site, _) = about_to_move(300);
    revise_all(&site.databases[0].url(), BYTES);
    let (steps, watch) = watched(&site);
    block_on(declare(&steps, 2)).unwrap();
    block_on(move_partitions(&steps, |_| {})).unwrap();
    // As JSON each byte takes two.
    let most = 2 * (BYTES_MAX + BYTES) + 1_000_000;
    assert!(watch.text_bytes_max.get() <= most, "{} bytes", watch.text_bytes_max.get());
    let count = "SELECT count(*) FROM revision WHERE length(content) = 60000";
    let rows = &mut query_at(&site.databases[1].url(), count, Vec::new()).unwrap();
    assert_eq!(rows[0].count().unwrap(), 300);
}

#[test]
fn a_move_takes_back_what_it_has_copied_in_parts_of_bounded_size() {
    const MESSAGES: usize = 2_300;
    let (site, name) = about_to_move(MESSAGES);
    let (steps, watch) = watched(&site);
    block_on(declare(&steps, 2)).unwrap();
    let (old, new) = (site.databases[0].url(), site.databases[1].url());
    for statement in [
        "CREATE TABLE noted (rows bigint)",
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO noted SELECT count(*) FROM changed; RETURN NULL; END'",
        "CREATE TRIGGER noting AFTER UPDATE ON message REFERENCING NEW TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION note()",
    ] {
        query_at(&new, statement, Vec::new()).unwrap();
    }
    // Everything is taken back once the messages are copied, before the old database lets go of them.
    let (from, to) = (old.clone(), new.clone());
    *watch.before.borrow_mut() = Some(Box::new(move |statement| {
        let (from, to) = (from.clone(), to.clone());
        let lets_go = statement.contains("SET home = 0");
        let revise = move || {
            let copied = |url: &str| {
                let rows = &mut query_at(url, "SELECT count(*) FROM message", Vec::new()).unwrap();
                rows[0].count().unwrap()
            };
            let is_done = "SELECT 1 FROM revision LIMIT 1";
            if copied(&to) > 0 && query_at(&from, is_done, Vec::new()).unwrap().is_empty() {
                revise_all(&from, 1);
            }
        };
        if lets_go {
            std::thread::spawn(revise).join().unwrap();
        }
    }));
    block_on(move_partitions(&steps, |_| {})).unwrap();
    let noted = "SELECT max(rows), sum(rows)::bigint FROM noted";
    let row = &mut query_at(&new, noted, Vec::new()).unwrap()[0];
    let (most, all) = (row.count().unwrap(), row.count().unwrap());
    assert_eq!(all, MESSAGES as u64);
    assert!(most <= ROWS_MAX, "{most} rows at once");
    let store = engine_on(&site.redis_urls(), &site.postgres_urls(), Everysec);
    site.evict();
    let messages = walk(&store, "b", &name, 100, Direction::Down);
    assert!(messages.len() == MESSAGES && messages.iter().all(|message| message.content.is_empty()));
}
