//! What messages were before is kept and shown to administrators alone, and whoever looks is noted first. An edit
//! that reaches SQL late, out of the dead letters, takes its place among the others and brings no older text
//! back.

use super::backend::{Backend, EmbeddedBackend, block_on, on_every_back_end};
use super::talk::*;
use super::tiered::{Cold, Hot, Mode, TieredBackend};
use crate::servers::postgres::query_at;
use im_domain::conversation::Role;
use im_domain::message::Status;
use im_domain::revision::{Capacity, Change, Origin, Version};
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::{DeadLetterAction, Task};
use im_domain::{Error, MsgId, Result};

on_every_back_end!(
    every_version_is_kept_with_who_made_it_and_as_whom,
    what_was_never_revised_has_one_version,
    nobody_else_sees_them,
    what_is_not_there_has_no_versions,
);

fn versions(store: &impl Storage, who: &Actor, msg_id: MsgId) -> Result<Vec<Version>> {
    block_on(store.versions(who, &id("c"), msg_id))
}

fn contents(store: &impl Storage, msg_id: MsgId) -> Vec<String> {
    versions(store, &service("z"), msg_id).unwrap().into_iter().map(|version| version.content).collect()
}

fn every_version_is_kept_with_who_made_it_and_as_whom<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["owner", "admin", "a"]);
    change(&store, "c", set_role("admin", Role::Admin));
    let finals = [
        ("a", actor("a"), Change::Recall, Origin::Recall, Capacity::Sender),
        ("owner", actor("owner"), Change::Delete, Origin::Delete, Capacity::Owner),
        ("admin", actor("admin"), Change::Recall, Origin::Recall, Capacity::Admin),
        ("z", service("z"), Change::Delete, Origin::Delete, Capacity::Operator),
    ];
    let mut expected = Vec::new();
    for (n, (by, who, change, origin, capacity)) in finals.into_iter().enumerate() {
        let msg_id = send(&store, "a", "c", n).msg_id;
        let version = |content: &str, edit_time: u64, by: &str, origin, capacity| Version {
            content: content.to_owned(),
            edit_time,
            by: user(by),
            origin,
            capacity,
            reason: (origin != Origin::Send).then(|| "a slip,\nand a NUL: \0".to_owned()),
        };
        let mut all = vec![version(&format!("message {n}"), msg_id.time_ms(), "a", Origin::Send, None)];
        for content in ["once", "", "twice"] {
            let told = revise(&store, &actor("a"), "c", msg_id, edit_to(content)).unwrap().told.unwrap();
            let at = told.msg_id.time_ms();
            all.push(version(content, at, "a", Origin::Edit, Some(Capacity::Sender)));
        }
        let told = revise(&store, &who, "c", msg_id, change).unwrap().told.unwrap();
        all.push(version("", told.msg_id.time_ms(), by, origin, Some(capacity)));
        expected.push((msg_id, all));
    }
    let check = |store: &B::Store| {
        for (msg_id, all) in &expected {
            assert_eq!(versions(store, &service("z"), *msg_id).as_ref(), Ok(all));
        }
    };
    check(&store);
    backend.evict(&store);
    check(&backend.open());
}

fn what_was_never_revised_has_one_version<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let sent = send(&store, "a", "c", 0);
    let found = versions(&store, &service("z"), sent.msg_id).unwrap();
    let [only] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((only.content.as_str(), only.edit_time), ("message 0", sent.create_time));
    assert_eq!((only.origin, only.capacity, only.reason.as_deref()), (Origin::Send, None, None));
}

fn nobody_else_sees_them<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let msg_id = send(&store, "a", "c", 0).msg_id;
    for who in ["a", "b", "z"] {
        assert!(matches!(versions(&store, &actor(who), msg_id), Err(Error::Forbidden { .. })));
    }
}

fn what_is_not_there_has_no_versions<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let msg_id = send(&store, "a", "c", 0).msg_id;
    let told = revise(&store, &actor("a"), "c", msg_id, edit_to("edited")).unwrap().told.unwrap();
    let of_control = versions(&store, &service("z"), told.msg_id);
    assert!(matches!(of_control, Err(Error::Invalid { field, .. }) if field == "msgId"));
    let nowhere = block_on(store.versions(&service("z"), &id("nowhere"), msg_id));
    assert_eq!(nowhere, Err(Error::ConversationNotFound));
    let is_missing = |msg_id: MsgId| {
        let found = versions(&store, &service("z"), msg_id);
        matches!(found, Err(Error::MessageNotFound { field }) if field == "msgId")
    };
    assert!(is_missing(MsgId::new(told.msg_id.number() + 1).unwrap()) && !is_missing(msg_id));
    backend.advance(2_000);
    assert!(is_missing(msg_id), "expired");
}

/// Looks at the versions of a message two times; gives its id.
fn look(store: &impl Storage) -> MsgId {
    group(store, "c", &["a", "b"]);
    let msg_id = send(store, "a", "c", 0).msg_id;
    for who in ["y", "z"] {
        assert_eq!(versions(store, &service(who), msg_id).unwrap().len(), 1);
    }
    msg_id
}

#[test]
fn who_looked_is_noted_and_what_cannot_be_noted_is_not_answered() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    let msg_id = look(&store);
    let raw = backend.raw();
    let mut statement = raw
        .prepare("SELECT tenant, user, time, action, conversation, msg_id FROM audit ORDER BY id")
        .unwrap();
    let text = |row: &rusqlite::Row<'_>| {
        let texts = [0, 1, 3, 4].map(|at| row.get::<_, String>(at).unwrap());
        Ok((texts.join(" "), row.get::<_, i64>(2)?, row.get::<_, i64>(5)?))
    };
    let noted: Vec<_> = statement.query_map([], text).unwrap().map(|row| row.unwrap()).collect();
    let one = |who: &str| (format!("acme {who} versions c"), backend.now() as i64, msg_id.to_sql());
    assert_eq!(noted, [one("y"), one("z")]);
    raw.execute("ALTER TABLE audit RENAME TO away", []).unwrap();
    assert!(versions(&store, &service("z"), msg_id).is_err());
}

fn noted_and_not_answered_otherwise<M: Mode>() {
    let backend = TieredBackend::<M>::new();
    let store = backend.open();
    let msg_id = look(&store);
    let query = |statement: &str| query_at(&backend.postgres_url(), statement, Vec::new()).unwrap();
    let noted = query(
        "SELECT concat_ws(' ', tenant, user_id, action, conversation, msg_id), (partition = (msg_id >> 14) & 255)::int
        FROM audit ORDER BY time, user_id",
    );
    let noted: Vec<_> = noted.into_iter().map(|mut row| (row.text().unwrap(), row.flag().unwrap())).collect();
    let one = |who: &str| (format!("acme {who} versions c {msg_id}"), true);
    assert_eq!(noted, [one("y"), one("z")]);
    query("ALTER TABLE audit RENAME TO away");
    assert!(versions(&store, &service("z"), msg_id).is_err());
}

#[test]
fn who_looked_is_noted_in_postgresql_too() {
    noted_and_not_answered_otherwise::<Hot>();
    noted_and_not_answered_otherwise::<Cold>();
}

/// An edit that SQL does not take is set aside, and put back when later ones are there; `last`: what comes after it.
fn late<M: Mode>(last: &[Change]) {
    let backend = TieredBackend::<M>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let msg_id = send(&store, "a", "c", 0).msg_id;
    let run = || block_on(store.run(&[Task::Drain], 10_000)).unwrap();
    run();
    let query = |statement: &str| query_at(&backend.postgres_url(), statement, Vec::new()).unwrap();
    query("ALTER TABLE message ADD CONSTRAINT poison CHECK (position('poison'::bytea IN content) = 0)");
    for content in ["poison 1", "poison 2"] {
        revise(&store, &actor("a"), "c", msg_id, edit_to(content)).unwrap();
    }
    for change in last {
        revise(&store, &actor("a"), "c", msg_id, change.clone()).unwrap();
    }
    let texts: Vec<&str> = last.iter().map(Change::content).collect();
    run();
    assert_eq!(contents(&store, msg_id)[1..], texts[..]);
    query("ALTER TABLE message DROP CONSTRAINT poison");
    let replayed = block_on(store.dead_letters(&actor("a").tenant, DeadLetterAction::Replay, 10)).unwrap();
    assert_eq!(replayed.len(), 2);
    run();
    backend.evict(&store);
    let expected: Vec<&str> = ["message 0", "poison 1", "poison 2"].into_iter().chain(texts).collect();
    assert_eq!(contents(&store, msg_id), expected);
    let found = get(&store, "b", "c", &[msg_id]).unwrap().messages.remove(0);
    let status = last.last().map_or(Status::Normal, |change| change.action().status());
    assert_eq!((found.status, found.content.as_str()), (status, *expected.last().unwrap()));
}

/// A message that SQL does not take is set aside, and put back when what was done to it is there.
fn late_message(last: &[Change]) {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let run = || block_on(store.run(&[Task::Drain], 10_000)).unwrap();
    run();
    let query = |statement: &str| query_at(&backend.postgres_url(), statement, Vec::new()).unwrap();
    query("ALTER TABLE message ADD CONSTRAINT poison CHECK (position('poison'::bytea IN content) = 0)");
    let msg_id = append(&store, vec![draft("a", "c", "slip", "poison")]).remove(0).unwrap().msg_id;
    run();
    for change in last {
        revise(&store, &actor("a"), "c", msg_id, change.clone()).unwrap();
        run();
    }
    query("ALTER TABLE message DROP CONSTRAINT poison");
    let replayed = block_on(store.dead_letters(&actor("a").tenant, DeadLetterAction::Replay, 10)).unwrap();
    assert_eq!(replayed.len(), 1);
    run();
    backend.evict(&store);
    let expected: Vec<&str> = ["poison"].into_iter().chain(last.iter().map(Change::content)).collect();
    assert_eq!(contents(&store, msg_id), expected);
    let found = get(&store, "b", "c", &[msg_id]).unwrap().messages.remove(0);
    let status = last.last().map_or(Status::Normal, |change| change.action().status());
    assert_eq!((found.status, found.content.as_str()), (status, *expected.last().unwrap()));
    assert_eq!(found.edit_time.is_some(), matches!(last.last(), Some(Change::Edit { .. })));
    assert_eq!(conversation(&store, "b", "c").unread, u64::from(status == Status::Normal));
    assert_eq!(conversation(&store, "a", "c").unread, 0);
}

#[test]
fn a_message_that_comes_late_is_what_it_has_become() {
    late_message(&[]);
    late_message(&[edit_to("once")]);
    late_message(&[edit_to("once"), edit_to("twice")]);
    late_message(&[Change::Delete]);
    late_message(&[edit_to("once"), edit_to("twice"), Change::Recall]);
}

#[test]
fn an_edit_that_comes_late_brings_nothing_back() {
    late::<Hot>(&[]);
    late::<Hot>(&[edit_to("last")]);
    late::<Hot>(&[edit_to("last but one"), edit_to("last")]);
    late::<Hot>(&[Change::Delete]);
    late::<Hot>(&[edit_to("last"), Change::Recall]);
}
