//! What only the embedded back end shows: its file looked into from outside, the rows it writes, a clock
//! that moves on within one call, and one order of what happens in different conversations.

use super::backend::{Backend, EmbeddedBackend, INDEX_MEMBERS, START_MS, block_on, push_rules};
use super::talk::*;
use im_domain::Error;
use im_domain::limits::HIDDEN_MAX;
use im_domain::message::Ack;
use im_domain::page::{Direction, ResetReason};
use im_domain::revision::{Change, Revision};
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_store::embedded::{Embedded, Environment};
use im_store::native::NativeSqlite;
use im_store::sql::{Row, SqlError, Value};
use im_store::sqlite::Sqlite;
use std::path::Path;
use std::rc::Rc;

#[test]
fn persisted_is_flushed_also_for_a_retry() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    for duplicate in [false, true] {
        let drafts = vec![draft("a", "c", "1", "x")];
        let receipt = block_on(store.append(&actor("a"), drafts, Ack::Persisted)).unwrap().remove(0).unwrap();
        assert_eq!((receipt.ack, receipt.duplicate), (Ack::Persisted, duplicate));
    }
    let count = |statement| backend.raw().query_row(statement, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT flushes FROM store"), 2);
    assert_eq!(count("SELECT count(*) FROM message"), 1);
}

#[test]
fn what_expires_while_a_device_asks_is_told() {
    let backend = EmbeddedBackend::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a"]);
    let start = backend.now();
    let first = send(&store, "a", "c", 1).msg_id;
    send(&store, "a", "c", 2);
    backend.set_clock(start + 2_000);
    let third = send(&store, "a", "c", 3).msg_id;
    // Everything is there at the first look at the clock, and only the third at the next ones.
    backend.set_clock(start + 500);
    let answer = sync(&backend.open_leaping(700), "a", "phone", sync_query("c", Some(first))).unwrap();
    assert_eq!(answer.page.messages.iter().map(|m| m.msg_id).collect::<Vec<_>>(), [third]);
    assert_eq!(answer.page.reset.map(|reset| reset.reason), Some(ResetReason::Expired));
}

#[test]
fn a_purge_ends_when_its_time_is_over_and_the_next_one_goes_on() {
    let backend = EmbeddedBackend::keeping(1_000);
    let store = backend.open_leaping(1);
    for conversation in 0..20 {
        group(&store, &format!("c{conversation}"), &["a"]);
        send(&store, "a", &format!("c{conversation}"), 1);
    }
    backend.advance(2_000);
    let first = block_on(store.run(&[Task::Expire], 20)).unwrap().expired;
    assert!((1..20).contains(&first), "{first}");
    assert_eq!(block_on(store.run(&[Task::Expire], 10_000)).unwrap().expired, 20 - first);
}

#[test]
fn the_trace_of_what_was_taken_back_goes_with_the_message() {
    let backend = EmbeddedBackend::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let mut slip = draft("a", "c", "slip", "a secret");
    slip.ext = Some(im_domain::ext::Ext::parse("{\"n\":1}").unwrap());
    let slip = append(&store, vec![slip]).remove(0).unwrap().msg_id;
    backend.advance(600);
    let kept = send(&store, "b", "c", 1).msg_id;
    for msg_id in [slip, kept] {
        let reason = Some("a slip".to_owned());
        let recall = Revision { conversation: id("c"), msg_id, change: Change::Recall, reason };
        block_on(store.revise(&service("z"), &recall)).unwrap();
    }
    let traces = || {
        let db = backend.raw();
        let columns = "sender, user, role, reason, CAST(content AS TEXT), coalesce(ext, '')";
        let mut statement = db.prepare(&format!("SELECT {columns} FROM revision ORDER BY msg_id")).unwrap();
        let text = |row: &rusqlite::Row<'_>| {
            let role: i64 = row.get(2)?;
            let texts = [0, 1, 3, 4, 5].map(|at| row.get::<_, String>(at));
            Ok((texts.map(Result::unwrap).join(" "), role))
        };
        statement.query_map([], text).unwrap().map(Result::unwrap).collect::<Vec<_>>()
    };
    let expected = [("a z a slip a secret {\"n\":1}".to_owned(), 0), ("b z a slip message 1 ".to_owned(), 0)];
    assert_eq!(traces(), expected);
    backend.advance(600);
    assert_eq!(block_on(store.run(&[Task::Expire], 1_000)).unwrap().expired, 1);
    // Who has done what and why stays, and what was said goes.
    assert_eq!(traces(), [("a z a slip  ".to_owned(), 0), expected[1].clone()]);
}

#[test]
fn who_waits_only_for_what_was_taken_back_is_not_due_before_the_rest_is() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let start = backend.now();
    let mut ids = Vec::new();
    for n in 0..7 {
        ids.push(send(&store, "a", "c", n).msg_id);
        backend.advance(1_000);
    }
    for at in [0, 3, 6] {
        revise(&store, &actor("a"), "c", ids[at], Change::Recall).unwrap();
    }
    let due = || block_on(store.push_due(&actor("a").tenant, 10, &[])).unwrap();
    assert_eq!(due(), [], "four of five");
    backend.set_clock(start + 300_999);
    assert_eq!(due(), [], "the first was taken back");
    backend.set_clock(start + 301_000);
    let given = due();
    assert_eq!((given.len(), given[0].messages, given[0].oldest_time_ms), (1, 4, start + 1_000));
}

#[test]
fn a_schema_of_a_newer_version_is_refused() {
    let backend = EmbeddedBackend::new();
    drop(backend.open());
    backend.raw().execute_batch("PRAGMA user_version = 999").unwrap();
    let refusal = backend.try_open().err();
    assert!(matches!(&refusal, Some(Error::Internal { reason }) if reason.contains("999")), "{refusal:?}");
}

#[test]
fn a_run_of_the_drain_alone_leaves_no_trace() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    let tenant = actor("a").tenant;
    let last_run = || block_on(store.status(&tenant)).unwrap().last_run;
    block_on(store.run(&[Task::Drain], 1_000)).unwrap();
    assert_eq!(last_run(), None);
    block_on(store.run(&[Task::Drain, Task::Expire], 1_000)).unwrap();
    assert!(last_run().is_some());
}

#[test]
fn within_one_millisecond_the_list_is_in_the_order_of_what_happened() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    let made: Vec<String> = (0..60).map(|n| format!("c{n}")).collect();
    made.iter().for_each(|name| group(&store, name, &["a"]));
    let listed = || {
        let list = block_on(store.list(&actor("a"), "", 100)).unwrap().conversations;
        list.into_iter().map(|c| c.id.to_string()).rev().collect::<Vec<_>>()
    };
    assert_eq!(listed(), made);
    let mut written = made.clone();
    written.reverse();
    written.iter().enumerate().for_each(|(n, name)| drop(send(&store, "a", name, n)));
    assert_eq!(listed(), written);
}

/// A connection that the test looks at, too.
#[derive(Clone)]
struct Shared(Rc<NativeSqlite>);

impl Sqlite for Shared {
    fn execute(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        self.0.execute(statement, parameters)
    }
}

impl Shared {
    /// Rows that have been written, all in all.
    fn rows_written(&self) -> i64 {
        self.execute("SELECT total_changes()", Vec::new()).unwrap().remove(0).int().unwrap()
    }
}

#[test]
fn a_message_to_a_large_group_writes_no_more_than_one_to_a_chat() {
    let db = Shared(Rc::new(NativeSqlite::open(Path::new(":memory:")).unwrap()));
    let environment = Environment {
        now_ms: Box::new(|| START_MS),
        random: Box::new(rand::random),
        retention: im_domain::retention::RetentionRules::default(),
        revision: im_domain::revision::RevisionRules::default(),
        tier: im_domain::tier::TierRules::default(),
        push: push_rules(),
        index_members_max: INDEX_MEMBERS,
    };
    let store = Embedded::open(db.clone(), environment).unwrap();
    let names: Vec<String> = (0..9_999).map(|n| format!("u{n}")).collect();
    let large: Vec<&str> = ["a"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let rows_of_a_message = |conversation: &str, members: &[&str]| {
        group(&store, conversation, members);
        send(&store, "a", conversation, 1);
        let before = db.rows_written();
        send(&store, "a", conversation, 2);
        db.rows_written() - before
    };
    // The message, the head, the counters; the members, or of a large group the sender alone.
    assert_eq!(rows_of_a_message("chat", &["a", "b"]), 3 + 2);
    assert_eq!(rows_of_a_message("large", &large), 3 + 1);
    let told = global(&store, "u9998", None, "", 10).unwrap().changed;
    assert_eq!((told.len(), told[0].head_seq, told[0].unread), (1, 2, 2));
}

/// Pushes to a large group are made ready in several calls, and none of its members is left out.
#[test]
fn every_member_of_a_large_group_is_woken_in_the_end() {
    const MEMBERS: usize = 2_500;
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    let names: Vec<String> = (0..MEMBERS).map(|n| format!("u{n}")).collect();
    let members: Vec<&str> = ["a"].into_iter().chain(names.iter().map(String::as_str)).collect();
    group(&store, "large", &members);
    group(&store, "chat", &["a", "u7"]);
    append(&store, (0..5).map(|n| draft("a", "large", &n.to_string(), "x")).collect());
    let mut woken = std::collections::BTreeSet::new();
    let mut confirmed = Vec::new();
    for call in 0..60 {
        if call == 1 {
            // Nobody who was marked before misses what is said between two calls, or gets it twice.
            append(&store, vec![draft("a", "large", "late", "x"), draft("a", "chat", "late", "x")]);
        }
        let due = block_on(store.push_due(&actor("a").tenant, 100, &confirmed)).unwrap();
        assert!(due.iter().all(|due| woken.insert(due.user.clone())), "somebody is given twice");
        confirmed = due.into_iter().map(|due| due.lease_id).collect();
    }
    assert_eq!(woken.len(), MEMBERS);
    backend.advance(300_000);
    let mut late = 0;
    while let due @ [_, ..] = &block_on(store.push_due(&actor("a").tenant, 100, &confirmed)).unwrap()[..] {
        assert!(due.iter().all(|due| due.messages == 1));
        late += due.len();
        confirmed = due.iter().map(|due| due.lease_id.clone()).collect();
    }
    // Those who were given before the last message came.
    assert_eq!(late, 100);
}

#[test]
fn so_many_are_hidden_in_a_conversation_and_no_more() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..4).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let fill = format!(
        "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < {HIDDEN_MAX} - 2)
        INSERT INTO hidden SELECT cid, 'b', n, 0 FROM conversation, t"
    );
    backend.raw().execute_batch(&fill).unwrap();
    let hide =
        |name: &str, ids: &[im_domain::MsgId]| block_on(store.hide(&actor(name), &id("c"), ids)).unwrap();
    let outcome = hide("b", &ids[..3]);
    assert_eq!(outcome[..2], [Ok(()), Ok(())]);
    assert!(matches!(&outcome[2], Err(Error::Conflict { field, .. }) if field == "msgIds"), "{outcome:?}");
    assert_eq!(hide("b", &ids[..2]), [Ok(()), Ok(())], "they are already");
    assert_eq!(hide("a", &ids[3..]), [Ok(())], "each user has as many");
    let left: Vec<_> =
        walk(&store, "b", "c", 1, Direction::Down).iter().map(|message| message.msg_id).collect();
    assert_eq!(left, ids[2..]);
}

/// A store of the first version, with what was said in it.
fn old_store() -> EmbeddedBackend {
    let backend = EmbeddedBackend::keeping(0);
    let db = backend.raw();
    db.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    db.execute_batch(include_str!("../../migrations/sqlite/0001_messages.sql")).unwrap();
    db.execute_batch(
        "PRAGMA user_version = 1;
        INSERT INTO migration VALUES (1, 'messages', 0);
        INSERT INTO store (id, epoch, epoch_since, clock_ms) VALUES (1, 'old', 0, 1704067200005);
        INSERT INTO conversation VALUES
            (1, 'acme', 'later', 2, 0, 2, 50331648, 6, 5, 2, 900, 1704067200000, 1704067200005),
            (2, 'acme', 'wide', 2, 0, 7, 41943040, 1, 1, 0, 500, 1704067200000, 1704067200004),
            (3, 'acme', 'newest', 2, 0, 1, 0, 0, 0, 0, 950, 1704067200000, 1704067200005);
        INSERT INTO member (cid, user, tenant, role, floor, own, read_msg_id, read_countable) VALUES
            (1, 'a', 'acme', 1, 0, 3, 0, 0), (1, 'b', 'acme', 3, 0, 2, 0, 0), (3, 'a', 'acme', 1, 0, 0, 0, 0);
        INSERT INTO member (cid, user, tenant, role, floor, read_msg_id, read_countable)
            SELECT 2, value, 'acme', 3, 0, 0, 0 FROM json_each('[\"a\",\"b\",\"1\",\"2\",\"3\",\"4\",\"5\"]');
        -- Of six, the first two are gone; the fourth is silent.
        INSERT INTO message (cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind, content)
            VALUES
            (1, 25165824, 3, 3, 'a', '3', x'', 1, x'33'), (1, 33554432, 4, 3, 'b', '4', x'', 1, x'34'),
            (1, 41943040, 5, 4, 'b', '5', x'', 1, x'35'), (1, 50331648, 6, 5, 'a', '6', x'', 1, x'36'),
            (2, 41943040, 1, 1, 'b', '1', x'', 1, x'31');
        INSERT INTO position VALUES (1, 'a', 'phone', 25165824, 3, 1704067200003),
            (1, 'gone', 'phone', 25165824, 3, 1704067200003);",
    )
    .unwrap();
    backend
}

#[test]
fn a_store_of_the_first_version_is_brought_up_to_date_with_what_it_holds() {
    let backend = old_store();
    let store = backend.open();
    assert_eq!(listed(&store, "a", 2), ["newest", "later", "wide"]);
    let told = global(&store, "a", None, "", 10).unwrap();
    assert_eq!(told.changed.len(), 3);
    let unread = |name: &str, of: &str| conversation(&store, name, of).unread;
    // What is gone is not unread.
    assert_eq!((unread("a", "later"), unread("b", "later"), unread("a", "wide")), (1, 2, 1));
    let fifth = im_domain::MsgId::new(41_943_040).unwrap();
    assert_eq!(read(&store, "b", "later", fifth).unwrap().unread, 1);
    let devices = |name: &str| block_on(store.devices(&actor(name), None)).unwrap();
    assert_eq!((devices("a").len(), devices("a")[0].last_seen_ms), (1, 1_704_067_200_003));
    assert_eq!(sync(&store, "a", "phone", sync_query("later", None)).unwrap().page.messages.len(), 3);
    block_on(store.devices(&actor("gone"), Some(&im_domain::DeviceId::parse("phone").unwrap()))).unwrap();
    let positions = "SELECT count(*) FROM position";
    assert_eq!(backend.raw().query_row(positions, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    // Nobody is woken for what was said before.
    backend.advance(1_000_000);
    assert_eq!(block_on(store.push_due(&actor("a").tenant, 10, &[])).unwrap(), []);
    assert_eq!(send(&store, "b", "later", 7).seq, 7);
    send(&store, "b", "wide", 7);
    assert_eq!((unread("a", "later"), unread("a", "wide")), (2, 2));
    let news = global(&store, "a", None, &told.cursor, 10).unwrap().changed;
    assert_eq!(news.iter().map(|one| one.conversation.as_str()).collect::<Vec<_>>(), ["later", "wide"]);
    assert_eq!(listed(&store, "a", 2), ["wide", "later", "newest"]);
    backend.advance(300_000);
    assert!(!block_on(store.push_due(&actor("a").tenant, 10, &[])).unwrap().is_empty());
}
