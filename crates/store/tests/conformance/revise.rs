//! Messages that are edited or deleted for all: every read path shows what they have become and never what they
//! were, devices that are past them learn of it, revisions of one message come one after the other, and what
//! is final stays so. What deleting has in common with taking back stands in `recall.rs`, too.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use im_domain::conversation::{Conversation, History, MemberChange, Role};
use im_domain::device::Totals;
use im_domain::ext::Ext;
use im_domain::global::ChangeKind;
use im_domain::limits::{
    CONTENT_BYTES_MAX, EDIT_MS_DEFAULT, EDITS_MAX, RECALL_MS_DEFAULT, SUMMARY_CHARS_MAX,
};
use im_domain::message::{Draft, Kind, Message, QuoteStatus, Status};
use im_domain::page::Direction;
use im_domain::revision::{Change, Revised, Told};
use im_domain::storage::{Actor, Storage};
use im_domain::{Error, MsgId, Result};

on_every_back_end!(
    every_read_path_shows_what_a_message_has_become,
    devices_that_are_past_it_learn_of_it,
    repeated_nothing_changes,
    what_is_recalled_or_deleted_stays_so,
    its_sender_alone_edits_a_message_within_its_time,
    who_may_take_back_may_delete,
    an_edit_changes_no_count_and_what_is_deleted_counts_for_nobody,
    a_summary_follows_the_last_message_and_no_older_one,
    a_very_old_message_is_revised_as_any_other,
    what_has_expired_or_was_said_before_one_joined_is_not_found,
    devices_are_told_that_something_was_revised,
    pushes_show_what_messages_have_become,
    too_much_is_refused_and_nothing_is_stored,
    a_message_is_edited_so_often_and_no_more,
    racing_edits_come_one_after_the_other,
);

fn told(outcome: Result<Revised>) -> Told {
    outcome.unwrap().told.unwrap()
}

fn edit(store: &impl Storage, who: &Actor, msg_id: MsgId, content: &str) -> Result<Revised> {
    revise(store, who, "c", msg_id, edit_to(content))
}

fn is_final(outcome: &Result<Revised>) -> bool {
    matches!(outcome, Err(Error::Conflict { field, .. }) if field == "msgId")
}

fn is_forbidden(outcome: &Result<Revised>) -> bool {
    matches!(outcome, Err(Error::Forbidden { .. }))
}

fn is_missing(outcome: &Result<Revised>) -> bool {
    matches!(outcome, Err(Error::MessageNotFound { field }) if field == "msgId")
}

/// What a reader finds in the place of a message.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    status: Status,
    content: String,
    edit_time: Option<u64>,
    has_ext: bool,
}

impl Found {
    fn of(message: &Message) -> Self {
        let Message { status, edit_time, ext, .. } = message;
        let content = message.content.clone();
        Self { status: *status, content, edit_time: *edit_time, has_ext: ext.is_some() }
    }

    /// Its quotes.
    fn quoted(&self) -> (QuoteStatus, Option<String>) {
        let start: String = self.content.chars().take(SUMMARY_CHARS_MAX).collect();
        (self.status.into(), (self.status == Status::Normal).then_some(start))
    }
}

fn every_read_path_shows_what_a_message_has_become<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let before = send(&store, "b", "c", 0);
    let mut one = draft("a", "c", "slip", "what nobody is to read");
    (one.ext, one.reply_to) = (Some(Ext::parse("{\"n\":1}").unwrap()), Some(before.msg_id));
    let slip = append(&store, vec![one]).remove(0).unwrap();
    let answer = |name: &str| Draft { reply_to: Some(slip.msg_id), ..draft("b", "c", name, "what?") };
    let early = append(&store, vec![answer("early")]).remove(0).unwrap();
    let text = format!("another\u{1f600}\n\0 {}", "long ".repeat(50));
    let changes = [edit_to("shorter"), edit_to(&text), Change::Delete];
    for (n, change) in changes.into_iter().enumerate() {
        let action = change.action();
        let is_edit = matches!(change, Change::Edit { .. });
        let content = change.content().to_owned();
        let Told { msg_id: control, seq } = told(revise(&store, &actor("a"), "c", slip.msg_id, change));
        assert_eq!(seq, early.seq + 1 + 2 * n as u64);
        let late = append(&store, vec![answer(&format!("late {n}"))]).remove(0).unwrap();
        let edit_time = is_edit.then(|| control.time_ms());
        let expected = Found { status: action.status(), content, edit_time, has_ext: is_edit };
        let check = |store: &B::Store| {
            for (limit, direction) in [(1, Direction::Up), (100, Direction::Up), (2, Direction::Down)] {
                let messages = walk(store, "b", "c", limit, direction);
                let ids: Vec<_> = messages.iter().map(|message| message.msg_id).collect();
                assert_eq!(ids[..3], [before.msg_id, slip.msg_id, early.msg_id]);
                assert_eq!(ids[ids.len() - 2..], [control, late.msg_id]);
                assert_eq!(Found::of(&messages[1]), expected);
                assert_eq!((messages[1].kind, messages[1].seq), (Kind::Text, slip.seq));
                assert_eq!(messages[1].reply_to.as_ref().unwrap().preview.as_deref(), Some("message 0"));
                let told = messages[messages.len() - 2].control.unwrap();
                assert_eq!((told.msg_id, told.action), (slip.msg_id, action));
                let quotes = messages.iter().skip(2).filter_map(|message| message.reply_to.clone());
                let quotes: Vec<_> = quotes.map(|quote| (quote.status, quote.preview)).collect();
                assert_eq!(quotes, vec![expected.quoted(); n + 2]);
            }
            let found = get(store, "b", "c", &[slip.msg_id, early.msg_id]).unwrap().messages;
            assert_eq!(Found::of(&found[0]), expected);
            let synced = sync(store, "b", "phone", sync_query("c", Some(before.msg_id))).unwrap();
            assert_eq!(Found::of(&synced.page.messages[0]), expected);
            let digest = block_on(store.digest(&actor("b"), None, "", 10, 5)).unwrap();
            let latest = digest.conversations[0].latest.iter().find(|one| one.msg_id == slip.msg_id);
            assert!(latest.is_none_or(|message| Found::of(message) == expected));
        };
        check(&store);
        block_on(store.run(&[], 10_000)).unwrap();
        check(&store);
        backend.evict(&store);
        check(&backend.open());
    }
}

fn devices_that_are_past_it_learn_of_it<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let slip = send(&store, "a", "c", 0);
    let last = send(&store, "a", "c", 1).msg_id;
    let controls = [edit_to("b"), edit_to("c"), Change::Delete]
        .map(|change| told(revise(&store, &actor("a"), "c", slip.msg_id, change)));
    let page = sync(&store, "b", "phone", sync_query("c", Some(last))).unwrap().page;
    let learnt: Vec<_> = page.messages.iter().map(|one| (one.msg_id, one.seq)).collect();
    assert_eq!(learnt, controls.map(|told| (told.msg_id, told.seq)));
    assert!(page.messages.iter().all(|one| one.control.is_some_and(|it| it.msg_id == slip.msg_id)));
    assert!(page.messages.iter().all(|one| (one.kind, one.content.as_str()) == (Kind::Recall, "")));
    assert_eq!(page.head_seq, controls[2].seq);
}

fn repeated_nothing_changes<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let slip = send(&store, "a", "c", 0);
    let head = || conversation(&backend.open(), "b", "c").head_seq;
    let unchanged = Ok(Revised { msg_id: slip.msg_id, told: None });
    assert_eq!(edit(&store, &actor("a"), slip.msg_id, "message 0"), unchanged);
    backend.evict(&store);
    assert_eq!(edit(&store, &actor("a"), slip.msg_id, "message 0"), unchanged);
    assert_eq!((head(), get(&store, "b", "c", &[slip.msg_id]).unwrap().messages[0].edit_time), (1, None));
    for (n, content) in ["b", "c", "", "message 0"].into_iter().enumerate() {
        let first = edit(&store, &actor("a"), slip.msg_id, content);
        for _ in 0..2 {
            assert_eq!(edit(&backend.open(), &actor("a"), slip.msg_id, content), first, "{content}");
            backend.evict(&store);
        }
        assert_eq!((told(first).seq, head()), (n as u64 + 2, n as u64 + 2));
    }
    let first = revise(&store, &actor("a"), "c", slip.msg_id, Change::Delete);
    for by in [actor("a"), service("z"), actor("a")] {
        assert_eq!(revise(&backend.open(), &by, "c", slip.msg_id, Change::Delete), first);
        backend.evict(&store);
    }
    assert_eq!((told(first).seq, head()), (6, 6));
    assert_eq!(send(&store, "a", "c", 0).msg_id, slip.msg_id, "a retry of what was edited and deleted");
}

fn what_is_recalled_or_deleted_stays_so<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids = [0, 1].map(|n| send(&store, "a", "c", n).msg_id);
    let finals = [Change::Recall, Change::Delete];
    for (msg_id, change) in ids.into_iter().zip(finals.clone()) {
        edit(&store, &actor("a"), msg_id, "edited before").unwrap();
        revise(&store, &actor("a"), "c", msg_id, change).unwrap();
    }
    let check = |store: &B::Store| {
        for ((msg_id, other), who) in ids.into_iter().zip(finals.iter().rev()).zip(["a", "a"]) {
            assert!(is_final(&edit(store, &actor(who), msg_id, "again")));
            assert!(is_final(&edit(store, &actor(who), msg_id, "")));
            for by in [actor(who), service("z")] {
                assert!(is_final(&revise(store, &by, "c", msg_id, other.clone())));
            }
        }
        let found = get(store, "b", "c", &ids).unwrap().messages;
        let shown = found.iter().map(|one| (one.status, one.content.as_str(), one.edit_time));
        assert!(shown.eq([(Status::Recalled, "", None), (Status::Deleted, "", None)]));
        assert_eq!(conversation(store, "b", "c").head_seq, 6);
    };
    check(&store);
    backend.evict(&store);
    check(&backend.open());
}

fn its_sender_alone_edits_a_message_within_its_time<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["owner", "admin", "a", "b"]);
    change(&store, "c", set_role("admin", Role::Admin));
    let ids = [0, 1, 2].map(|n| send(&store, "a", "c", n).msg_id);
    for by in [actor("owner"), actor("admin"), actor("b"), service("owner"), service("z")] {
        assert!(is_forbidden(&edit(&store, &by, ids[0], "not mine")), "{by:?}");
        assert!(is_forbidden(&edit(&store, &by, ids[0], "message 0")), "{by:?}");
    }
    assert_eq!(edit(&store, &actor("z"), ids[0], "not mine"), Err(Error::NotMember));
    assert!(is_missing(&edit(&store, &actor("a"), MsgId::new(ids[2].number() + 1).unwrap(), "none")));
    let nowhere = revise(&store, &actor("a"), "nowhere", ids[0], edit_to("none"));
    assert_eq!(nowhere, Err(Error::ConversationNotFound));
    backend.advance(RECALL_MS_DEFAULT + 1_000);
    let control = told(edit(&store, &actor("a"), ids[0], "mine")).msg_id;
    edit(&store, &service("a"), ids[1], "for me").unwrap();
    let of_control = edit(&store, &actor("a"), control, "a control message");
    assert!(matches!(of_control, Err(Error::Invalid { field, .. }) if field == "msgId"));
    change(&store, "c", remove("a"));
    assert_eq!(edit(&store, &actor("a"), ids[2], "gone"), Err(Error::NotMember));
    change(&store, "c", add("a"));
    backend.advance(EDIT_MS_DEFAULT - RECALL_MS_DEFAULT);
    for by in [actor("a"), service("a")] {
        assert!(is_forbidden(&edit(&store, &by, ids[2], "too late")));
    }
    assert_eq!(told(edit(&store, &actor("a"), ids[0], "mine")).msg_id, control, "it says so already");
    let messages = walk(&store, "b", "c", 100, Direction::Down);
    let texts = messages.iter().take(3).map(|message| message.content.as_str());
    assert!(texts.eq(["mine", "for me", "message 2"]));
}

fn who_may_take_back_may_delete<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["owner", "admin", "a", "b"]);
    change(&store, "c", set_role("admin", Role::Admin));
    let ids: Vec<_> = (0..5).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let delete = |by: &Actor, n: usize| revise(&store, by, "c", ids[n], Change::Delete);
    assert!(is_forbidden(&delete(&actor("b"), 0)));
    assert_eq!(delete(&actor("z"), 0), Err(Error::NotMember));
    let control = told(delete(&actor("a"), 0)).msg_id;
    let of_control = revise(&store, &service("z"), "c", control, Change::Delete);
    assert!(matches!(of_control, Err(Error::Invalid { field, .. }) if field == "msgId"));
    backend.advance(RECALL_MS_DEFAULT + 1_000);
    assert!(is_forbidden(&delete(&actor("a"), 1)), "too late");
    for (n, by) in [(1, actor("owner")), (2, actor("admin")), (3, service("z"))] {
        delete(&by, n).unwrap();
    }
    let statuses: Vec<_> =
        walk(&store, "b", "c", 100, Direction::Down).iter().take(5).map(|message| message.status).collect();
    let deleted = Status::Deleted;
    assert_eq!(statuses, [deleted, deleted, deleted, deleted, Status::Normal]);
}

fn an_edit_changes_no_count_and_what_is_deleted_counts_for_nobody<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..4).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let own = send(&store, "b", "c", 0).msg_id;
    let unread = || {
        let store = backend.open();
        let totals = block_on(store.totals(&actor("b"))).unwrap();
        let [of_a, of_b] = ["a", "b"].map(|name| conversation(&store, name, "c").unread);
        assert_eq!(totals, Totals { conversations: u64::from(of_b > 0), messages: of_b });
        (of_a, of_b)
    };
    for (msg_id, by) in [(ids[0], "a"), (ids[0], "a"), (own, "b")] {
        edit(&store, &actor(by), msg_id, &format!("{} edited", msg_id.number())).unwrap();
        edit(&store, &actor(by), msg_id, "edited").unwrap();
        assert_eq!(unread(), (1, 4));
    }
    let delete = |by: &str, msg_id| revise(&store, &actor(by), "c", msg_id, Change::Delete).unwrap();
    delete("a", ids[0]);
    assert_eq!(unread(), (1, 3));
    delete("b", own);
    backend.evict(&store);
    assert_eq!(unread(), (0, 3));
    let state = read(&store, "b", "c", ids[1]).unwrap();
    assert_eq!((state.read_msg_id, state.unread), (ids[1], 2));
    delete("a", ids[1]);
    edit(&store, &actor("a"), ids[2], "edited, too").unwrap();
    assert_eq!(unread(), (0, 2), "what was read before was not unread");
    delete("a", ids[2]);
    backend.evict(&store);
    assert_eq!(unread(), (0, 1));
    send(&store, "a", "c", 4);
    assert_eq!(unread(), (0, 2));
}

fn seen(store: &impl Storage) -> (String, Status) {
    let one: Conversation = conversation(store, "b", "c");
    let listed = block_on(store.list(&actor("b"), "", 10)).unwrap().conversations.remove(0);
    assert_eq!(listed.last, one.last);
    let last = one.last.unwrap();
    (last.summary, last.status)
}

fn a_summary_follows_the_last_message_and_no_older_one<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let (old, new) = (send(&store, "a", "c", 0).msg_id, send(&store, "a", "c", 1).msg_id);
    let check = |summary: &str, status: Status| {
        for store in [&store, &backend.open()] {
            assert_eq!(seen(store), (summary.to_owned(), status));
            backend.evict(store);
        }
        assert_eq!(seen(&store), (summary.to_owned(), status));
    };
    edit(&store, &actor("a"), old, "older").unwrap();
    check("message 1", Status::Normal);
    let long = "\u{1f600}".repeat(SUMMARY_CHARS_MAX + 1);
    edit(&store, &actor("a"), new, &long).unwrap();
    check(&"\u{1f600}".repeat(SUMMARY_CHARS_MAX), Status::Normal);
    edit(&store, &actor("a"), new, "short").unwrap();
    check("short", Status::Normal);
    revise(&store, &actor("a"), "c", old, Change::Delete).unwrap();
    check("short", Status::Normal);
    revise(&store, &actor("a"), "c", new, Change::Delete).unwrap();
    check("", Status::Deleted);
    send(&store, "a", "c", 2);
    check("message 2", Status::Normal);
}

fn a_very_old_message_is_revised_as_any_other<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["owner", "a"]);
    let [slip, other] = [0, 1].map(|n| send(&store, "a", "c", n).msg_id);
    for hundred in 1..5 {
        let many = (0..100).map(|n| draft("a", "c", &format!("{hundred}-{n}"), "more"));
        append(&store, many.collect());
    }
    block_on(store.run(&[], 10_000)).unwrap();
    assert_eq!(edit(&store, &actor("a"), slip, "message 0"), Ok(Revised { msg_id: slip, told: None }));
    for content in ["once", "twice"] {
        let first = edit(&store, &actor("a"), slip, content);
        assert_eq!(edit(&store, &actor("a"), slip, content), first);
        let found = &walk(&store, "owner", "c", 100, Direction::Up)[0];
        assert_eq!((found.content.as_str(), found.edit_time), (content, Some(told(first).msg_id.time_ms())));
    }
    assert!(is_forbidden(&edit(&store, &actor("owner"), slip, "not mine")));
    for msg_id in [slip, other] {
        let first = revise(&store, &actor("owner"), "c", msg_id, Change::Delete);
        assert_eq!(revise(&store, &actor("a"), "c", msg_id, Change::Delete), first);
        assert!(is_final(&edit(&store, &actor("a"), msg_id, "again")));
        assert!(is_final(&revise(&store, &actor("owner"), "c", msg_id, Change::Recall)));
    }
    assert_eq!(walk(&store, "owner", "c", 100, Direction::Up)[0].status, Status::Deleted);
    assert_eq!(conversation(&store, "owner", "c").unread, 400);
    assert_eq!(conversation(&store, "a", "c").unread, 0);
}

fn what_has_expired_or_was_said_before_one_joined_is_not_found<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group_with(&store, "c", &["owner", "a"], History::FromJoin);
    let old = send(&store, "a", "c", 0).msg_id;
    change(&store, "c", remove("a"));
    change(&store, "c", MemberChange { roles: vec![(user("a"), Role::Owner)], ..add("a") });
    let new = send(&store, "a", "c", 1).msg_id;
    let changes = [edit_to("edited"), Change::Delete];
    for change in changes.clone() {
        assert!(is_missing(&revise(&store, &actor("a"), "c", old, change.clone())), "said before");
        revise(&store, &actor("a"), "c", new, change).unwrap();
    }
    backend.advance(2_000);
    for (change, msg_id) in changes.into_iter().flat_map(|change| [(change.clone(), old), (change, new)]) {
        for by in [actor("a"), service("a")] {
            assert!(is_missing(&revise(&store, &by, "c", msg_id, change.clone())), "expired");
        }
    }
}

fn devices_are_told_that_something_was_revised<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let crowd = ["a", "b", "u1", "u2", "u3", "u4", "u5", "u6", "u7"];
    for members in [&crowd[..2], &crowd[..]] {
        let name = if members.len() > 2 { "wide" } else { "c" };
        group(&store, name, members);
        for (n, change) in [Change::Recall, edit_to("edited"), Change::Delete].into_iter().enumerate() {
            let slip = send(&store, "a", name, n).msg_id;
            let unread = conversation(&store, "b", name).unread
                - u64::from(change.action().status() != Status::Normal);
            let before = global(&store, "b", None, "", 10).unwrap().cursor;
            let control = told(revise(&store, &actor("a"), name, slip, change));
            let answer = global(&store, "b", None, &before, 10).unwrap();
            let of_it = answer.changed.iter().find(|one| one.conversation.as_str() == name).unwrap();
            assert_eq!((of_it.head_msg_id, of_it.head_seq), (control.msg_id, control.seq));
            assert_eq!(of_it.unread, unread);
            let told_of = |kind| of_it.kinds.contains(&kind);
            // A store that has forgotten what the cursor stands for begins anew.
            let is_told = told_of(ChangeKind::Revisions) || answer.reset.is_some();
            assert!(told_of(ChangeKind::Messages) && is_told);
        }
    }
}

fn pushes_show_what_messages_have_become<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let ids: Vec<_> = (0..7).map(|n| send(&store, "a", "c", n).msg_id).collect();
    for (at, msg_id) in ids.iter().enumerate() {
        let change = if at % 3 == 0 { Change::Delete } else { edit_to(&format!("edited {at}")) };
        revise(&store, &actor("a"), "c", *msg_id, change).unwrap();
    }
    backend.advance(301_000);
    let given = block_on(store.push_due(&actor("a").tenant, 10, &[])).unwrap();
    let summary: Vec<_> = given.iter().map(|due| (due.user.as_str(), due.messages)).collect();
    assert_eq!(summary, [("b", 4)]);
    let shown = given[0].preview.iter().flatten().map(|(_, message)| message.content.as_str());
    assert!(shown.eq(["edited 5", "edited 4", "edited 2"]));
}

fn too_much_is_refused_and_nothing_is_stored<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let slip = send(&store, "a", "c", 0).msg_id;
    let large = "x".repeat(CONTENT_BYTES_MAX);
    let refused = edit(&store, &actor("a"), slip, &format!("{large}x"));
    assert!(matches!(refused, Err(Error::TooLarge { field, .. }) if field == "content"));
    assert_eq!(get(&store, "b", "c", &[slip]).unwrap().messages[0].content, "message 0");
    edit(&store, &actor("a"), slip, &large).unwrap();
    assert_eq!(get(&store, "b", "c", &[slip]).unwrap().messages[0].content, large);
    backend.evict(&store);
    assert_eq!(get(&store, "b", "c", &[slip]).unwrap().messages[0].content, large);
}

fn a_message_is_edited_so_often_and_no_more<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let slip = send(&store, "a", "c", 0).msg_id;
    let last = (0..EDITS_MAX).map(|n| edit(&store, &actor("a"), slip, &format!("edit {n}")).unwrap()).last();
    for _ in 0..2 {
        assert!(is_final(&edit(&store, &actor("a"), slip, "one more")));
        let again = edit(&store, &actor("a"), slip, &format!("edit {}", EDITS_MAX - 1));
        assert_eq!(again.ok(), last, "it says so already");
        backend.evict(&store);
    }
    revise(&store, &actor("a"), "c", slip, Change::Recall).unwrap();
    assert_eq!(get(&store, "b", "c", &[slip]).unwrap().messages[0].status, Status::Recalled);
}

fn racing_edits_come_one_after_the_other<B: Backend>() {
    const EDITORS: usize = 4;
    const EDITS: usize = 5;
    let backend = B::new();
    let open = backend.opener();
    let store = open();
    group(&store, "c", &["a", "b"]);
    let slip = send(&store, "a", "c", 0).msg_id;
    let editors: Vec<_> = (0..EDITORS)
        .map(|editor| {
            let open = open.clone();
            std::thread::spawn(move || {
                let store = open();
                let text = |n: usize| format!("{editor} {n}");
                let one = |n: usize| (told(edit(&store, &actor("a"), slip, &text(n))), text(n));
                (0..EDITS).map(one).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut edits: Vec<_> = editors.into_iter().flat_map(|editor| editor.join().unwrap()).collect();
    edits.sort_by_key(|(told, _)| told.seq);
    let texts: Vec<_> = edits.iter().map(|(_, text)| text.as_str()).collect();
    let seqs: Vec<_> = edits.iter().map(|(told, _)| told.seq).collect();
    assert_eq!(seqs, (2..2 + (EDITORS * EDITS) as u64).collect::<Vec<_>>());
    let check = |store: &B::Store| {
        let found = get(store, "b", "c", &[slip]).unwrap().messages.remove(0);
        assert_eq!((Some(&found.content.as_str()), found.status), (texts.last(), Status::Normal));
        let versions = block_on(store.versions(&service("z"), &id("c"), slip)).unwrap();
        let kept: Vec<_> = versions.iter().map(|version| version.content.as_str()).collect();
        assert_eq!((kept[0], &kept[1..]), ("message 0", &texts[..]));
    };
    check(&store);
    backend.evict(&store);
    check(&backend.open());
}
