//! What a user has hidden is named when what there is of the user is taken out, so much at a time.

use super::backend::{Backend, EmbeddedBackend, block_on, on_every_back_end};
use super::export::{part, whole};
use super::hidden::hide;
use super::talk::*;
use super::tiered::{Hot, TieredBackend};
use crate::servers::postgres::query_at;
use im_domain::MsgId;
use im_domain::limits::EXPORT_HIDDEN_MAX;
use im_domain::storage::Storage;

on_every_back_end!(what_the_user_has_hidden_is_named);

fn what_the_user_has_hidden_is_named<B: Backend>() {
    let backend = B::keeping(10_000);
    let store = backend.open();
    for name in ["c", "left", "none"] {
        group(&store, name, &["b", "a"]);
    }
    let expired = send(&store, "b", "c", 0).msg_id;
    hide(&store, &actor("a"), "c", &[expired]).unwrap();
    backend.advance(9_000);
    let ids: Vec<MsgId> = (1..4).map(|n| send(&store, "b", "c", n).msg_id).collect();
    let behind = send(&store, "b", "left", 0).msg_id;
    hide(&store, &actor("a"), "c", &[ids[2], ids[0]]).unwrap();
    hide(&store, &actor("b"), "c", &[ids[1]]).unwrap();
    hide(&store, &actor("a"), "left", &[behind]).unwrap();
    change(&store, "left", remove("a"));
    backend.advance(2_000);
    for limit in [1, 10] {
        let all = whole(&store, "a", limit).memberships;
        let hidden: Vec<_> = all
            .iter()
            .map(|one| (one.conversation.as_str(), one.member.is_some(), one.hidden.clone()))
            .collect();
        let expected =
            [("c", true, vec![ids[0], ids[2]]), ("left", false, vec![behind]), ("none", true, vec![])];
        assert_eq!(hidden, expected);
    }
}

/// So many hidden messages that not all conversations are told of by one part, and one has more than a part has.
fn very_much_that_is_hidden(store: &impl Storage, insert: impl Fn(&str, usize)) {
    let counts = [("a1", 4_000), ("a2", 5_000), ("a3", 5_000), ("a4", EXPORT_HIDDEN_MAX + 5), ("a5", 1)];
    for (name, count) in counts {
        group(store, name, &["b", "a"]);
        send(store, "a", name, 0);
        block_on(store.run(&[im_domain::upkeep::Task::Drain], 10_000)).unwrap();
        insert(name, count);
    }
    for limit in [1, 3, 100] {
        let mut seen = Vec::new();
        let mut parts = 0;
        let mut cursor = String::new();
        loop {
            let export = part(store, &service("z"), "a", &cursor, limit).unwrap();
            let hidden: usize = export.memberships.iter().map(|one| one.hidden.len()).sum();
            assert!(hidden <= EXPORT_HIDDEN_MAX || export.memberships.len() == 1);
            seen.extend(
                export.memberships.into_iter().map(|one| (one.conversation.to_string(), one.hidden.len())),
            );
            (cursor, parts) = (export.cursor.to_string(), parts + 1);
            if !export.has_more {
                break;
            }
        }
        assert!(parts >= 4, "{parts}");
        assert_eq!(seen, counts.map(|(name, count)| (name.to_owned(), count)));
    }
}

#[test]
fn very_much_that_is_hidden_comes_in_parts() {
    const INSERT: &str = "
        WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?2)
        INSERT INTO hidden (cid, user, msg_id, counts)
        SELECT c.cid, 'a', n.n, 0 FROM conversation c, n WHERE c.name = ?1";
    let backend = EmbeddedBackend::new();
    very_much_that_is_hidden(&backend.open(), |name, count| {
        backend.raw().execute(INSERT, rusqlite::params![name, count as i64]).unwrap();
    });
}

#[test]
fn very_much_that_is_hidden_comes_in_parts_from_postgresql_too() {
    let backend = TieredBackend::<Hot>::new();
    very_much_that_is_hidden(&backend.open(), |name, count| {
        let insert = format!(
            "INSERT INTO hidden SELECT cid, 'a', n, 0 FROM conversation, generate_series(1, {count}) n
            WHERE name = '{name}'"
        );
        query_at(&backend.postgres_url(), &insert, Vec::new()).unwrap();
    });
}
