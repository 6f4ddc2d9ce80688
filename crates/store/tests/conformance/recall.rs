//! Messages that are taken back: no read path shows their text, devices that are past them learn of it, and
//! they count for nobody.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use super::tiered::{Hot, TieredBackend};
use crate::servers::redis::command_at;
use im_domain::conversation::{Conversation, History, MemberChange, Role};
use im_domain::limits::RECALL_MS_DEFAULT;
use im_domain::message::{Action, Draft, Kind, QuoteStatus, Status};
use im_domain::page::Direction;
use im_domain::partition::partition_of;
use im_domain::revision::{Change, Revised};
use im_domain::storage::{Actor, Storage};
use im_domain::{Error, MsgId, Result};
use im_store::arguments;

on_every_back_end!(
    no_read_path_shows_what_was_taken_back,
    devices_that_are_past_it_learn_of_it,
    taken_back_again_nothing_changes,
    who_may_take_back_what_and_until_when,
    what_was_taken_back_counts_for_nobody,
    a_summary_changes_when_the_last_message_is_taken_back_and_not_when_an_older_one_is,
    a_very_old_message_is_taken_back_as_any_other,
    what_has_expired_or_was_said_before_one_joined_is_not_found,
    pushes_leave_out_what_was_taken_back,
    a_client_may_name_a_message_as_the_store_names_its_own,
);

fn recall(store: &impl Storage, actor: &Actor, msg_id: MsgId) -> Result<Revised> {
    revise(store, actor, "c", msg_id, Change::Recall)
}

fn seen_by(store: &impl Storage, name: &str) -> Conversation {
    block_on(store.conversation(&actor(name), &id("c"))).unwrap()
}

fn no_read_path_shows_what_was_taken_back<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = send(&store, "a", "c", 0);
    let slip = send(&store, "a", "c", 1);
    let answer = Draft { reply_to: Some(slip.msg_id), ..draft("b", "c", "answer", "what?") };
    let answer = append(&store, vec![answer]).remove(0).unwrap();
    let revised = recall(&store, &actor("a"), slip.msg_id).unwrap();
    let told = revised.told.unwrap();
    assert_eq!((revised.msg_id, told.seq), (slip.msg_id, answer.seq + 1));
    let late = Draft { reply_to: Some(slip.msg_id), ..draft("b", "c", "late", "still there?") };
    let late = append(&store, vec![late]).remove(0).unwrap();
    let check = |store: &B::Store| {
        for (limit, direction) in [(1, Direction::Up), (100, Direction::Up), (2, Direction::Down)] {
            let messages = walk(store, "b", "c", limit, direction);
            let ids: Vec<_> = messages.iter().map(|message| message.msg_id).collect();
            assert_eq!(ids, [first.msg_id, slip.msg_id, answer.msg_id, told.msg_id, late.msg_id]);
            assert_eq!((messages[1].status, messages[1].content.as_str()), (Status::Recalled, ""));
            assert_eq!((messages[1].kind, messages[1].seq), (Kind::Text, slip.seq));
            assert!(messages.iter().enumerate().all(|(n, m)| n == 1 || m.status == Status::Normal));
            for quoting in [&messages[2], &messages[4]] {
                let quote = quoting.reply_to.as_ref().unwrap();
                assert_eq!((quote.status, quote.preview.as_deref()), (QuoteStatus::Recalled, None));
            }
            let control = messages[3].control.unwrap();
            assert_eq!((messages[3].kind, messages[3].content.as_str()), (Kind::Recall, ""));
            assert_eq!((control.msg_id, control.action), (slip.msg_id, Action::Recall));
            assert_eq!(messages[3].sender, user("a"));
        }
        let wanted = [slip.msg_id, answer.msg_id];
        let found = block_on(store.get(&actor("b"), &id("c"), &wanted)).unwrap().messages;
        assert_eq!((found[0].status, found[0].content.as_str()), (Status::Recalled, ""));
        assert_eq!(found[1].reply_to.as_ref().unwrap().preview, None);
    };
    check(&store);
    backend.evict(&store);
    check(&backend.open());
}

fn devices_that_are_past_it_learn_of_it<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let slip = send(&store, "a", "c", 0);
    let last = send(&store, "a", "c", 1);
    let before = sync(&store, "b", "phone", sync_query("c", None)).unwrap();
    assert_eq!(before.page.messages.len(), 2);
    let control = recall(&store, &actor("a"), slip.msg_id).unwrap().told.unwrap();
    let after = sync(&store, "b", "phone", sync_query("c", Some(last.msg_id))).unwrap();
    let told: Vec<_> = after.page.messages.iter().map(|m| (m.msg_id, m.control.unwrap().msg_id)).collect();
    assert_eq!(told, [(control.msg_id, slip.msg_id)]);
    assert_eq!(after.page.head_seq, control.seq);
}

fn taken_back_again_nothing_changes<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let slip = send(&store, "a", "c", 0);
    let first = recall(&store, &actor("a"), slip.msg_id).unwrap();
    for by in [actor("a"), service("z"), actor("a")] {
        assert_eq!(recall(&store, &by, slip.msg_id).unwrap(), first);
        backend.evict(&store);
        assert_eq!(recall(&backend.open(), &by, slip.msg_id).unwrap(), first);
    }
    assert_eq!(walk(&store, "b", "c", 100, Direction::Down).len(), 2);
    assert_eq!(send(&store, "a", "c", 0).msg_id, slip.msg_id, "a retry of what was taken back");
    assert_eq!(walk(&store, "b", "c", 100, Direction::Down)[0].status, Status::Recalled);
}

fn who_may_take_back_what_and_until_when<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["owner", "admin", "a", "b"]);
    let roles = vec![(user("admin"), Role::Admin)];
    let change = MemberChange { roles, ..MemberChange::default() };
    block_on(store.change_members(&actor("owner"), &id("c"), change)).unwrap();
    let ids: Vec<_> = (0..6).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let forbidden = |outcome: Result<Revised>| matches!(outcome, Err(Error::Forbidden { .. }));
    let missing = |outcome: Result<Revised>| matches!(outcome, Err(Error::MessageNotFound { .. }));
    assert!(forbidden(recall(&store, &actor("b"), ids[0])));
    assert_eq!(recall(&store, &actor("z"), ids[0]), Err(Error::NotMember));
    let beyond = MsgId::new(ids[5].number() + 1).unwrap();
    assert!(
        missing(recall(&store, &actor("a"), beyond)) && missing(recall(&store, &actor("a"), MsgId::NONE))
    );
    let nowhere = revise(&store, &actor("a"), "nowhere", ids[0], Change::Recall);
    assert_eq!(nowhere, Err(Error::ConversationNotFound));
    let control = recall(&store, &actor("a"), ids[0]).unwrap().told.unwrap().msg_id;
    let of_control = recall(&store, &actor("owner"), control);
    assert!(matches!(of_control, Err(Error::Invalid { field, .. }) if field == "msgId"));
    backend.advance(RECALL_MS_DEFAULT + 1_000);
    assert!(forbidden(recall(&store, &actor("a"), ids[1])), "too late");
    for (n, by) in [(1, actor("owner")), (2, actor("admin")), (3, service("z"))] {
        recall(&store, &by, ids[n]).unwrap();
    }
    let texts: Vec<_> =
        walk(&store, "b", "c", 100, Direction::Down).into_iter().map(|message| message.content).collect();
    assert_eq!(texts, ["", "", "", "", "message 4", "message 5", "", "", "", ""]);
}

fn what_was_taken_back_counts_for_nobody<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..3).map(|n| send(&store, "a", "c", n).msg_id).collect();
    recall(&store, &actor("a"), ids[1]).unwrap();
    assert_eq!((seen_by(&store, "b").unread, seen_by(&store, "a").unread), (2, 0));
    let own = send(&store, "b", "c", 0);
    recall(&store, &actor("b"), own.msg_id).unwrap();
    assert_eq!((seen_by(&store, "b").unread, seen_by(&store, "a").unread), (2, 0));
    let read = block_on(store.read(&actor("b"), &id("c"), ids[1])).unwrap();
    assert_eq!((read.read_msg_id, read.unread), (ids[1], 1));
    recall(&store, &actor("a"), ids[0]).unwrap();
    assert_eq!(seen_by(&store, "b").unread, 1, "what was read before was not unread");
    backend.evict(&store);
    assert_eq!((seen_by(&store, "b").unread, seen_by(&store, "a").unread), (1, 0));
    recall(&store, &actor("a"), ids[2]).unwrap();
    assert_eq!(seen_by(&store, "b").unread, 0);
    send(&store, "a", "c", 3);
    assert_eq!((seen_by(&store, "b").unread, seen_by(&store, "a").unread), (1, 0));
}

fn a_summary_changes_when_the_last_message_is_taken_back_and_not_when_an_older_one_is<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let (old, new) = (send(&store, "a", "c", 0), send(&store, "a", "c", 1));
    recall(&store, &actor("a"), old.msg_id).unwrap();
    let last = seen_by(&store, "b").last.unwrap();
    assert_eq!((last.msg_id, last.summary.as_str(), last.status), (new.msg_id, "message 1", Status::Normal));
    recall(&store, &actor("a"), new.msg_id).unwrap();
    for store in [&store, &backend.open()] {
        let last = seen_by(store, "b").last.unwrap();
        assert_eq!((last.msg_id, last.seq, last.summary.as_str()), (new.msg_id, new.seq, ""));
        assert_eq!(last.status, Status::Recalled);
        let listed = block_on(store.list(&actor("b"), "", 10)).unwrap().conversations.remove(0);
        assert_eq!(listed.last.unwrap().summary, "");
        backend.evict(store);
    }
    let next = send(&store, "a", "c", 2);
    let last = seen_by(&store, "b").last.unwrap();
    assert_eq!((last.msg_id, last.summary.as_str(), last.status), (next.msg_id, "message 2", Status::Normal));
}

fn a_very_old_message_is_taken_back_as_any_other<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["owner", "a"]);
    let slip = send(&store, "a", "c", 0);
    for hundred in 1..5 {
        let many = (0..100).map(|n| draft("a", "c", &format!("{hundred}-{n}"), "more"));
        append(&store, many.collect());
    }
    block_on(store.run(&[], 10_000)).unwrap();
    let revised = recall(&store, &actor("owner"), slip.msg_id).unwrap();
    assert_eq!(recall(&store, &actor("owner"), slip.msg_id), Ok(revised));
    assert_eq!(walk(&store, "owner", "c", 100, Direction::Up)[0].status, Status::Recalled);
    assert_eq!((seen_by(&store, "owner").unread, seen_by(&store, "a").unread), (400, 0));
}

fn what_has_expired_or_was_said_before_one_joined_is_not_found<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group_with(&store, "c", &["owner", "a"], History::FromJoin);
    let old = send(&store, "a", "c", 0).msg_id;
    change(&store, "c", MemberChange { add: vec![user("late")], ..MemberChange::default() });
    change(&store, "c", set_role("late", Role::Owner));
    let new = send(&store, "a", "c", 1).msg_id;
    let missing = |outcome: Result<Revised>| matches!(outcome, Err(Error::MessageNotFound { field }) if field == "msgId");
    assert!(missing(recall(&store, &actor("late"), old)));
    recall(&store, &actor("late"), new).unwrap();
    backend.advance(2_000);
    for msg_id in [old, new] {
        for by in [actor("owner"), service("z")] {
            assert!(missing(recall(&store, &by, msg_id)), "expired");
        }
    }
}

fn pushes_leave_out_what_was_taken_back<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    group(&store, "d", &["a", "z"]);
    let say = |n: usize| ["c", "d"].map(|name| send(&store, "a", name, n).msg_id);
    let ids: Vec<_> = (0..7).map(say).collect();
    for (at, [of_c, of_d]) in ids.iter().enumerate() {
        if at % 3 == 0 {
            recall(&store, &actor("a"), *of_c).unwrap();
        }
        revise(&store, &actor("a"), "d", *of_d, Change::Recall).unwrap();
    }
    backend.advance(301_000);
    let given = block_on(store.push_due(&actor("a").tenant, 10, &[])).unwrap();
    let summary: Vec<_> = given.iter().map(|due| (due.user.as_str(), due.messages)).collect();
    assert_eq!(summary, [("b", 4)]);
    let shown = given[0].preview.iter().flatten().map(|(_, message)| message.msg_id);
    assert!(shown.eq([ids[5][0], ids[4][0], ids[2][0]]));
}

fn a_client_may_name_a_message_as_the_store_names_its_own<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids = [0, 1].map(|n| send(&store, "a", "c", n).msg_id);
    let named = |n: usize| draft("a", "c", &format!("recall:{}", ids[n]), "mine");
    append(&store, vec![named(0)]).remove(0).unwrap();
    for msg_id in ids {
        recall(&store, &actor("a"), msg_id).unwrap();
    }
    block_on(store.run(&[], 10_000)).unwrap();
    append(&store, vec![named(1)]).remove(0).unwrap();
    let check = |store: &B::Store| {
        let messages = walk(store, "b", "c", 100, Direction::Down);
        let texts: Vec<_> = messages.iter().map(|message| message.content.as_str()).collect();
        assert_eq!(texts, ["", "", "mine", "", "", "mine"]);
    };
    check(&store);
    block_on(store.run(&[], 10_000)).unwrap();
    backend.evict(&store);
    check(&backend.open());
}

/// What everybody has read counts for nobody in any case.
#[test]
fn of_what_was_taken_back_only_what_somebody_has_not_read_is_made_hot() {
    let backend = TieredBackend::<Hot>::new();
    let store = backend.open();
    group(&store, "c", &["a", "b", "late"]);
    let ids: Vec<_> = (0..8).map(|n| send(&store, "a", "c", n).msg_id).collect();
    for at in [0, 1, 3, 5, 6] {
        recall(&store, &actor("a"), ids[at]).unwrap();
    }
    let unread = |name: &str| seen_by(&store, name).unread;
    for (a, b, late, known) in [(7, 4, 2, 3), (7, 7, 4, 2), (7, 7, 7, 0)] {
        for (name, at) in [("a", a), ("b", b), ("late", late)] {
            read(&store, name, "c", ids[at]).unwrap();
        }
        let expected: Vec<u64> =
            [b, late].map(|read| [2, 4, 7].iter().filter(|at| **at > read).count() as u64).to_vec();
        for _ in 0..2 {
            assert_eq!([unread("b"), unread("late")], *expected);
            block_on(store.evict());
        }
        assert_eq!([unread("b"), unread("late")], *expected);
        let key = format!("im:{{{}}}:x:acme/c", partition_of(&actor("a").tenant, &id("c")));
        let count = command_at(backend.redis_url(), "ZCARD", arguments![key]).unwrap();
        assert_eq!(count, [im_store::redis::Value::Integer(known)]);
    }
}
