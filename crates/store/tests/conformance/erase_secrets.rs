//! What an erased user has said is nowhere: no answer, no row, no key and no file has it.

use super::backend::{Backend, block_on, on_every_back_end};
use super::erase::{drain, erase};
use super::erase_traces::{Traced, holds};
use super::feed_index::tenant;
use super::talk::*;
use super::tiered::{Hot, TieredBackend};
use crate::servers::postgres::query_at;
use im_domain::export::ExportCursor;
use im_domain::ext::Ext;
use im_domain::message::{Draft, Message, Status, Target};
use im_domain::page::Direction;
use im_domain::push::PushSettingsChange;
use im_domain::revision::{Change, Revision};
use im_domain::storage::Storage;
use im_domain::upkeep::DeadLetterAction;

on_every_back_end!(nothing_that_the_user_said_is_anywhere);

/// Texts that are nowhere else.
pub struct Secrets(pub Vec<String>);

impl Secrets {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn next(&mut self) -> String {
        let secret = format!("secret{:024x}", rand::random::<u64>());
        self.0.push(secret.clone());
        secret
    }
}

fn nothing_that_the_user_said_is_anywhere<B: Traced>() {
    let backend = B::new();
    let store = backend.open();
    let mut secrets = Secrets::new();
    group(&store, "c", &["a", "b"]);
    group(&store, "left", &["b", "a"]);
    let mut ids = Vec::new();
    for n in 0..6 {
        let ext = Ext::parse(format!("{{\"mark\":\"{}\"}}", secrets.next())).unwrap();
        let one = Draft { ext: Some(ext), ..draft("a", "c", &secrets.next(), &secrets.next()) };
        ids.push(append(&store, vec![one]).remove(0).unwrap().msg_id);
        send(&store, "b", "c", n);
    }
    let reply = Draft { reply_to: Some(ids[5]), ..draft("b", "c", "reply", "what did you say?") };
    append(&store, vec![reply]).remove(0).unwrap();
    append(&store, vec![draft("a", "left", &secrets.next(), &secrets.next())]).remove(0).unwrap();
    append(
        &store,
        vec![Draft { target: Target::Peer(user("b")), ..draft("a", "-", &secrets.next(), &secrets.next()) }],
    )
    .remove(0)
    .unwrap();
    let changes = [edit_to(&secrets.next()), Change::Recall, Change::Delete];
    for (msg_id, change) in ids.iter().zip(changes) {
        let revision =
            Revision { conversation: id("c"), msg_id: *msg_id, change, reason: Some(secrets.next()) };
        block_on(store.revise(&actor("a"), &revision)).unwrap();
    }
    revise(&store, &actor("a"), "c", ids[0], edit_to(&secrets.next())).unwrap();
    let newest =
        append(&store, vec![draft("a", "c", &secrets.next(), &secrets.next())]).remove(0).unwrap().msg_id;
    sync(&store, "a", "phone", sync_query("c", Some(newest))).unwrap();
    read(&store, "a", "c", newest).unwrap();
    block_on(store.push_settings(&actor("a"), PushSettingsChange { show_content: Some(false), muted: None }))
        .unwrap();
    change(&store, "left", remove("a"));
    let before = backend.everything();
    assert!(secrets.0.iter().all(|secret| holds(&before, secret)), "the test sees what there is");

    assert_eq!(erase(&store, "a"), 9);
    let messages = walk(&store, "b", "c", 50, Direction::Down);
    let of_a: Vec<&Message> =
        messages.iter().filter(|one| one.sender == user("a") && one.control.is_none()).collect();
    assert!(of_a.len() == 7 && of_a.iter().all(|one| one.status == Status::Deleted && one.ext.is_none()));
    let versions: Vec<_> =
        ids.iter().map(|id_of| block_on(store.versions(&service("z"), &id("c"), *id_of)).unwrap()).collect();
    let answers = [
        format!("{messages:?} {versions:?}"),
        format!("{:?}", get(&store, "b", "c", &ids).unwrap()),
        format!("{:?}", block_on(store.list(&actor("b"), "", 50)).unwrap()),
        format!("{:?}", block_on(store.digest(&actor("b"), None, "", 50, 5)).unwrap()),
        format!("{:?}", block_on(store.export(&service("z"), &user("a"), ExportCursor::START, 100)).unwrap()),
        format!("{:?}", block_on(store.events(&tenant("acme"), None, 100)).unwrap()),
    ];
    let everything = backend.everything();
    for secret in &secrets.0 {
        assert!(answers.iter().all(|answer| !answer.contains(secret)), "{secret}: {answers:?}");
        assert!(!holds(&everything, secret), "{secret} is left");
    }
    // Drained and made anew it is the same.
    drain(&store);
    backend.evict(&store);
    assert_eq!(walk(&store, "b", "c", 50, Direction::Down), messages);
    let everything = backend.everything();
    assert!(secrets.0.iter().all(|secret| !holds(&everything, secret)));
}

pub const POISON: &str =
    "ALTER TABLE message ADD CONSTRAINT poison CHECK (position('secret'::bytea IN content) = 0)";

#[test]
fn what_waits_as_a_dead_letter_goes_and_what_others_said_there_stays() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    let mut secrets = Secrets::new();
    group(&store, "c", &["b", "a"]);
    drain(&store);
    query_at(&backend.postgres_url(), POISON, Vec::new()).unwrap();
    for sender in ["a", "b"] {
        append(&store, vec![draft(sender, "c", "poison", &secrets.next())]).remove(0).unwrap();
    }
    let edited = send(&store, "a", "c", 1).msg_id;
    drain(&store);
    revise(&store, &actor("a"), "c", edited, edit_to(&secrets.next())).unwrap();
    drain(&store);
    erase(&store, "a");
    let everything = backend.everything();
    let left: Vec<bool> = secrets.0.iter().map(|secret| holds(&everything, secret)).collect();
    assert_eq!(left, [false, true, false]);
    let letters = block_on(store.dead_letters(&tenant("acme"), DeadLetterAction::Show, 10)).unwrap();
    assert_eq!(letters.len(), 1);
}
