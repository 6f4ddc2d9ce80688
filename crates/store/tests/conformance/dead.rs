//! What SQL cannot take is set aside and holds nobody up; an operator sees it, puts it back or drops it.

use super::backend::{Backend, block_on};
use super::talk::*;
use super::tiered::{Hot, TieredBackend};
use crate::servers::postgres::query_at;
use crate::servers::redis::command_at;
use im_domain::message::Status;
use im_domain::page::Direction;
use im_domain::partition::partition_of;
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::upkeep::{DeadLetter, DeadLetterAction, Task};
use im_domain::{MsgId, Tenant};
use im_store::arguments;

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn letters(store: &impl Storage, tenant_name: &str, action: DeadLetterAction) -> Vec<DeadLetter> {
    block_on(store.dead_letters(&tenant(tenant_name), action, 100)).unwrap()
}

fn run(store: &impl Storage) -> (u64, u64, u64) {
    let report = block_on(store.run(&[Task::Drain], 10_000)).unwrap();
    (report.drained, report.dead_lettered, report.backlog)
}

fn in_sql(backend: &TieredBackend<Hot>) -> u64 {
    let mut rows = query_at(&backend.postgres_url(), "SELECT count(*) FROM message", Vec::new()).unwrap();
    rows[0].count().unwrap()
}

const POISON: &str =
    "ALTER TABLE message ADD CONSTRAINT poison CHECK (position('poison'::bytea IN content) = 0)";
const HEAL: &str = "ALTER TABLE message DROP CONSTRAINT poison";

#[test]
fn a_row_that_sql_refuses_is_set_aside_and_can_be_put_back() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    run(&store);
    query_at(&backend.postgres_url(), POISON, Vec::new()).unwrap();
    let mut ids = Vec::new();
    for n in 0..50 {
        let text = if n == 17 { "poison" } else { "harmless" };
        ids.push(append(&store, vec![draft("a", "c", &n.to_string(), text)]).remove(0).unwrap().msg_id);
    }
    assert_eq!(run(&store), (49, 1, 0));
    assert_eq!(block_on(store.status(&tenant("acme"))).unwrap().dead_letters, 1);
    assert_eq!(letters(&store, "other", DeadLetterAction::Show), []);
    assert_eq!(letters(&store, "other", DeadLetterAction::Drop), []);
    let shown = letters(&store, "acme", DeadLetterAction::Show);
    assert_eq!(
        (shown.len(), shown[0].msg_id, shown[0].conversation.clone()),
        (1, Some(ids[17]), Some(id("c")))
    );
    assert!(shown[0].error.contains("poison"), "{shown:?}");
    // Put back too early it comes back.
    letters(&store, "acme", DeadLetterAction::Replay);
    assert_eq!(run(&store), (0, 1, 0));
    query_at(&backend.postgres_url(), HEAL, Vec::new()).unwrap();
    assert_eq!(letters(&store, "acme", DeadLetterAction::Replay).len(), 1);
    assert_eq!(run(&store), (1, 0, 0));
    assert_eq!((in_sql(&backend), letters(&store, "acme", DeadLetterAction::Show)), (50, vec![]));
    backend.forget("im:{*}:[hgomk]:*");
    let walked: Vec<MsgId> =
        walk(&store, "b", "c", 20, Direction::Down).iter().map(|message| message.msg_id).collect();
    assert_eq!(walked, ids);
    assert_eq!(block_on(store.conversation(&actor("b"), &id("c"))).unwrap().unread, 50);
}

#[test]
fn what_is_no_entry_is_set_aside_at_once_and_can_only_be_dropped() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let log = format!("im:{{{}}}:log", partition_of(&tenant("acme"), &id("c")));
    for fields in [["v", "garbage"], ["v", "m\n1\n1\n"], ["other", "field"]] {
        let entry = arguments![log.as_str(), "*", fields[0], fields[1]];
        command_at(backend.redis_url(), "XADD", entry).unwrap();
        send(&store, "a", "c", fields[1].len());
    }
    assert_eq!(run(&store), (3, 3, 0));
    assert_eq!(run(&store), (0, 0, 0));
    let shown = letters(&store, "acme", DeadLetterAction::Show);
    assert!(shown.iter().all(|letter| letter.conversation.is_none()) && shown.len() == 3, "{shown:?}");
    assert_eq!(letters(&store, "acme", DeadLetterAction::Replay), []);
    assert_eq!(letters(&store, "acme", DeadLetterAction::Drop).len(), 3);
    assert_eq!(block_on(store.status(&tenant("acme"))).unwrap().dead_letters, 0);
}

fn recall(store: &impl Storage, msg_id: MsgId) {
    revise(store, &actor("a"), "c", msg_id, Change::Recall).unwrap();
}

/// Whether a message is taken back before its dead letter is put back, or while that waits in the log.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    RecalledThenPutBack,
    PutBackThenRecalled,
}

#[test]
fn a_dead_letter_that_was_taken_back_comes_back_without_its_text() {
    for order in [Order::RecalledThenPutBack, Order::PutBackThenRecalled] {
        let backend = TieredBackend::<Hot>::new();
        let store = backend.open();
        group(&store, "c", &["a", "b"]);
        run(&store);
        query_at(&backend.postgres_url(), POISON, Vec::new()).unwrap();
        let before = send(&store, "a", "c", 0).msg_id;
        let slip = append(&store, vec![draft("a", "c", "slip", "poison")]).remove(0).unwrap().msg_id;
        read(&store, "a", "c", slip).unwrap();
        let after = send(&store, "b", "c", 0).msg_id;
        assert_eq!(run(&store), (2, 1, 0));
        query_at(&backend.postgres_url(), HEAL, Vec::new()).unwrap();
        if order == Order::RecalledThenPutBack {
            recall(&store, slip);
            run(&store);
        }
        assert_eq!(letters(&store, "acme", DeadLetterAction::Replay).len(), 1);
        if order == Order::PutBackThenRecalled {
            recall(&store, slip);
        }
        run(&store);
        let unread = |name: &str| conversation(&store, name, "c").unread;
        assert_eq!((unread("a"), unread("b")), (1, 1));
        block_on(store.evict());
        assert_eq!((unread("a"), unread("b")), (1, 1));
        let walked = walk(&store, "b", "c", 20, Direction::Down);
        let shown: Vec<_> = walked.iter().map(|one| (one.msg_id, one.status)).take(3).collect();
        let (normal, recalled) = (Status::Normal, Status::Recalled);
        assert_eq!(shown, [(before, normal), (slip, recalled), (after, normal)]);
        assert_eq!((walked.len(), walked[1].content.as_str()), (4, ""));
        let trace = "SELECT count(*), max(convert_from(content, 'UTF8')) FROM revision";
        let row = &mut query_at(&backend.postgres_url(), trace, Vec::new()).unwrap()[0];
        assert_eq!((row.count().unwrap(), row.text().unwrap().as_str()), (1, "poison"));
        send(&store, "a", "c", 1);
        assert_eq!((unread("a"), unread("b")), (1, 2));
    }
}

#[test]
fn what_is_known_of_a_dropped_letter_that_was_taken_back_expires_with_the_rest() {
    let backend = TieredBackend::<Hot>::keeping(10_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    run(&store);
    query_at(&backend.postgres_url(), POISON, Vec::new()).unwrap();
    let slip = append(&store, vec![draft("a", "c", "slip", "poison")]).remove(0).unwrap().msg_id;
    run(&store);
    recall(&store, slip);
    run(&store);
    assert_eq!(letters(&store, "acme", DeadLetterAction::Drop).len(), 1);
    let traces = || {
        let counts =
            "SELECT count(*), count(*) FILTER (WHERE countable > 0 OR kept IS NOT NULL) FROM revision";
        let row = &mut query_at(&backend.postgres_url(), counts, Vec::new()).unwrap()[0];
        (row.count().unwrap(), row.count().unwrap())
    };
    for (wait, expected) in [(0, (1, 1)), (20_000, (1, 0))] {
        backend.advance(wait);
        block_on(store.run(&[Task::Expire], 10_000)).unwrap();
        assert_eq!(traces(), expected);
    }
}
