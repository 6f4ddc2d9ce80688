//! What is left of messages that were purged: of what they said nothing, neither in SQL nor in Redis; of who has
//! revised them, when and why, all. A purge that ends in the middle is made again and comes to the same.

use super::backend::{Backend, EmbeddedBackend, block_on};
use super::retention::{hold, keep, purge};
use super::talk::*;
use super::tiered::{Mode, TieredBackend, in_every_mode};
use crate::servers::postgres::query_at;
use crate::servers::redis::command_at;
use im_domain::page::Direction;
use im_domain::retention::KeepFor;
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_segment::Record;
use im_store::arguments;
use im_store::redis::Value;

in_every_mode!(
    no_text_of_a_purged_message_is_left_and_its_trace_is,
    a_hold_is_in_the_audit_once,
    a_purge_that_fails_in_the_middle_is_made_again,
    what_sql_does_not_have_yet_is_not_purged,
    many_conversations_and_many_messages_are_purged_by_one_run,
);

const KEPT_MS: u64 = 10_000;

/// Keys of a Redis server that hold a text.
const HOLDING: &str = "
    local function values(key)
        local kind = redis.call('TYPE', key).ok
        if kind == 'hash' then return redis.call('HGETALL', key) end
        if kind == 'stream' then
            local all = {}
            for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do
                for _, part in ipairs(entry[2]) do all[#all + 1] = part end
            end
            return all
        end
        return kind == 'string' and { redis.call('GET', key) } or {}
    end
    local out = {}
    for _, key in ipairs(redis.call('KEYS', '*')) do
        for _, value in ipairs(values(key)) do
            if string.find(value, ARGV[1], 1, true) then out[#out + 1] = key end
        end
    end
    return out";

fn in_redis<M: Mode>(backend: &TieredBackend<M>, text: &str) -> Vec<Value> {
    let ask = |url: &String| command_at(url, "EVAL", arguments![HOLDING, "0", text]).unwrap();
    backend.redis_urls().iter().flat_map(ask).collect()
}

/// A sum over all databases.
fn in_sql<M: Mode>(backend: &TieredBackend<M>, count: &str) -> u64 {
    let ask = |url: &String| query_at(url, count, Vec::new()).unwrap()[0].count().unwrap();
    backend.postgres_urls().iter().map(ask).sum()
}

/// Messages in rows and in segments.
fn stored<M: Mode>(backend: &TieredBackend<M>) -> usize {
    let rows = in_sql(backend, "SELECT count(*) FROM message");
    usize::try_from(rows).unwrap() + backend.packed().len()
}

/// Rows and messages of segments that hold a text.
fn texts<M: Mode>(backend: &TieredBackend<M>) -> usize {
    let holds = |record: &Record| String::from_utf8_lossy(&record.content).contains("secret");
    let packed = backend.packed().iter().filter(|record| holds(record)).count();
    usize::try_from(in_sql(backend, TEXTS)).unwrap() + packed
}

const TEXTS: &str = "
    SELECT (SELECT count(*) FROM message WHERE position('secret'::bytea IN content) > 0)
        + (SELECT count(*) FROM revision WHERE position('secret'::bytea IN content) > 0 OR ext IS NOT NULL
            OR kept IS NOT NULL OR countable > 0)";
const TRACES: &str = "
    SELECT count(*) FROM revision WHERE user_id = 'a' AND role > 0 AND time > 0 AND length(reason) > 0
        AND control_msg_id > 0";

/// Messages with and without a past, all of which say something secret.
fn secrets(store: &impl Storage) {
    let say = |n: &str, content: &str| append(store, vec![draft("a", "c", n, content)]).remove(0).unwrap();
    let slip = say("1", "secret 1").msg_id;
    revise(store, &actor("a"), "c", slip, edit_to("secret 2")).unwrap();
    revise(store, &actor("a"), "c", slip, Change::Recall).unwrap();
    let edited = say("2", "secret 3").msg_id;
    revise(store, &actor("a"), "c", edited, edit_to("secret 4")).unwrap();
    say("3", "secret 5");
}

fn no_text_of_a_purged_message_is_left_and_its_trace_is<M: Mode>() {
    let backend = TieredBackend::<M>::keeping(KEPT_MS);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    secrets(&store);
    block_on(store.drain());
    assert!(texts(&backend) > 0);
    backend.advance(KEPT_MS / 2);
    send(&store, "b", "c", 1);
    backend.advance(KEPT_MS / 2 + 1_000);
    // Three that were sent, and three that tell of revisions.
    assert_eq!((purge(&store), purge(&store)), (6, 0));
    assert_eq!((stored(&backend), texts(&backend), in_sql(&backend, TRACES)), (1, 0, 3));
    assert_eq!(in_redis(&backend, "secret"), []);
    let left = walk(&store, "a", "c", 10, Direction::Down);
    assert_eq!((left.len(), left[0].seq, conversation(&store, "a", "c").unread), (1, 7, 1));
    backend.advance(KEPT_MS);
    assert_eq!((purge(&store), in_redis(&backend, "message 1").len()), (1, 0));
    assert_eq!(walk(&store, "a", "c", 10, Direction::Up), []);
    assert_eq!(send(&store, "b", "c", 2).seq, 8);
    assert_eq!(walk(&store, "a", "c", 10, Direction::Up).len(), 1);
}

fn a_hold_is_in_the_audit_once<M: Mode>() {
    let backend = TieredBackend::<M>::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    for held in [true, true, false, true] {
        backend.advance(1_000);
        update(&store, &service("root"), "c", hold(held)).unwrap();
    }
    let rows = "
        SELECT count(*) FROM audit WHERE tenant = 'acme' AND user_id = 'root' AND conversation = 'c' AND time > 0
            AND action = ";
    let count = |action: &str| in_sql(&backend, &format!("{rows}'{action}'"));
    assert_eq!((count("legal_hold"), count("legal_hold_lifted")), (2, 1));
}

fn a_purge_that_fails_in_the_middle_is_made_again<M: Mode>() {
    let backend = TieredBackend::<M>::keeping(KEPT_MS);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    secrets(&store);
    backend.advance(KEPT_MS / 2);
    send(&store, "b", "c", 1);
    block_on(store.drain());
    backend.advance(KEPT_MS / 2 + 1_000);
    let change = |statement: &str| {
        backend.postgres_urls().iter().for_each(|url| drop(query_at(url, statement, Vec::new()).unwrap()));
    };
    // What is in segments goes first, and by a statement of its own.
    let packed = backend.packed().len();
    change("ALTER TABLE revision ADD CONSTRAINT stuck CHECK (length(content) > 0) NOT VALID");
    assert!(block_on(store.run(&[Task::Drain, Task::Expire], 10_000)).is_err());
    let seen = || walk(&store, "a", "c", 10, Direction::Down).len();
    assert_eq!((stored(&backend), seen(), conversation(&store, "a", "c").unread), (7 - packed, 1, 1));
    change("ALTER TABLE revision DROP CONSTRAINT stuck");
    assert_eq!((purge(&store), purge(&store)), (6 - packed as u64, 0));
    assert_eq!((texts(&backend), in_redis(&backend, "secret"), seen()), (0, vec![], 1));
}

fn what_sql_does_not_have_yet_is_not_purged<M: Mode>() {
    let backend = TieredBackend::<M>::keeping(KEPT_MS);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let old = send(&store, "a", "c", 1).msg_id;
    block_on(store.drain());
    revise(&store, &actor("a"), "c", old, edit_to("edited")).unwrap();
    send(&store, "a", "c", 2);
    backend.advance(KEPT_MS + 1);
    // Without a drain: what is in the log alone stays, and comes to SQL by the next one.
    block_on(store.run(&[Task::Expire], 10_000)).unwrap();
    assert_eq!(walk(&store, "b", "c", 10, Direction::Down), []);
    purge(&store);
    assert_eq!(
        (stored(&backend), in_redis(&backend, "edited"), in_redis(&backend, "message 2")),
        (0, vec![], vec![])
    );
    // What Redis has been told, and SQL has not.
    let young = send(&store, "a", "c", 3).msg_id;
    block_on(store.drain());
    backend.advance(KEPT_MS + 1);
    update(&store, &actor("a"), "c", keep(KeepFor::Ms(0))).unwrap();
    block_on(store.run(&[Task::Expire], 10_000)).unwrap();
    assert_eq!(get(&store, "b", "c", &[young]).unwrap().messages.len(), 1);
}

fn many_conversations_and_many_messages_are_purged_by_one_run<M: Mode>() {
    let backend = TieredBackend::<M>::keeping(KEPT_MS);
    let store = backend.open();
    for n in 0..120 {
        let name = format!("c{n}");
        let count = if n == 7 { 25 } else { 1 };
        group(&store, &name, &["a"]);
        append(&store, (0..count).map(|n| draft("a", &name, &n.to_string(), "x")).collect());
    }
    block_on(store.drain());
    backend.advance(KEPT_MS + 1);
    assert_eq!((purge(&store), purge(&store), stored(&backend)), (144, 0, 0));
    let to_look_at = "SELECT count(*) FROM conversation WHERE oldest_msg_id IS NOT NULL";
    assert_eq!(in_sql(&backend, to_look_at), 0);
}

#[test]
fn a_hold_is_in_the_audit_of_the_embedded_store_once() {
    let backend = EmbeddedBackend::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    for held in [true, true, false] {
        update(&store, &service("root"), "c", hold(held)).unwrap();
    }
    let db = backend.raw();
    let rows = "SELECT group_concat(action, ' ') FROM audit WHERE user = 'root' AND conversation = 'c'";
    let found: String = db.query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(found, "legal_hold legal_hold_lifted");
}
