//! What there is of one user is taken out whole, in parts of any size, from all conversations the user is or was in;
//! nothing of others, nothing that was taken back; and that it was asked is noted.

use super::backend::{Backend, EmbeddedBackend, block_on, on_every_back_end};
use super::feed_index::tenant;
use super::talk::*;
use super::tiered::{Cold, Hot, Mode, TieredBackend};
use crate::servers::postgres::query_at;
use im_domain::conversation::Role;
use im_domain::export::{Export, ExportCursor, Membership, Profile};
use im_domain::limits::EXPORT_CONVERSATIONS_MAX;
use im_domain::message::{Message, Status};
use im_domain::push::PushSettingsChange;
use im_domain::revision::Change;
use im_domain::storage::{Actor, Storage};
use im_domain::{DeviceId, Error, MsgId, Result};

on_every_back_end!(
    everything_of_a_user_is_in_it,
    what_was_taken_back_has_no_content,
    large_messages_come_in_several_parts,
    a_user_in_none_of_many_conversations_costs_a_part_each_so_many,
    what_has_expired_is_left_out,
    only_privileged_actors_may_ask,
);

pub fn part(store: &impl Storage, who: &Actor, of: &str, cursor: &str, limit: u32) -> Result<Export> {
    let cursor = ExportCursor::parse(cursor).unwrap();
    block_on(store.export(who, &user(of), cursor, limit))
}

#[derive(Debug, PartialEq)]
pub struct Whole {
    pub profile: Profile,
    pub memberships: Vec<Membership>,
    pub messages: Vec<(String, Message)>,
}

pub fn whole(store: &impl Storage, of: &str, limit: u32) -> Whole {
    let mut export = part(store, &service("z"), of, "", limit).unwrap();
    let profile = export.profile.take().unwrap();
    let (mut memberships, mut messages) = (Vec::new(), Vec::new());
    loop {
        assert!(export.messages.len() <= limit as usize && export.profile.is_none());
        memberships.extend(export.memberships);
        messages.extend(export.messages.into_iter().map(|(name, message)| (name.to_string(), message)));
        if !export.has_more {
            break;
        }
        let cursor = export.cursor.to_string();
        export = part(store, &service("z"), of, &cursor, limit).unwrap();
        assert!(!export.has_more || export.cursor.to_string() != cursor, "it does not go on");
    }
    messages.sort_by_key(|(name, message)| (name.clone(), message.msg_id));
    Whole { profile, memberships, messages }
}

fn everything_of_a_user_is_in_it<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    for name in ["c1", "c2", "c3", "others"] {
        let members = if name == "others" { ["b", "d"] } else { ["a", "b"] };
        group(&store, name, &members);
    }
    let mut sent = Vec::new();
    for n in 0..5 {
        for name in ["c1", "c2", "c3"] {
            sent.push((name.to_owned(), send(&store, "a", name, n).msg_id));
            send(&store, "b", name, n);
        }
        send(&store, "b", "others", n);
    }
    let peer = append(&store, vec![draft_to_peer("a", "b")]).remove(0).unwrap();
    sent.push((peer.conversation.to_string(), peer.msg_id));
    sent.sort();
    let newest = walk(&store, "a", "c1", 100, im_domain::page::Direction::Down).pop().unwrap().msg_id;
    read(&store, "a", "c1", newest).unwrap();
    mute(&store, "a", "c1", true);
    for device in ["phone", "pad"] {
        sync(&store, "a", device, sync_query("c2", Some(sent[5].1))).unwrap();
    }
    sync(&store, "a", "phone", sync_query("c3", Some(newest_of(&store, "c3")))).unwrap();
    let hide = PushSettingsChange { show_content: Some(false), muted: None };
    block_on(store.push_settings(&actor("a"), hide)).unwrap();
    change(&store, "c3", remove("a"));

    let all = whole(&store, "a", 100);
    let ids =
        |all: &Whole| all.messages.iter().map(|(name, one)| (name.clone(), one.msg_id)).collect::<Vec<_>>();
    assert_eq!(ids(&all), sent);
    assert!(all.messages.iter().all(|(_, message)| message.sender == user("a")));
    let mut devices: Vec<_> = all.profile.devices.iter().map(|device| device.id.to_string()).collect();
    devices.sort();
    assert_eq!(devices, ["pad", "phone"]);
    assert_eq!((all.profile.push.show_content, all.profile.push.muted.clone()), (false, vec![id("c1")]));
    let of = |name: &str| all.memberships.iter().find(|one| one.conversation == id(name));
    let member = |name: &str| of(name).and_then(|one| one.member).unwrap();
    assert_eq!(
        (member("c1").role, member("c1").read_msg_id, member("c1").muted),
        (Role::Owner, newest, true)
    );
    assert!(!member("c2").muted && of("c1").unwrap().positions.is_empty());
    let devices = ["pad", "phone"].map(|device| (DeviceId::parse(device).unwrap(), sent[5].1));
    assert_eq!(of("c2").unwrap().positions, devices);
    let left = of("c3").unwrap();
    assert_eq!(
        (left.member, left.positions.len()),
        (None, 1),
        "where the user has left the device still stands"
    );
    assert!(of("others").is_none() && of(peer.conversation.as_str()).is_some());
    assert_eq!(all.memberships.len(), 4);
    for limit in [1, 2, 7] {
        assert_eq!(whole(&store, "a", limit), all, "parts of {limit}");
    }
    // Of somebody of the same name elsewhere there is nothing, and nobody is one without anything.
    let elsewhere = Actor { tenant: tenant("other"), ..service("z") };
    let nothing = part(&store, &elsewhere, "a", "", 100).unwrap();
    assert_eq!((nothing.messages.len(), nothing.memberships.len(), nothing.has_more), (0, 0, false));
    assert!(whole(&store, "nobody", 10).messages.is_empty());
}

fn newest_of(store: &impl Storage, name: &str) -> MsgId {
    walk(store, "a", name, 100, im_domain::page::Direction::Down).pop().unwrap().msg_id
}

fn what_was_taken_back_has_no_content<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<MsgId> = (0..4).map(|n| send(&store, "a", "c", n).msg_id).collect();
    assert_eq!(whole(&store, "a", 10).messages.len(), 4);
    for (msg_id, change) in ids.iter().zip([Change::Recall, edit_to("edited"), Change::Delete]) {
        revise(&store, &actor("a"), "c", *msg_id, change).unwrap();
    }
    let of_b = send(&store, "b", "c", 0).msg_id;
    revise(&store, &service("a"), "c", of_b, Change::Recall).unwrap();
    for limit in [1, 10] {
        let messages = whole(&store, "a", limit).messages;
        let shown: Vec<_> =
            messages.iter().map(|(_, message)| (message.status, message.content.as_str())).collect();
        let (recalled, deleted) = ((Status::Recalled, ""), (Status::Deleted, ""));
        let normal = |text| (Status::Normal, text);
        assert_eq!(shown, [recalled, normal("edited"), deleted, normal("message 3")]);
    }
}

fn large_messages_come_in_several_parts<B: Backend>() {
    const LARGE: usize = 65_536;
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    for batch in 0..4 {
        let one = |n| draft("a", "c", &format!("{batch}-{n}"), &"x".repeat(LARGE));
        append(&store, (0..20).map(one).collect()).into_iter().for_each(|one| drop(one.unwrap()));
    }
    let first = part(&store, &service("z"), "a", "", 100).unwrap();
    assert!(first.has_more && first.messages.len() == 64, "{}", first.messages.len());
    assert_eq!(whole(&store, "a", 100).messages.len(), 80);
}

fn a_user_in_none_of_many_conversations_costs_a_part_each_so_many<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    for n in 0..EXPORT_CONVERSATIONS_MAX + 10 {
        group(&store, &format!("c{n:04}"), &["b"]);
    }
    group(&store, "z", &["a", "b"]);
    send(&store, "a", "z", 0);
    let first = part(&store, &service("z"), "a", "", 100).unwrap();
    assert!(first.messages.is_empty() && first.memberships.is_empty() && first.has_more);
    let all = whole(&store, "a", 100);
    assert_eq!((all.messages.len(), all.memberships.len()), (1, 1));
}

fn what_has_expired_is_left_out<B: Backend>() {
    let backend = B::keeping(10_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    (0..3).for_each(|n| drop(send(&store, "a", "c", n)));
    backend.advance(20_000);
    let kept = send(&store, "a", "c", 3).msg_id;
    for limit in [1, 10] {
        let found: Vec<MsgId> =
            whole(&store, "a", limit).messages.iter().map(|(_, one)| one.msg_id).collect();
        assert_eq!(found, [kept]);
    }
}

fn only_privileged_actors_may_ask<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    for who in ["a", "b"] {
        assert!(matches!(part(&store, &actor(who), "a", "", 10), Err(Error::Forbidden { .. })));
    }
}

/// Takes one user out, by two administrators.
fn look(store: &impl Storage) {
    group(store, "c", &["a", "b"]);
    send(store, "a", "c", 0);
    for who in ["y", "z"] {
        assert_eq!(part(store, &service(who), "a", "", 10).unwrap().messages.len(), 1);
    }
}

#[test]
fn who_asked_is_noted_and_what_cannot_be_noted_is_not_answered() {
    let backend = EmbeddedBackend::new();
    let store = backend.open();
    look(&store);
    let raw = backend.raw();
    let mut statement =
        raw.prepare("SELECT user || ' ' || action || ' ' || subject FROM audit ORDER BY id").unwrap();
    let noted: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(|row| row.unwrap()).collect();
    assert_eq!(noted, ["y export a", "z export a"]);
    raw.execute("ALTER TABLE audit RENAME TO away", []).unwrap();
    assert!(part(&store, &service("z"), "a", "", 10).is_err());
}

fn noted_in_postgresql<M: Mode>() {
    let backend = TieredBackend::<M>::new();
    let store = backend.open();
    look(&store);
    let query = |statement: &str| query_at(&backend.postgres_url(), statement, Vec::new()).unwrap();
    let noted =
        query("SELECT concat_ws(' ', tenant, user_id, action, subject) FROM audit ORDER BY time, user_id");
    let noted: Vec<_> = noted.into_iter().map(|mut row| row.text().unwrap()).collect();
    assert_eq!(noted, ["acme y export a", "acme z export a"]);
    query("ALTER TABLE audit RENAME TO away");
    assert!(part(&store, &service("z"), "a", "", 10).is_err());
}

#[test]
fn who_asked_is_noted_in_postgresql_too() {
    noted_in_postgresql::<Hot>();
    noted_in_postgresql::<Cold>();
}

/// What was stored under a clientMsgId that stood for another message once its marker had gone.
#[test]
fn a_message_whose_client_id_was_taken_is_in_it() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = append(&store, vec![draft("a", "c", "same", "one")]).remove(0).unwrap();
    backend.drain(&store);
    backend.forget("im:{*}:d:*");
    let second = append(&store, vec![draft("a", "c", "same", "two")]).remove(0).unwrap();
    backend.drain(&store);
    assert!(!second.duplicate);
    for limit in [1, 10] {
        let found: Vec<MsgId> =
            whole(&store, "a", limit).messages.iter().map(|(_, one)| one.msg_id).collect();
        assert_eq!(found, [first.msg_id, second.msg_id]);
    }
}
