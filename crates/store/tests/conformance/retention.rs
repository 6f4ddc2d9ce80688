//! Messages are kept for as long as the most specific rule says: that of the conversation, of the tenant and type, of
//! the tenant, of the type, of all. What has expired is hidden at once on every path, and purged by the upkeep. Under
//! legal hold nothing is.

use super::backend::{Backend, block_on, on_every_back_end};
use super::push::due;
use super::talk::*;
use im_domain::conversation::{Conversation, ConversationChange, ConversationKind, History, NewConversation};
use im_domain::global::ChangeKind;
use im_domain::limits::RETENTION_MS_MAX;
use im_domain::page::{Direction, ResetReason};
use im_domain::retention::{KeepFor, RetentionRules};
use im_domain::revision::{Change, Revision};
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::Task;
use im_domain::{ConversationId, Error, MsgId, Result};

on_every_back_end!(
    each_type_is_kept_as_the_most_specific_rule_says,
    a_conversation_is_kept_as_it_says_and_its_members_are_told,
    what_expires_by_a_setting_is_hidden_on_every_path,
    a_change_of_the_rules_hides_and_shows_at_once,
    who_may_not_is_refused_and_nothing_changes,
    under_hold_nothing_is_hidden_or_purged,
    a_tenant_is_held_by_the_rules,
    what_is_revised_under_hold_keeps_its_former_versions,
);

const MINUTE: u64 = 60_000;

pub fn keep(keep_for: KeepFor) -> ConversationChange {
    ConversationChange { keep_for: Some(keep_for), ..ConversationChange::default() }
}

pub fn hold(held: bool) -> ConversationChange {
    ConversationChange { legal_hold: Some(held), ..ConversationChange::default() }
}

pub fn purge(store: &impl Storage) -> u64 {
    block_on(store.run(&[Task::Drain, Task::Expire], 10_000)).unwrap().expired
}

/// What a member sees of a conversation: the seqs.
fn seen(store: &impl Storage, name: &str, conversation: &str) -> Vec<u64> {
    walk(store, name, conversation, 10, Direction::Down).iter().map(|message| message.seq).collect()
}

fn make(store: &impl Storage, who: &Actor, kind: ConversationKind, members: &[&str]) -> ConversationId {
    let members = members.iter().map(|name| user(name)).collect();
    let new = NewConversation { id: None, kind, members, history: History::All };
    block_on(store.create(who, new)).unwrap().id
}

fn each_type_is_kept_as_the_most_specific_rule_says<B: Backend>() {
    let backend = B::keeping(0);
    backend.set_rules(RetentionRules::parse("1000,group=5000,acme/system=9000,other=1", "").unwrap());
    let store = backend.open();
    let kinds = [ConversationKind::Single, ConversationKind::Group, ConversationKind::System];
    let all = kinds.map(|kind| make(&store, &service("a"), kind, &["b"]));
    for id in &all {
        let one = vec![draft("a", id.as_str(), "1", "said")];
        block_on(store.append(&service("a"), one, im_domain::message::Ack::Accepted))
            .unwrap()
            .remove(0)
            .unwrap();
    }
    let counts = || [0, 1, 2].map(|at: usize| seen(&store, "b", all[at].as_str()).len());
    let mut purged = 0;
    for (wait, expected) in
        [(1_000, [1, 1, 1]), (1, [0, 1, 1]), (4_000, [0, 0, 1]), (3_999, [0, 0, 1]), (1, [0, 0, 0])]
    {
        backend.advance(wait);
        assert_eq!(counts(), expected);
        purged += purge(&store);
        assert_eq!((counts(), purged), (expected, 3 - expected.iter().sum::<usize>() as u64));
    }
}

fn a_conversation_is_kept_as_it_says_and_its_members_are_told<B: Backend>() {
    let backend = B::keeping(0);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let before = global(&store, "b", None, "", 10).unwrap().cursor;
    send(&store, "a", "c", 1);
    let said = global(&store, "b", None, &before, 10).unwrap().cursor;
    let say = |keep_for| update(&store, &actor("a"), "c", keep(keep_for)).unwrap().retention_ms;
    assert_eq!(say(KeepFor::Ms(MINUTE)), Some(MINUTE));
    let told = global(&store, "b", None, &said, 10).unwrap();
    assert!(told.changed[0].kinds.contains(&ChangeKind::Membership), "{told:?}");
    assert_eq!(conversation(&store, "b", "c").retention_ms, Some(MINUTE));
    backend.advance(MINUTE + 1);
    assert_eq!(seen(&store, "b", "c"), [0; 0]);
    // Longer again before the purge: it is back.
    assert_eq!(say(KeepFor::Ms(2 * MINUTE)), Some(2 * MINUTE));
    assert_eq!((seen(&store, "b", "c"), purge(&store)), (vec![1], 0));
    assert_eq!(say(KeepFor::Policy), None);
    backend.advance(9 * MINUTE);
    assert_eq!((seen(&store, "b", "c"), purge(&store)), (vec![1], 0));
    assert_eq!(say(KeepFor::Ms(MINUTE)), Some(MINUTE));
    assert_eq!((seen(&store, "b", "c"), purge(&store), purge(&store)), (vec![], 1, 0));
    // What is purged stays away.
    assert_eq!(say(KeepFor::Ms(0)), Some(0));
    assert_eq!((seen(&store, "b", "c"), conversation(&store, "b", "c").last), (vec![], None));
    assert_eq!(send(&store, "a", "c", 2).seq, 2);
    backend.advance(9 * MINUTE);
    assert_eq!((seen(&store, "b", "c"), purge(&store)), (vec![2], 0));
}

fn what_expires_by_a_setting_is_hidden_on_every_path<B: Backend>() {
    let backend = B::keeping(0);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    update(&store, &actor("a"), "c", keep(KeepFor::Ms(10 * MINUTE))).unwrap();
    let old = [1, 2].map(|n| send(&store, "a", "c", n).msg_id);
    sync(&store, "b", "phone", sync_query("c", Some(old[0]))).unwrap();
    backend.advance(6 * MINUTE);
    let mut reply = draft("a", "c", "reply", "later");
    reply.reply_to = Some(old[1]);
    append(&store, vec![reply]).remove(0).unwrap();
    assert_eq!(conversation(&store, "b", "c").unread, 3);
    backend.advance(5 * MINUTE);
    for purged in [false, true] {
        let told: Vec<_> = due(&store).iter().map(|due| (due.user.to_string(), due.messages)).collect();
        assert_eq!(told, if purged { vec![] } else { vec![("b".to_owned(), 1)] });
        assert_eq!(seen(&store, "b", "c"), [3], "purged: {purged}");
        assert_eq!(get(&store, "b", "c", &old).unwrap().missing, old);
        let quote = walk(&store, "b", "c", 10, Direction::Up)[0].reply_to.clone().unwrap();
        assert_eq!((quote.preview, quote.status.as_str()), (None, "expired"));
        let listed = block_on(store.list(&actor("b"), "", 10)).unwrap().conversations.remove(0);
        assert_eq!((listed.unread, listed.last.unwrap().seq), (1, 3));
        let digest = block_on(store.digest(&actor("b"), None, "", 10, 5)).unwrap();
        assert_eq!(digest.conversations[0].latest.len(), 1);
        assert_eq!(block_on(store.totals(&actor("b"))).unwrap().messages, 1);
        let page = sync(&store, "b", "phone", sync_query("c", None)).unwrap().page;
        assert_eq!(page.reset.map(|reset| reset.reason), Some(ResetReason::Expired));
        let change = edit_to("other");
        let is_missing = |answer: Error| matches!(answer, Error::MessageNotFound { .. });
        assert!(is_missing(revise(&store, &actor("a"), "c", old[1], change).unwrap_err()));
        let asked = block_on(store.versions(&service("z"), &id("c"), old[1]));
        assert!(is_missing(asked.unwrap_err()));
        let mut reply = draft("a", "c", "another", "reply");
        reply.reply_to = Some(old[0]);
        assert!(is_missing(append(&store, vec![reply]).remove(0).unwrap_err()));
        assert_eq!(purge(&store), if purged { 0 } else { 2 });
    }
    backend.advance(6 * MINUTE);
    let left = conversation(&store, "b", "c");
    assert_eq!((left.last, left.unread, seen(&store, "b", "c")), (None, 0, vec![]));
}

fn a_change_of_the_rules_hides_and_shows_at_once<B: Backend>() {
    let backend = B::keeping(0);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    send(&store, "a", "c", 1);
    backend.advance(5_000);
    let with = |rules: &str| {
        backend.set_rules(RetentionRules::parse(rules, "").unwrap());
        backend.open()
    };
    assert_eq!(seen(&with("1000"), "b", "c"), [0; 0]);
    assert_eq!(seen(&with("1000,acme=0"), "b", "c"), [1]);
    assert_eq!(purge(&with("1000,acme=0")), 0);
    assert_eq!(seen(&with("0,acme/group=1000"), "b", "c"), [0; 0]);
    assert_eq!(seen(&with("9000"), "b", "c"), [1]);
    assert_eq!(purge(&with("9000,group=1000")), 1);
    assert_eq!(seen(&with("0"), "b", "c"), [0; 0]);
}

fn who_may_not_is_refused_and_nothing_changes<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "plain"]);
    let chat = make(&store, &actor("a"), ConversationKind::Single, &["plain"]);
    send(&store, "a", "c", 1);
    let forbidden = |who: &str, conversation: &str, change, name: &str| {
        let refusal = update(&store, &actor(who), conversation, change);
        let is_so = matches!(&refusal, Err(Error::Forbidden { field: Some(field), .. }) if field == name);
        assert!(is_so, "{refusal:?}");
    };
    forbidden("plain", "c", keep(KeepFor::Ms(0)), "retentionMs");
    forbidden("a", chat.as_str(), keep(KeepFor::Policy), "retentionMs");
    forbidden("a", "c", hold(true), "legalHold");
    forbidden("a", "c", hold(false), "legalHold");
    for ms in [RETENTION_MS_MAX + 1, u64::MAX] {
        let refusal = update(&store, &actor("a"), "c", keep(KeepFor::Ms(ms)));
        assert!(
            matches!(&refusal, Err(Error::Invalid { field, .. }) if field == "retentionMs"),
            "{refusal:?}"
        );
    }
    for change in [keep(KeepFor::Ms(0)), hold(true)] {
        assert_eq!(update(&store, &actor("x"), "c", change), Err(Error::NotMember));
    }
    assert_eq!(conversation(&store, "a", "c").retention_ms, None);
    backend.advance(2_000);
    assert_eq!(seen(&store, "a", "c"), [0; 0]);
    let kept = update(&store, &service("bot"), chat.as_str(), keep(KeepFor::Ms(RETENTION_MS_MAX))).unwrap();
    assert_eq!(kept.retention_ms, Some(RETENTION_MS_MAX));
}

fn as_member(store: &impl Storage) -> Conversation {
    conversation(store, "b", "c")
}

fn under_hold_nothing_is_hidden_or_purged<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    send(&store, "a", "c", 1);
    let (before, known) = (as_member(&store), global(&store, "b", None, "", 10).unwrap().cursor);
    backend.advance(500);
    for _ in 0..2 {
        assert_eq!(update(&store, &service("root"), "c", hold(true)).unwrap().legal_hold, Some(true));
    }
    // Members are not told, nor do they see it.
    assert_eq!(as_member(&store), before);
    assert!(B::REPEATS || global(&store, "b", None, &known, 10).unwrap().changed.is_empty());
    backend.advance(5_000);
    assert_eq!((seen(&store, "b", "c"), purge(&store), as_member(&store).unread), (vec![1], 0, 1));
    update(&store, &actor("a"), "c", keep(KeepFor::Ms(MINUTE))).unwrap();
    backend.advance(5 * MINUTE);
    assert_eq!((seen(&store, "b", "c"), purge(&store), as_member(&store).unread), (vec![1], 0, 1));
    assert_eq!(update(&store, &service("root"), "c", hold(false)).unwrap().legal_hold, Some(false));
    assert_eq!((seen(&store, "b", "c"), as_member(&store).unread), (vec![], 0));
    assert_eq!((purge(&store), purge(&store)), (1, 0));
}

fn a_tenant_is_held_by_the_rules<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    group(&store, "d", &["a", "b"]);
    update(&store, &actor("a"), "d", keep(KeepFor::Ms(MINUTE))).unwrap();
    for name in ["c", "d"] {
        send(&store, "a", name, 1);
    }
    backend.advance(2 * MINUTE);
    backend.set_rules(RetentionRules::parse("1000", "other,acme").unwrap());
    let held = backend.open();
    for name in ["c", "d"] {
        assert_eq!((seen(&held, "b", name), seen(&store, "b", name)), (vec![1], vec![]));
    }
    assert_eq!((purge(&held), purge(&store)), (0, 2));
}

fn what_is_revised_under_hold_keeps_its_former_versions<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    update(&store, &service("root"), "c", hold(true)).unwrap();
    let msg_id = send(&store, "a", "c", 1).msg_id;
    revise(&store, &actor("a"), "c", msg_id, edit_to("edited")).unwrap();
    backend.advance(5_000);
    revise(&store, &actor("a"), "c", msg_id, Change::Delete).unwrap();
    assert_eq!(purge(&store), 0);
    assert_eq!(contents(&store, msg_id).unwrap(), ["message 1", "edited", ""]);
    update(&store, &service("root"), "c", hold(false)).unwrap();
    assert!(contents(&store, msg_id).is_err());
    let recall = Revision { conversation: id("c"), msg_id, change: Change::Recall, reason: None };
    assert!(matches!(block_on(store.revise(&service("z"), &recall)), Err(Error::MessageNotFound { .. })));
}

fn contents(store: &impl Storage, msg_id: MsgId) -> Result<Vec<String>> {
    let versions = block_on(store.versions(&service("z"), &id("c"), msg_id))?;
    Ok(versions.into_iter().map(|version| version.content).collect())
}
