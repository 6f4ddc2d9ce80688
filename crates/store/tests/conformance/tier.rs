//! Old messages move to cold segments: when, which, and what readers see of it, which is nothing. That every other
//! part of the contract holds of them is shown by the modes of the suite in which they are packed.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use im_domain::message::{Ack, Message, Status};
use im_domain::page::Direction::{Down, Up};
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::tier::TierRules;
use im_domain::upkeep::{Task, Tiers};
use im_domain::{Error, MsgId};

on_every_back_end!(
    messages_move_when_they_are_old_and_enough,
    few_messages_wait_until_they_are_twice_as_old,
    outside_its_hours_nothing_moves,
    what_came_later_goes_where_the_last_ones_went,
    a_page_crosses_from_rows_to_segments_without_a_seam,
    what_was_taken_back_is_in_no_segment,
    an_edit_is_in_the_segment_and_what_was_said_before_is_not,
    a_segment_is_purged_whole_or_cut_once_half_of_it_has_expired,
    a_damaged_segment_is_named_and_hides_nothing_else,
    a_reply_to_a_cold_message_shows_it,
    a_message_that_is_sent_again_after_months_is_known_by_the_time_it_tells,
);

const AFTER_MS: u64 = 1_000;

fn rules() -> TierRules {
    TierRules::parse("1000", "").unwrap()
}

fn say(store: &impl Storage, conversation: &str, from: usize, count: usize) -> Vec<MsgId> {
    let draft = |n| draft("a", conversation, &format!("n{n}"), &format!("message {n}"));
    let drafts: Vec<_> = (from..from + count).map(draft).collect();
    let parts = drafts.chunks(100).map(<[_]>::to_vec);
    let send = |part| block_on(store.append(&actor("a"), part, Ack::Accepted)).unwrap();
    parts.flat_map(send).map(|receipt| receipt.unwrap().msg_id).collect()
}

/// Moves what may move; gives how many.
fn tier(store: &impl Storage) -> u64 {
    block_on(store.run(&[Task::Drain], 10_000)).unwrap();
    block_on(store.run(&[Task::Tier], 10_000)).unwrap().tiered
}

fn tiers(store: &impl Storage) -> Tiers {
    block_on(store.status(&actor("a").tenant)).unwrap().tiers
}

fn assert_walks(store: &impl Storage, conversation: &str, expected: &[Message]) {
    for limit in [7, 100] {
        for direction in [Down, Up] {
            assert_eq!(walk(store, "a", conversation, limit, direction), expected, "{limit} {direction:?}");
        }
    }
}

fn messages_move_when_they_are_old_and_enough<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(rules());
    group(&store, "c", &["a", "b"]);
    group(&store, "few", &["a"]);
    say(&store, "c", 0, 150);
    say(&store, "few", 0, 99);
    let before = walk(&store, "a", "c", 100, Down);
    backend.advance(AFTER_MS - 1);
    assert_eq!(tier(&store), 0);
    backend.advance(1);
    // The newest one stays.
    assert_eq!(tier(&store), 149);
    assert_eq!(tiers(&store), Tiers { hot: 0, sql: 100, cold: 149 });
    assert_eq!(block_on(store.status(&actor("a").tenant)).unwrap().last_run.unwrap().report.tiered, 149);
    let packed: Vec<MsgId> = backend.packed().into_iter().map(|record| record.msg_id).collect();
    assert_eq!(packed, before[..149].iter().map(|message| message.msg_id).collect::<Vec<_>>());
    assert_walks(&store, "c", &before);
    assert_eq!(tier(&store), 0);
}

fn few_messages_wait_until_they_are_twice_as_old<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(rules());
    group(&store, "c", &["a"]);
    say(&store, "c", 0, 50);
    for _ in 0..3 {
        backend.advance(AFTER_MS / 2);
        assert_eq!(tier(&store), 0);
    }
    backend.advance(AFTER_MS / 2 + 1);
    assert_eq!(tier(&store), 49);
}

fn outside_its_hours_nothing_moves<B: Backend>() {
    // The clock stands at 17:46.
    let backend = B::clocked();
    let closed = backend.tiering(TierRules::parse("1000", "18:00-17:00").unwrap());
    let open = backend.tiering(TierRules::parse("1000", "17:00-18:00").unwrap());
    group(&closed, "c", &["a"]);
    say(&closed, "c", 0, 150);
    backend.advance(AFTER_MS);
    assert_eq!((tier(&closed), tier(&open)), (0, 149));
}

fn what_came_later_goes_where_the_last_ones_went<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(TierRules::at_once());
    group(&store, "c", &["a"]);
    for n in 0..20 {
        say(&store, "c", n * 10, 10);
        assert_eq!(tier(&store), if n == 0 { 9 } else { 10 });
    }
    let whole = walk(&store, "a", "c", 100, Down);
    assert_eq!(whole.iter().map(|message| message.seq).collect::<Vec<_>>(), (1..=200).collect::<Vec<_>>());
    assert_eq!(backend.packed().len(), 199);
    assert_eq!(tiers(&store), Tiers { hot: 0, sql: 1, cold: 199 });
}

fn a_page_crosses_from_rows_to_segments_without_a_seam<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(rules());
    group(&store, "c", &["a"]);
    say(&store, "c", 0, 120);
    backend.advance(AFTER_MS);
    say(&store, "c", 120, 30);
    assert_eq!(tier(&store), 120);
    let whole = walk(&store, "a", "c", 100, Down);
    assert_eq!(whole.len(), 150);
    assert_walks(&store, "c", &whole);
    for (at, message) in whole.iter().enumerate() {
        let up = page(&store, "a", query("c", message.msg_id, 5, Up)).unwrap();
        let older = whole[..at].iter().rev().take(5).cloned().collect::<Vec<_>>();
        assert_eq!((up.messages, up.has_more), (older, at > 5), "{at}");
        let down = page(&store, "a", query("c", message.msg_id, 5, Down)).unwrap();
        let newer = whole[at + 1..].iter().take(5).cloned().collect::<Vec<_>>();
        assert_eq!((down.messages, down.has_more), (newer, at + 6 < whole.len()), "{at}");
    }
    let ids = [whole[3].msg_id, whole[149].msg_id, whole[118].msg_id];
    let found = get(&store, "a", "c", &ids).unwrap();
    assert_eq!(found.messages, [whole[3].clone(), whole[149].clone(), whole[118].clone()]);
}

fn what_was_taken_back_is_in_no_segment<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(TierRules::at_once());
    group(&store, "c", &["a", "b"]);
    let ids = say(&store, "c", 0, 12);
    tier(&store);
    revise(&store, &service("s"), "c", ids[4], Change::Recall).unwrap();
    revise(&store, &service("s"), "c", ids[7], Change::Delete).unwrap();
    for _ in 0..2 {
        let packed = backend.packed();
        let said = |record: &&im_segment::Record| {
            [&b"message 4"[..], b"message 7"].contains(&record.content.as_slice())
        };
        assert_eq!(packed.iter().find(said), None);
        let shown = walk(&store, "a", "c", 100, Down);
        assert_eq!(shown.len(), 14);
        assert_eq!((shown[4].status, shown[7].status), (Status::Recalled, Status::Deleted));
        assert_eq!(conversation(&store, "b", "c").unread, 10);
        let versions = block_on(store.versions(&service("s"), &id("c"), ids[4])).unwrap();
        assert_eq!(versions[0].content, "message 4");
        tier(&store);
    }
    // What was taken out of a segment is in it again.
    assert_eq!(backend.packed().len(), 11);
}

fn an_edit_is_in_the_segment_and_what_was_said_before_is_not<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(TierRules::at_once());
    group(&store, "c", &["a", "b"]);
    let ids = say(&store, "c", 0, 12);
    tier(&store);
    let told = revise(&store, &actor("a"), "c", ids[4], edit_to("other words")).unwrap().told;
    tier(&store);
    say(&store, "c", 12, 3);
    tier(&store);
    let contents: Vec<Vec<u8>> = backend.packed().into_iter().map(|record| record.content).collect();
    assert!(contents.contains(&b"other words".to_vec()) && !contents.contains(&b"message 4".to_vec()));
    let shown = walk(&store, "a", "c", 100, Down);
    assert_eq!((shown[4].content.as_str(), shown[4].edit_time.is_some()), ("other words", true));
    // The control message is in a segment by now, too.
    let again = revise(&store, &actor("a"), "c", ids[4], edit_to("other words")).unwrap();
    assert_eq!(again.told, told);
    assert_eq!(conversation(&store, "b", "c").unread, 15);
}

fn a_segment_is_purged_whole_or_cut_once_half_of_it_has_expired<B: Backend>() {
    let backend = B::keeping(10_000);
    let store = backend.tiering(TierRules::at_once());
    let expire = || block_on(store.run(&[Task::Drain, Task::Expire], 10_000)).unwrap().expired;
    group(&store, "c", &["a", "b"]);
    for n in 0..10 {
        say(&store, "c", n, 1);
        backend.advance(1_000);
    }
    assert_eq!(tier(&store), 9);
    let seqs = || walk(&store, "b", "c", 100, Down).iter().map(|message| message.seq).collect::<Vec<_>>();
    let unread = || conversation(&store, "b", "c").unread;
    // The first three have expired: they are hidden, and stay where they are.
    backend.advance(2_500);
    assert_eq!((expire(), seqs(), unread()), (0, (4..=10).collect(), 7));
    assert_eq!(tiers(&store).cold, 9);
    backend.advance(2_000);
    assert_eq!((expire(), seqs(), unread()), (5, (6..=10).collect(), 5));
    assert_eq!(backend.packed().len(), 4);
    backend.advance(10_000);
    assert_eq!((expire(), seqs(), unread()), (5, vec![], 0));
    assert!(backend.packed().is_empty());
    assert_eq!(tiers(&store), Tiers::default());
}

fn a_damaged_segment_is_named_and_hides_nothing_else<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(TierRules::at_once());
    group(&store, "c", &["a"]);
    // Several blocks, of which the last is damaged.
    let ids = say(&store, "c", 0, 1_500);
    assert_eq!(tier(&store), 1_499);
    backend.damage(1);
    let first = page(&store, "a", query("c", MsgId::NONE, 100, Down)).unwrap();
    assert_eq!(first.messages.iter().map(|message| message.msg_id).collect::<Vec<_>>(), ids[..100]);
    // Not the newest ones: they may be hot.
    let last = block_on(store.page(&actor("a"), vec![query("c", ids[1_150], 100, Up)]));
    let reason = match last {
        Err(Error::Internal { reason }) => reason,
        other => panic!("{:?}", other.map(|pages| pages.len())),
    };
    assert!(reason.contains(&format!("segment from message {} on", ids[0])), "{reason}");
    // Life goes on.
    assert_eq!(conversation(&store, "a", "c").head_seq, 1_500);
    assert_eq!(say(&store, "c", 1_500, 1).len(), 1);
    assert_eq!(page(&store, "a", query("c", MsgId::NONE, 1, Up)).unwrap().messages[0].seq, 1_501);
}

fn a_reply_to_a_cold_message_shows_it<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(TierRules::at_once());
    group(&store, "c", &["a", "b"]);
    let ids = say(&store, "c", 0, 5);
    tier(&store);
    let reply = |n: usize, to| {
        let mut reply = draft("b", "c", &format!("r{n}"), "reply");
        reply.reply_to = Some(to);
        append(&store, vec![reply]).remove(0)
    };
    let nowhere = MsgId::new(ids[0].number() - 1).unwrap();
    assert!(matches!(reply(0, nowhere), Err(Error::MessageNotFound { field }) if field == "replyTo.msgId"));
    reply(1, ids[1]).unwrap();
    for _ in 0..3 {
        let shown = walk(&store, "a", "c", 100, Down);
        let quote = shown.iter().find_map(|message| message.reply_to.clone()).unwrap();
        assert_eq!((quote.msg_id, quote.preview.as_deref()), (ids[1], Some("message 1")));
        say(&store, "c", shown.len(), 1);
        tier(&store);
    }
}

fn a_message_that_is_sent_again_after_months_is_known_by_the_time_it_tells<B: Backend>() {
    let backend = B::clocked();
    let store = backend.tiering(TierRules::at_once());
    group(&store, "c", &["a"]);
    let mut first = draft("a", "c", "same", "x");
    first.client_time = Some(backend.now());
    let receipt = append(&store, vec![first.clone()]).remove(0).unwrap();
    say(&store, "c", 0, 5);
    tier(&store);
    backend.advance(100 * 86_400_000);
    let again = append(&store, vec![first.clone()]).remove(0).unwrap();
    assert_eq!((again.msg_id, again.seq, again.duplicate), (receipt.msg_id, receipt.seq, true));
    let other = im_domain::message::Draft { content: "y".to_owned(), ..first.clone() };
    assert!(matches!(append(&store, vec![other]).remove(0), Err(Error::Conflict { .. })));
    let persisted = block_on(store.append(&actor("a"), vec![first], Ack::Persisted)).unwrap().remove(0);
    assert_eq!(persisted.unwrap().msg_id, receipt.msg_id);
    assert_eq!(walk(&store, "a", "c", 100, Down).len(), 6);
}
