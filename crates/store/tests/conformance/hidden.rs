//! Messages that a user hides from oneself: no way to read shows them to that user, what is unread and what a push tells
//! leaves them out, pages are full behind them, and nobody else sees anything of it.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use im_domain::conversation::{History, Role};
use im_domain::device::Totals;
use im_domain::global::ChangeKind;
use im_domain::message::{Draft, Kind, QuoteStatus, Status};
use im_domain::page::{Around, Direction, PageQuery};
use im_domain::revision::Change;
use im_domain::storage::{Actor, Storage};
use im_domain::{Error, MsgId, Result};

on_every_back_end!(
    no_way_to_read_shows_it_to_who_hid_it_and_all_show_it_to_others,
    what_quotes_it_shows_a_deleted_one_to_who_hid_it,
    pages_are_full_behind_what_is_hidden,
    it_is_unread_for_others_alone,
    what_was_taken_back_and_is_hidden_is_left_out_once,
    the_last_message_is_the_newest_that_is_left,
    devices_of_who_hid_it_are_told_and_nobody_else,
    devices_of_who_joins_again_are_told_of_what_was_hidden,
    hidden_again_nothing_changes_and_each_has_its_own_outcome,
    it_stays_hidden_whatever_becomes_of_it_and_from_who_joins_again,
    what_has_expired_or_was_said_before_one_joined_is_not_found,
    a_very_old_message_is_hidden_as_any_other,
    pushes_leave_it_out,
    a_device_has_missed_nothing_where_something_is_hidden,
);

pub fn hide(store: &impl Storage, who: &Actor, conversation: &str, ids: &[MsgId]) -> Result<Vec<Result<()>>> {
    block_on(store.hide(who, &id(conversation), ids))
}

/// Hides messages of the conversation `c`.
fn hide_in_c(store: &impl Storage, name: &str, ids: &[MsgId]) {
    assert_eq!(hide(store, &actor(name), "c", ids), Ok(vec![Ok(()); ids.len()]));
}

fn ids_of(messages: &[im_domain::message::Message]) -> Vec<MsgId> {
    messages.iter().map(|message| message.msg_id).collect()
}

fn is_around(store: &impl Storage, reader: &str, msg_id: MsgId) -> bool {
    let around = Around { conversation: id("c"), msg_id, before: 2, after: 2 };
    let pages = block_on(store.page(&actor(reader), around.queries())).unwrap();
    match around.context(pages.into_iter().collect::<Result<_>>().unwrap()) {
        Ok(_) => true,
        Err(Error::MessageNotFound { field }) if field == "msgId" => false,
        Err(error) => panic!("{error:?}"),
    }
}

/// Everything that a reader can see of the conversation `c` is these messages.
fn assert_sees(store: &impl Storage, reader: &str, all: &[MsgId], seen: &[MsgId]) {
    for limit in [1, 2, 100] {
        for direction in [Direction::Up, Direction::Down] {
            assert_eq!(ids_of(&walk(store, reader, "c", limit, direction)), seen, "{reader} {limit}");
        }
    }
    let texts = PageQuery { kinds: vec![Kind::Text], ..query("c", MsgId::NONE, 100, Direction::Down) };
    assert_eq!(ids_of(&page(store, reader, texts).unwrap().messages), seen);
    let found = get(store, reader, "c", all).unwrap();
    assert_eq!(ids_of(&found.messages), seen);
    let is_missing = |id: &&MsgId| !seen.contains(id);
    assert_eq!(found.missing, all.iter().filter(is_missing).copied().collect::<Vec<_>>());
    for msg_id in all {
        assert_eq!(is_around(store, reader, *msg_id), seen.contains(msg_id));
    }
    let synced = sync(store, reader, "phone", sync_query("c", Some(MsgId::NONE))).unwrap().page;
    assert_eq!((ids_of(&synced.messages), synced.has_more, synced.reset), (seen.to_vec(), false, None));
    let digest = block_on(store.digest(&actor(reader), None, "", 10, 5)).unwrap();
    let latest: Vec<_> = seen.iter().rev().take(5).copied().collect();
    assert_eq!(ids_of(&digest.conversations[0].latest), latest);
    let shown = |last: Option<im_domain::conversation::LastMessage>| last.map(|last| last.msg_id);
    assert_eq!(shown(digest.conversations[0].conversation.last.clone()), seen.last().copied());
    assert_eq!(shown(conversation(store, reader, "c").last), seen.last().copied());
}

fn no_way_to_read_shows_it_to_who_hid_it_and_all_show_it_to_others<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let mut all: Vec<_> = (0..4).map(|n| send(&store, "a", "c", n).msg_id).collect();
    all.push(send(&store, "b", "c", 0).msg_id);
    let mut left = all.clone();
    // In the middle, the first, the last, which is an own one, and what is left.
    for hidden in [1, 0, 4, 2, 3] {
        hide_in_c(&store, "b", &[all[hidden]]);
        left.retain(|one| *one != all[hidden]);
        for _ in 0..2 {
            assert_sees(&store, "b", &all, &left);
            assert_sees(&store, "a", &all, &all);
            backend.evict(&store);
        }
    }
    all.push(send(&store, "a", "c", 9).msg_id);
    assert_sees(&backend.open(), "b", &all, &all[5..]);
    assert_sees(&backend.open(), "a", &all, &all);
}

fn what_quotes_it_shows_a_deleted_one_to_who_hid_it<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let quoted = send(&store, "a", "c", 0).msg_id;
    let quote = |name: &str| {
        let one = Draft { reply_to: Some(quoted), ..draft("a", "c", name, "quoting") };
        append(&store, vec![one]).remove(0).unwrap().msg_id
    };
    let early = quote("early");
    hide_in_c(&store, "b", &[quoted]);
    let late = quote("late");
    for round in 0..3 {
        let of = |reader: &str| {
            let paged = walk(&store, reader, "c", 100, Direction::Up);
            let found = get(&store, reader, "c", &[early, late]).unwrap().messages;
            let synced = sync(&store, reader, "phone", sync_query("c", Some(quoted))).unwrap().page.messages;
            let quotes = paged.into_iter().chain(found).chain(synced).filter_map(|one| one.reply_to);
            quotes.map(|quote| (quote.sender, quote.status, quote.preview)).collect::<Vec<_>>()
        };
        assert_eq!(of("b"), vec![(Some(user("a")), QuoteStatus::Deleted, None); 6]);
        let whole = (Some(user("a")), QuoteStatus::Normal, Some("message 0".to_owned()));
        assert_eq!(of("a"), vec![whole; 6]);
        backend.evict(&store);
        // Hot again, below what it quotes.
        quote(&round.to_string());
        let last = walk(&store, "b", "c", 100, Direction::Down).pop().unwrap();
        assert_eq!(last.reply_to.unwrap().status, QuoteStatus::Deleted);
        hide_in_c(&store, "b", &[last.msg_id]);
        hide_in_c(&store, "a", &[last.msg_id]);
    }
}

fn pages_are_full_behind_what_is_hidden<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let drafts = (0..100).map(|n| draft("a", "c", &n.to_string(), "text")).collect();
    let all: Vec<_> = append(&store, drafts).into_iter().map(|receipt| receipt.unwrap().msg_id).collect();
    hide_in_c(&store, "b", &all[5..95]);
    let check = |store: &B::Store| {
        let left: Vec<_> = all[..5].iter().chain(&all[95..]).copied().collect();
        let of = |cursor, limit, direction| {
            let page = page(store, "b", query("c", cursor, limit, direction)).unwrap();
            (ids_of(&page.messages), page.has_more)
        };
        assert_eq!(of(MsgId::NONE, 7, Direction::Down), (left[..7].to_vec(), true));
        assert_eq!(of(all[50], 5, Direction::Down), (left[5..].to_vec(), false));
        assert_eq!(of(all[50], 5, Direction::Up), (left[..5].iter().rev().copied().collect(), false));
        assert_eq!(of(all[50], 4, Direction::Down), (left[5..9].to_vec(), true));
        assert_eq!(of(MsgId::NONE, 10, Direction::Up), (left.iter().rev().copied().collect(), false));
        let query = im_domain::page::SyncQuery { limit: 3, ..sync_query("c", Some(all[3])) };
        let synced = sync(store, "b", "phone", query).unwrap().page;
        assert_eq!((ids_of(&synced.messages), synced.has_more), (left[4..7].to_vec(), true));
        assert_eq!((synced.cursor, synced.head_seq), (left[6], 100));
        for limit in [1, 3, 9] {
            assert_eq!(ids_of(&walk(store, "b", "c", limit, Direction::Down)), left);
        }
    };
    check(&store);
    backend.evict(&store);
    check(&backend.open());
}

fn it_is_unread_for_others_alone<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b", "d"]);
    let ids: Vec<_> = (0..6).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let own = send(&store, "b", "c", 0).msg_id;
    let quiet = Draft { silent: true, ..draft("a", "c", "quiet", "silent") };
    let quiet = append(&store, vec![quiet]).remove(0).unwrap().msg_id;
    let unread = |name: &str| {
        let one = conversation(&store, name, "c").unread;
        let totals = Totals { conversations: u64::from(one > 0), messages: one };
        assert_eq!(block_on(store.totals(&actor(name))).unwrap(), totals);
        let listed = block_on(store.list(&actor(name), "", 10)).unwrap().conversations;
        assert_eq!(listed[0].unread, one);
        one
    };
    assert_eq!((unread("b"), unread("d")), (6, 7));
    hide_in_c(&store, "b", &[ids[1], ids[4]]);
    assert_eq!((unread("b"), unread("d")), (4, 7));
    hide_in_c(&store, "b", &[own, quiet]);
    assert_eq!((unread("b"), unread("d"), unread("a")), (4, 7, 1));
    backend.evict(&store);
    assert_eq!((unread("b"), unread("d"), unread("a")), (4, 7, 1));
    // Read up to what is hidden, and beyond.
    for (at, left) in [(0, 3), (1, 3), (2, 2), (4, 1)] {
        assert_eq!(read(&store, "b", "c", ids[at]).unwrap().unread, left, "{at}");
        assert_eq!(unread("b"), left, "{at}");
    }
    // What was read before it is hidden was not unread.
    hide_in_c(&store, "b", &[ids[2]]);
    assert_eq!(unread("b"), 1);
    hide_in_c(&store, "b", &[ids[5]]);
    assert_eq!((unread("b"), unread("d")), (0, 7));
    send(&store, "a", "c", 6);
    assert_eq!((unread("b"), unread("d")), (1, 8));
    backend.evict(&store);
    assert_eq!((unread("b"), unread("d"), unread("a")), (1, 8, 1));
}

fn what_was_taken_back_and_is_hidden_is_left_out_once<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b", "d"]);
    let ids: Vec<_> = (0..6).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let take_back = |at: usize| revise(&store, &actor("a"), "c", ids[at], Change::Recall).unwrap();
    let unread = || ["b", "d"].map(|name| conversation(&store, name, "c").unread);
    hide_in_c(&store, "b", &[ids[1]]);
    take_back(1);
    assert_eq!(unread(), [5, 5]);
    take_back(2);
    hide_in_c(&store, "b", &[ids[2]]);
    assert_eq!(unread(), [4, 4]);
    backend.evict(&store);
    assert_eq!(unread(), [4, 4]);
    hide_in_c(&store, "b", &[ids[3]]);
    backend.evict(&store);
    take_back(3);
    assert_eq!(unread(), [3, 3]);
    read(&store, "b", "c", ids[2]).unwrap();
    assert_eq!(unread(), [2, 3]);
    backend.evict(&store);
    hide_in_c(&store, "b", &[ids[0], ids[5]]);
    assert_eq!(unread(), [1, 3]);
}

fn the_last_message_is_the_newest_that_is_left<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = append(&store, vec![draft("a", "c", "first", "the first")]).remove(0).unwrap().msg_id;
    let slip = send(&store, "a", "c", 1).msg_id;
    let ids: Vec<_> = (2..5).map(|n| send(&store, "a", "c", n).msg_id).collect();
    revise(&store, &actor("a"), "c", slip, Change::Recall).unwrap();
    revise(&store, &actor("a"), "c", first, edit_to("edited")).unwrap();
    let last = |name: &str| {
        let alone = conversation(&store, name, "c").last;
        let listed = block_on(store.list(&actor(name), "", 10)).unwrap().conversations.remove(0);
        assert_eq!(listed.last, alone);
        alone.map(|last| (last.msg_id, last.seq, last.summary, last.status, last.sender))
    };
    let of_a =
        |msg_id, seq, summary: &str, status| Some((msg_id, seq, summary.to_owned(), status, user("a")));
    for (hidden, expected) in [
        (ids[1], of_a(ids[2], 5, "message 4", Status::Normal)),
        (ids[2], of_a(ids[0], 3, "message 2", Status::Normal)),
        (ids[0], of_a(slip, 2, "", Status::Recalled)),
        (slip, of_a(first, 1, "edited", Status::Normal)),
        (first, None),
    ] {
        hide_in_c(&store, "b", &[hidden]);
        for _ in 0..2 {
            assert_eq!(last("b"), expected);
            assert_eq!(last("a"), of_a(ids[2], 5, "message 4", Status::Normal));
            backend.evict(&store);
        }
    }
    let next = send(&store, "a", "c", 9).msg_id;
    assert_eq!(last("b"), of_a(next, 8, "message 9", Status::Normal));
    hide_in_c(&store, "b", &[next]);
    assert_eq!(last("b"), None);
}

fn devices_of_who_hid_it_are_told_and_nobody_else<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let crowd = ["a", "b", "u1", "u2", "u3", "u4", "u5", "u6", "u7"];
    for members in [&crowd[..2], &crowd[..]] {
        let name = if members.len() > 2 { "wide" } else { "c" };
        group(&store, name, members);
        let ids: Vec<_> = (0..2).map(|n| send(&store, "a", name, n).msg_id).collect();
        let above = format!("above-{name}");
        group(&store, &above, &["a", "b"]);
        let cursors = ["a", "b"].map(|name| global(&store, name, None, "", 10).unwrap().cursor);
        let before = conversation(&store, "b", name);
        assert_eq!(hide(&store, &actor("b"), name, &ids[..1]).unwrap(), [Ok(())]);
        let answer = global(&store, "b", None, &cursors[1], 10).unwrap();
        let of_it = answer.changed.iter().find(|one| one.conversation.as_str() == name).unwrap();
        assert_eq!((of_it.head_msg_id, of_it.head_seq, of_it.unread), (ids[1], 2, 1));
        let is_exact = of_it.kinds == [ChangeKind::Revisions];
        // A store that has forgotten what the cursor stands for says more.
        assert!(is_exact || of_it.kinds.contains(&ChangeKind::Revisions) || answer.reset.is_some());
        let again = global(&store, "b", None, &answer.cursor, 10).unwrap();
        if !B::REPEATS {
            // Numbers of another server say nothing about one of the index's.
            assert!(is_exact || of_it.kinds == ChangeKind::ALL, "{of_it:?}");
            assert_eq!(again.changed, []);
            assert_eq!(global(&store, "a", None, &cursors[0], 10).unwrap().changed, []);
            assert_eq!(listed(&store, "b", 10)[0], above);
        }
        let after = conversation(&store, "b", name);
        assert_eq!((after.head_seq, after.update_time), (before.head_seq, before.update_time));
    }
}

fn devices_of_who_joins_again_are_told_of_what_was_hidden<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let crowd = ["a", "b", "u1", "u2", "u3", "u4", "u5", "u6", "u7"];
    for (name, members) in [("c", &crowd[..2]), ("wide", &crowd[..])] {
        group(&store, name, members);
        for is_evicted in [false, true] {
            let msg_id = send(&store, "a", name, usize::from(is_evicted)).msg_id;
            let cursor = global(&store, "b", None, "", 10).unwrap().cursor;
            assert_eq!(hide(&store, &actor("b"), name, &[msg_id]).unwrap(), [Ok(())]);
            change(&store, name, remove("b"));
            if is_evicted {
                backend.evict(&store);
                conversation(&store, "a", name);
            }
            change(&store, name, add("b"));
            let answer = global(&store, "b", None, &cursor, 10).unwrap();
            let of_it = answer.changed.iter().find(|one| one.conversation.as_str() == name).unwrap();
            assert!(of_it.kinds.contains(&ChangeKind::Revisions), "{is_evicted} {answer:?}");
        }
    }
}

fn hidden_again_nothing_changes_and_each_has_its_own_outcome<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..3).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let control = revise(&store, &actor("a"), "c", ids[2], Change::Recall).unwrap().told.unwrap().msg_id;
    let nothing = MsgId::new(ids[0].number() - 1).unwrap();
    let beyond = MsgId::new(control.number() + 1).unwrap();
    let wanted = [ids[1], nothing, control, ids[2], ids[1], MsgId::NONE, beyond];
    let outcome = hide(&store, &actor("b"), "c", &wanted).unwrap();
    let is_missing =
        |one: &Result<()>| matches!(one, Err(Error::MessageNotFound { field }) if field == "msgIds");
    let is_control = |one: &Result<()>| matches!(one, Err(Error::Invalid { field, .. }) if field == "msgId");
    assert!(is_missing(&outcome[1]) && is_missing(&outcome[5]) && is_missing(&outcome[6]), "{outcome:?}");
    assert!(is_control(&outcome[2]), "{outcome:?}");
    assert!([0, 3, 4].iter().all(|at| outcome[*at].is_ok()), "{outcome:?}");
    let before = global(&store, "b", None, "", 10).unwrap().cursor;
    for _ in 0..2 {
        assert_eq!(hide(&store, &actor("b"), "c", &wanted).unwrap(), outcome);
        assert_eq!(hide(&store, &service("b"), "c", &ids[1..]).unwrap(), [Ok(()), Ok(())]);
        assert_eq!(ids_of(&walk(&store, "b", "c", 100, Direction::Down)), [ids[0], control]);
        if !B::REPEATS {
            assert_eq!(global(&store, "b", None, &before, 10).unwrap().changed, []);
        }
        backend.evict(&store);
    }
    assert_eq!(conversation(&store, "b", "c").unread, 1);
    for who in [actor("z"), service("z")] {
        assert_eq!(hide(&store, &who, "c", &ids), Err(Error::NotMember));
    }
    assert_eq!(hide(&store, &actor("a"), "nowhere", &ids), Err(Error::ConversationNotFound));
}

fn it_stays_hidden_whatever_becomes_of_it_and_from_who_joins_again<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..4).map(|n| send(&store, "a", "c", n).msg_id).collect();
    hide_in_c(&store, "b", &[ids[1], ids[2], ids[3]]);
    let edited = revise(&store, &actor("a"), "c", ids[1], edit_to("edited")).unwrap().told.unwrap().msg_id;
    let gone = revise(&store, &actor("a"), "c", ids[2], Change::Delete).unwrap().told.unwrap().msg_id;
    let check = |store: &B::Store| {
        let left = [ids[0], edited, gone];
        assert_eq!(ids_of(&walk(store, "b", "c", 2, Direction::Down)), left);
        assert_eq!(get(store, "b", "c", &ids[1..]).unwrap().missing, ids[1..]);
        assert_eq!(conversation(store, "b", "c").last.unwrap().msg_id, ids[0]);
        assert_eq!(walk(store, "a", "c", 100, Direction::Down).len(), 6);
    };
    check(&store);
    change(&store, "c", remove("b"));
    assert_eq!(hide(&store, &actor("b"), "c", &ids[..1]), Err(Error::NotMember));
    change(&store, "c", add("b"));
    check(&store);
    backend.evict(&store);
    check(&backend.open());
    assert_eq!(conversation(&store, "b", "c").unread, 0);
    change(&store, "c", remove("b"));
    backend.evict(&store);
    conversation(&store, "a", "c");
    change(&store, "c", add("b"));
    check(&store);
    let next = send(&store, "a", "c", 9).msg_id;
    assert_eq!(conversation(&store, "b", "c").unread, 1);
    hide_in_c(&store, "b", &[next]);
    assert_eq!(conversation(&store, "b", "c").unread, 0);
}

fn what_has_expired_or_was_said_before_one_joined_is_not_found<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group_with(&store, "c", &["owner", "a"], History::FromJoin);
    let old = send(&store, "a", "c", 0).msg_id;
    change(&store, "c", add("late"));
    change(&store, "c", set_role("late", Role::Owner));
    let new = send(&store, "a", "c", 1).msg_id;
    let missing = || Err(Error::MessageNotFound { field: "msgIds".into() });
    assert_eq!(hide(&store, &actor("late"), "c", &[old, new]).unwrap(), [missing(), Ok(())]);
    assert_eq!(conversation(&store, "late", "c").unread, 0);
    backend.advance(2_000);
    for purged in [false, true] {
        for name in ["owner", "late"] {
            assert_eq!(hide(&store, &actor(name), "c", &[old, new]).unwrap(), [missing(), missing()]);
            assert_eq!(conversation(&store, name, "c").unread, 0, "{purged}");
        }
        block_on(store.run(&[], 10_000)).unwrap();
    }
    let next = send(&store, "a", "c", 2).msg_id;
    let last = send(&store, "a", "c", 3).msg_id;
    hide_in_c(&store, "late", &[next]);
    assert_eq!(conversation(&store, "late", "c").unread, 1);
    backend.evict(&store);
    assert_eq!(conversation(&store, "late", "c").unread, 1);
    hide_in_c(&store, "late", &[last]);
    assert_eq!(conversation(&store, "late", "c").unread, 0);
    assert_eq!(conversation(&store, "owner", "c").unread, 2);
}

fn a_very_old_message_is_hidden_as_any_other<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["owner", "a"]);
    let mut all = vec![send(&store, "a", "c", 0).msg_id];
    for hundred in 1..5 {
        let many = (0..100).map(|n| draft("a", "c", &format!("{hundred}-{n}"), "more")).collect();
        all.extend(append(&store, many).into_iter().map(|receipt| receipt.unwrap().msg_id));
    }
    block_on(store.run(&[], 10_000)).unwrap();
    hide_in_c(&store, "owner", &[all[0], all[50], all[399]]);
    let mut left = all.clone();
    left.retain(|id| ![all[0], all[50], all[399]].contains(id));
    for _ in 0..2 {
        assert_eq!(ids_of(&walk(&store, "owner", "c", 100, Direction::Up)), left);
        assert_eq!(ids_of(&walk(&store, "a", "c", 100, Direction::Up)), all);
        assert_eq!(
            (conversation(&store, "owner", "c").unread, conversation(&store, "a", "c").unread),
            (398, 0)
        );
        // Hot messages are trimmed by what comes and goes.
        all.push(send(&store, "a", "c", 1_000 + all.len()).msg_id);
        left.push(all[all.len() - 1]);
        block_on(store.run(&[], 10_000)).unwrap();
        read(&store, "owner", "c", all[0]).unwrap();
        hide_in_c(&store, "owner", &[all[all.len() - 1]]);
        left.pop();
        block_on(store.run(&[], 10_000)).unwrap();
    }
}

fn pushes_leave_it_out<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    group(&store, "d", &["a", "z"]);
    let say = |n: usize| ["c", "d"].map(|name| send(&store, "a", name, n).msg_id);
    let ids: Vec<_> = (0..7).map(say).collect();
    for (at, [of_c, of_d]) in ids.iter().enumerate() {
        if at % 3 == 0 {
            assert_eq!(hide(&store, &actor("b"), "c", &[*of_c]).unwrap(), [Ok(())]);
        }
        assert_eq!(hide(&store, &actor("z"), "d", &[*of_d]).unwrap(), [Ok(())]);
    }
    backend.advance(301_000);
    block_on(store.run(&[], 10_000)).unwrap();
    let given = block_on(store.push_due(&actor("a").tenant, 10, &[])).unwrap();
    let summary: Vec<_> = given.iter().map(|due| (due.user.as_str(), due.messages)).collect();
    assert_eq!(summary, [("b", 4)]);
    assert_eq!(given[0].oldest_time_ms, ids[1][0].time_ms());
    let shown = given[0].preview.iter().flatten().map(|(_, message)| message.msg_id);
    assert!(shown.eq([ids[5][0], ids[4][0], ids[2][0]]));
}

fn a_device_has_missed_nothing_where_something_is_hidden<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let first = send(&store, "a", "c", 0).msg_id;
    sync(&store, "b", "phone", sync_query("c", Some(first))).unwrap();
    backend.advance(700);
    let [second, third] = [1, 2].map(|n| send(&store, "a", "c", n).msg_id);
    hide_in_c(&store, "b", &[second]);
    backend.advance(500);
    // The first has expired, the second has not.
    for purged in [false, true] {
        let page = sync(&store, "b", "phone", sync_query("c", None)).unwrap().page;
        assert_eq!((page.reset, ids_of(&page.messages)), (None, vec![third]), "{purged}");
        block_on(store.run(&[], 10_000)).unwrap();
    }
}
