//! The feed of changes: everything that is kept is in it, and then what comes, as it is now; nothing of another tenant,
//! nothing that was taken back, and nothing is passed over, whoever writes at the same time.

use super::backend::{Backend, block_on, on_every_back_end};
use super::feed_index::{Index, pulled, tenant};
use super::talk::*;
use im_domain::limits::FEED_SCAN_MAX;
use im_domain::message::{Ack, Draft, Status};
use im_domain::revision::Change;
use im_domain::storage::{Actor, Storage};
use im_domain::upkeep::Task;
use im_domain::{Error, MsgId};

on_every_back_end!(
    it_begins_with_everything_and_goes_on_with_what_comes,
    what_was_taken_back_is_not_in_it,
    a_message_shows_what_it_has_become,
    nothing_of_another_tenant_is_in_it,
    what_has_expired_is_left_out,
    large_messages_come_in_several_parts,
    nothing_is_passed_over_while_others_write,
    a_clock_that_goes_back_hides_nothing,
    what_is_said_at_one_moment_comes_in_any_order_of_conversations,
);

fn drain(store: &impl Storage) {
    block_on(store.run(&[Task::Drain], 10_000)).unwrap();
}

fn it_begins_with_everything_and_goes_on_with_what_comes<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let nothing = Index::of(&store, 10);
    assert!(nothing.seen.is_empty());
    for name in ["one", "two", "three"] {
        group(&store, name, &["a", "b"]);
        (0..7).for_each(|n| drop(send(&store, "a", name, n)));
    }
    drain(&store);
    let mut index = Index::of(&store, 4);
    assert_eq!(index.seen.len(), 21);
    assert_eq!(index.shelf, pulled(&store, "b", ["one", "two", "three"]));
    assert!(!index.read(&store, 4), "there is nothing new");
    group(&store, "four", &["a", "b"]);
    let said = ["four", "one", "four"].map(|name| send(&store, "b", name, 99).msg_id.to_string());
    drain(&store);
    index.catch_up(&store, || 2);
    // The same clientMsgId once more is the same message; ids of one moment rise by partition.
    index.seen[21..].sort();
    let mut wanted = [said[0].clone(), said[1].clone()];
    wanted.sort();
    assert_eq!(index.seen[21..], wanted);
    let mut late_starter = Index::from(nothing.cursor);
    late_starter.catch_up(&store, || 3);
    assert_eq!(late_starter.shelf, index.shelf);
}

fn what_was_taken_back_is_not_in_it<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let slip = send(&store, "a", "c", 0).msg_id;
    let answer = Draft { reply_to: Some(slip), ..draft("b", "c", "answer", "what?") };
    append(&store, vec![answer]).remove(0).unwrap();
    drain(&store);
    let before = Index::of(&store, 1);
    assert_eq!(before.contents(), ["message 0", "what?"]);
    let tail = send(&store, "a", "c", 1).msg_id;
    drain(&store);
    for msg_id in [slip, tail] {
        revise(&store, &actor("a"), "c", msg_id, Change::Recall).unwrap();
    }
    // SQL may not have heard of it.
    for start in [None, before.cursor.clone()] {
        let mut index = Index::from(start);
        loop {
            let part = index.part(&store, 2);
            let text = format!("{part:?}");
            assert!(!text.contains("message 0") && !text.contains("message 1"), "{text}");
            if !index.read(&store, 2) {
                break;
            }
        }
    }
    drain(&store);
    let mut index = before;
    index.catch_up(&store, || 10);
    assert_eq!(index.shelf, pulled(&store, "b", ["c"]));
    assert_eq!(index.shelf[&("c".to_owned(), slip)].status, Status::Recalled);
}

fn a_message_shows_what_it_has_become<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<MsgId> = (0..3).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let edit = revise(&store, &actor("a"), "c", ids[0], edit_to("edited")).unwrap();
    let deletion = revise(&store, &actor("a"), "c", ids[1], Change::Delete).unwrap();
    drain(&store);
    let part = Index::default().part(&store, 100);
    let told: Vec<_> = part.events.iter().map(|event| (event.kind.as_str(), event.message.msg_id)).collect();
    let [edit, deletion] = [edit, deletion].map(|revised| revised.told.unwrap().msg_id);
    let appends = ids.iter().map(|msg_id| ("append", *msg_id));
    assert_eq!(told, appends.chain([("edit", edit), ("delete", deletion)]).collect::<Vec<_>>());
    let content = |at: usize| part.events[at].message.content.as_str();
    assert_eq!([content(0), content(1), content(2)], ["edited", "", "message 2"]);
    let target = |at: usize| part.events[at].target.as_ref().unwrap();
    assert_eq!((target(3).msg_id, target(3).content.as_str()), (ids[0], "edited"));
    assert_eq!((target(4).msg_id, target(4).status), (ids[1], Status::Deleted));
    assert!(part.events[0].target.is_none());
}

/// More of it than one part looks at.
fn nothing_of_another_tenant_is_in_it<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let other = Actor { tenant: tenant("other"), ..service("x") };
    let new = im_domain::conversation::NewConversation {
        id: Some(id("c")),
        kind: im_domain::conversation::ConversationKind::Group,
        members: vec![user("a")],
        history: im_domain::conversation::History::All,
    };
    block_on(store.create(&other, new)).unwrap();
    group(&store, "c", &["a", "b"]);
    send(&store, "a", "c", 0);
    drain(&store);
    let mut index = Index::of(&store, 10);
    let others = FEED_SCAN_MAX as usize + 200;
    for batch in 0..others / 100 {
        let drafts =
            (0..100).map(|n| draft("a", "c", &format!("{batch}-{n}"), "of another tenant")).collect();
        block_on(store.append(&other, drafts, Ack::Accepted))
            .unwrap()
            .into_iter()
            .for_each(|one| drop(one.unwrap()));
    }
    send(&store, "a", "c", 1);
    drain(&store);
    let first = index.part(&store, 10);
    // Rows alone are looked at for others in vain.
    let is_passing = first.events.is_empty() && first.has_more;
    assert!(is_passing || !backend.packed().is_empty(), "{} events", first.events.len());
    index.catch_up(&store, || 10);
    assert_eq!(index.contents(), ["message 0", "message 1"]);
    assert_eq!(Index::of(&store, 1).contents(), ["message 0", "message 1"]);
    let first = block_on(store.events(&tenant("other"), None, 100)).unwrap();
    assert!(
        first.events.len() == 100
            && first.events.iter().all(|one| one.message.content == "of another tenant")
    );
}

fn what_has_expired_is_left_out<B: Backend>() {
    let backend = B::keeping(10_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let old = send(&store, "a", "c", 0).msg_id;
    drain(&store);
    let start = Index::of(&store, 10);
    let behind = send(&store, "a", "c", 1).msg_id;
    backend.advance(20_000);
    let kept = send(&store, "a", "c", 2).msg_id;
    drain(&store);
    assert_eq!(Index::of(&store, 10).seen, [kept.to_string()]);
    let mut index = start;
    index.catch_up(&store, || 10);
    assert_eq!(index.seen, [old, kept].map(|id| id.to_string()), "without {behind}");
    block_on(store.run(&[Task::Expire], 10_000)).unwrap();
    assert_eq!(Index::of(&store, 10).seen, [kept.to_string()]);
}

fn large_messages_come_in_several_parts<B: Backend>() {
    const LARGE: usize = 65_536;
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let start = Index::of(&store, 10);
    for batch in 0..4 {
        let one = |n| draft("a", "c", &format!("{batch}-{n}"), &"x".repeat(LARGE));
        append(&store, (0..20).map(one).collect()).into_iter().for_each(|one| drop(one.unwrap()));
        drain(&store);
    }
    for cursor in [None, start.cursor] {
        let mut index = Index::from(cursor);
        let first = index.part(&store, 100);
        assert!(first.has_more && first.events.len() == 64, "{}", first.events.len());
        index.catch_up(&store, || 100);
        assert_eq!((index.seen.len(), index.shelf.len()), (80, 80));
    }
}

/// Writers and drains of their own, while a consumer follows from the start.
fn nothing_is_passed_over_while_others_write<B: Backend>() {
    const WRITERS: usize = 3;
    const EACH: usize = 40;
    let backend = B::new();
    let store = backend.open();
    let names: Vec<String> = (0..WRITERS).map(|writer| format!("room{writer}")).collect();
    names.iter().for_each(|name| group(&store, name, &["a", "b"]));
    let mut index = Index::of(&store, 10);
    let open = backend.opener();
    let writer = |name: String| {
        let open = open.clone();
        std::thread::spawn(move || {
            let store = open();
            for n in 0..EACH {
                send(&store, "a", &name, n);
                if n % 7 == 0 {
                    drain(&store);
                }
            }
        })
    };
    let writers: Vec<_> = names.iter().cloned().map(writer).collect();
    let follower = open();
    while !writers.iter().all(std::thread::JoinHandle::is_finished) {
        index.read(&follower, 7);
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    while block_on(store.run(&[Task::Drain], 10_000)).unwrap().backlog > 0 {}
    index.catch_up(&follower, || 20);
    assert_eq!(index.seen.len(), WRITERS * EACH, "each once");
    assert_eq!(index.shelf, pulled(&store, "b", names.iter().map(String::as_str)));
}

/// Conversations of many partitions, some of which have never given an id.
fn a_clock_that_goes_back_hides_nothing<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    let mut index = Index::default();
    let mut names = Vec::new();
    for (turn, back) in [0, 5_000, 3_000_000, 1].into_iter().enumerate() {
        backend.set_clock(backend.now() - back);
        for n in 0..6 {
            let name = format!("c{turn}-{n}");
            group(&store, &name, &["a", "b"]);
            send(&store, "a", &name, 0);
            names.push(name);
        }
        send(&store, "b", "c0-0", turn);
        drain(&store);
        index.catch_up(&store, || 5);
        assert_eq!(index.shelf, pulled(&store, "b", names.iter().map(String::as_str)), "turn {turn}");
        backend.advance(1_000);
    }
}

fn what_is_said_at_one_moment_comes_in_any_order_of_conversations<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    let names: Vec<String> = (0..12).map(|n| format!("c{n}")).collect();
    names.iter().for_each(|name| group(&store, name, &["a", "b"]));
    let mut index = Index::default();
    for (n, name) in names.iter().chain(&names).enumerate() {
        send(&store, "a", name, n);
        drain(&store);
        index.catch_up(&store, || 1);
        assert_eq!(index.seen.len(), n + 1);
    }
}

#[test]
fn a_cursor_that_is_none_is_refused() {
    let refused = im_domain::feed::FeedCursor::parse("t.1");
    assert!(matches!(refused, Err(Error::Invalid { field, .. }) if field == "cursor"));
}
