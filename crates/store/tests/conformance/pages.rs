//! Pages: both directions, limits, bounds, types, and messages by id.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use im_domain::conversation::History;
use im_domain::limits::{CONTENT_BYTES_MAX, PAGE_CONTENT_BYTES_MAX};
use im_domain::message::Kind;
use im_domain::page::Direction::{Down, Up};
use im_domain::page::ResetReason;
use im_domain::storage::Storage;
use im_domain::{Error, MsgId};

on_every_back_end!(
    every_limit_and_direction_walks_the_same_history,
    an_empty_page_gives_the_cursor_back,
    a_reader_beyond_the_newest_message_is_told_so,
    times_bound_a_page_from_inclusive_to_exclusive,
    types_are_filtered_across_pages,
    a_page_of_large_messages_is_cut_short_and_says_so,
    only_members_read_and_a_joiner_sees_what_the_setting_allows,
    several_pages_in_one_call_each_have_their_own_answer,
    messages_come_by_id_and_the_missing_are_named,
);

fn every_limit_and_direction_walks_the_same_history<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    group(&store, "other", &["a"]);
    for n in 0..57 {
        send(&store, "a", "c", n);
        send(&store, "a", "other", n);
    }
    let whole = walk(&store, "a", "c", 100, Down);
    assert_eq!(whole.iter().map(|m| m.seq).collect::<Vec<_>>(), (1..=57).collect::<Vec<_>>());
    for limit in [1, 2, 7, 56, 57, 58, 100] {
        assert_eq!(walk(&store, "a", "c", limit, Down), whole, "down, {limit}");
        assert_eq!(walk(&store, "a", "c", limit, Up), whole, "up, {limit}");
    }
}

fn an_empty_page_gives_the_cursor_back<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let empty = page(&store, "a", query("c", MsgId::NONE, 10, Up)).unwrap();
    assert_eq!((empty.cursor, empty.has_more, empty.head_seq), (MsgId::NONE, false, 0));
    let last = send(&store, "a", "c", 1).msg_id;
    let end = page(&store, "a", query("c", last, 10, Down)).unwrap();
    assert_eq!((end.messages.len(), end.cursor, end.has_more, end.head_seq), (0, last, false, 1));
}

fn a_reader_beyond_the_newest_message_is_told_so<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let only = send(&store, "a", "c", 1).msg_id;
    let ahead = MsgId::new(only.number() + 1).unwrap();
    let reset = page(&store, "a", query("c", ahead, 10, Down)).unwrap().reset.unwrap();
    assert_eq!((reset.reason, reset.oldest), (ResetReason::PositionAhead, only));
    for (cursor, direction) in [(only, Down), (MsgId::MAX, Up), (MsgId::NONE, Down)] {
        assert_eq!(page(&store, "a", query("c", cursor, 10, direction)).unwrap().reset, None);
    }
}

fn times_bound_a_page_from_inclusive_to_exclusive<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let start = backend.now();
    for n in 0..10 {
        backend.set_clock(start + n * 10);
        send(&store, "a", "c", n as usize);
    }
    let seqs = |from: Option<u64>, to: Option<u64>, direction| {
        let mut query = query("c", MsgId::NONE, 100, direction);
        (query.from_ms, query.to_ms) = (from, to);
        let mut seqs: Vec<_> =
            page(&store, "a", query).unwrap().messages.into_iter().map(|m| m.seq).collect();
        seqs.sort_unstable();
        seqs
    };
    for direction in [Up, Down] {
        assert_eq!(seqs(Some(start + 20), Some(start + 50), direction), [3, 4, 5]);
        assert_eq!(seqs(Some(start + 21), None, direction), [4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(seqs(None, Some(start + 1), direction), [1]);
        assert!(seqs(Some(start + 50), Some(start + 50), direction).is_empty());
        assert_eq!(seqs(Some(0), Some(u64::MAX), direction).len(), 10);
    }
}

fn types_are_filtered_across_pages<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let kinds = [Kind::Text, Kind::Image, Kind::Text, Kind::Custom];
    for n in 0..40_usize {
        let mut one = draft("a", "c", &n.to_string(), "x");
        one.kind = kinds[n % kinds.len()];
        append(&store, vec![one]).remove(0).unwrap();
    }
    for direction in [Up, Down] {
        let mut cursor = MsgId::NONE;
        let mut found = Vec::new();
        loop {
            let mut query = query("c", cursor, 3, direction);
            query.kinds = vec![Kind::Custom, Kind::Image, Kind::Image];
            let page = page(&store, "a", query).unwrap();
            cursor = page.cursor;
            found.extend(page.messages.into_iter().map(|m| m.seq));
            if !page.has_more {
                break;
            }
        }
        found.sort_unstable();
        let expected: Vec<u64> = (1..=40).filter(|seq| seq % 2 == 0).collect();
        assert_eq!(found, expected, "{direction:?}");
    }
}

fn a_page_of_large_messages_is_cut_short_and_says_so<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let count = PAGE_CONTENT_BYTES_MAX / CONTENT_BYTES_MAX + 6;
    for n in 0..count {
        let content = "x".repeat(CONTENT_BYTES_MAX);
        append(&store, vec![draft("a", "c", &n.to_string(), &content)]).remove(0).unwrap();
    }
    let first = page(&store, "a", query("c", MsgId::NONE, 100, Down)).unwrap();
    assert!(first.has_more && first.messages.len() < count);
    assert_eq!(walk(&store, "a", "c", 100, Down).len(), count);
    // The pages of one call share the bound; each still goes on.
    group(&store, "small", &["a"]);
    send(&store, "a", "small", 1);
    let queries = ["c", "c", "small", "c"].map(|conversation| query(conversation, MsgId::NONE, 100, Up));
    let answers = block_on(store.page(&actor("a"), queries.to_vec())).unwrap();
    let pages: Vec<_> = answers.into_iter().map(|answer| answer.unwrap()).collect();
    let counts: Vec<_> = pages.iter().map(|page| page.messages.len()).collect();
    assert_eq!(counts, [first.messages.len(), 1, 1, 1]);
    assert_eq!(pages.iter().map(|page| page.has_more).collect::<Vec<_>>(), [true, true, false, true]);
}

fn only_members_read_and_a_joiner_sees_what_the_setting_allows<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    for (conversation, history, seen) in [("all", History::All, 3), ("late", History::FromJoin, 1)] {
        group_with(&store, conversation, &["a"], history);
        let first = send(&store, "a", conversation, 1);
        send(&store, "a", conversation, 2);
        assert_eq!(page(&store, "b", query(conversation, MsgId::NONE, 10, Up)), Err(Error::NotMember));
        block_on(store.change_members(&actor("a"), &id(conversation), add("b"))).unwrap();
        let mut reply = draft("a", conversation, "r", "see above");
        reply.reply_to = Some(first.msg_id);
        append(&store, vec![reply]).remove(0).unwrap();
        let messages = walk(&store, "b", conversation, 10, Down);
        assert_eq!(messages.len(), seen, "{conversation}");
        let preview = messages.last().unwrap().reply_to.as_ref().unwrap().preview.is_some();
        assert_eq!(preview, history == History::All, "{conversation}");
        block_on(store.change_members(&actor("b"), &id(conversation), remove("b"))).unwrap();
        assert_eq!(page(&store, "b", query(conversation, MsgId::NONE, 10, Up)), Err(Error::NotMember));
    }
}

fn several_pages_in_one_call_each_have_their_own_answer<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    send(&store, "a", "c", 1);
    let queries = vec![query("c", MsgId::NONE, 10, Up), query("nowhere", MsgId::NONE, 10, Up)];
    let answers = block_on(store.page(&actor("a"), queries)).unwrap();
    assert_eq!(answers[0].as_ref().unwrap().messages.len(), 1);
    assert_eq!(answers[1], Err(Error::ConversationNotFound));
}

fn messages_come_by_id_and_the_missing_are_named<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    group(&store, "d", &["a"]);
    let ids: Vec<_> = (0..3).map(|n| send(&store, "a", "c", n).msg_id).collect();
    let elsewhere = send(&store, "a", "d", 1).msg_id;
    let wanted = [ids[2], elsewhere, ids[0], ids[2], MsgId::MAX];
    let found = block_on(store.get(&actor("a"), &id("c"), &wanted)).unwrap();
    assert_eq!(found.messages.iter().map(|m| m.msg_id).collect::<Vec<_>>(), [ids[2], ids[0]]);
    assert_eq!(found.missing, [elsewhere, MsgId::MAX]);
    let nothing = block_on(store.get(&actor("a"), &id("c"), &[elsewhere])).unwrap();
    assert_eq!((nothing.messages.len(), nothing.missing.len()), (0, 1));
    assert_eq!(block_on(store.get(&actor("b"), &id("c"), &ids)), Err(Error::NotMember));
    assert_eq!(block_on(store.get(&actor("a"), &id("x"), &ids)), Err(Error::ConversationNotFound));
}
