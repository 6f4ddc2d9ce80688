//! Append: ids, `seq`, idempotency, refusals.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use im_domain::ext::Ext;
use im_domain::limits::CONTENT_BYTES_MAX;
use im_domain::message::{Ack, Kind, QuoteStatus, Target};
use im_domain::page::Direction;
use im_domain::storage::{Actor, Storage};
use im_domain::{Error, MsgId, Tenant};

on_every_back_end!(
    seq_is_dense_and_ids_rise_whatever_the_clock_does,
    a_retry_gives_the_first_receipt_also_from_another_instance,
    the_same_client_id_belongs_to_its_sender_and_conversation_alone,
    senders_and_client_ids_with_colons_are_not_taken_for_others,
    a_batch_of_replies_and_of_old_messages_is_decided_at_once,
    other_content_under_the_same_client_id_is_a_conflict,
    a_batch_stores_the_good_ones_in_order_and_names_the_bad_ones,
    content_and_ext_come_back_byte_for_byte,
    a_reply_quotes_a_message_of_its_own_conversation,
    a_refused_reply_to_a_peer_makes_no_chat,
    control_messages_are_not_taken_from_clients,
    persisted_is_acknowledged_as_such_also_for_a_retry,
    tenants_never_meet,
    writers_on_several_instances_share_one_order,
);

fn senders_and_client_ids_with_colons_are_not_taken_for_others<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "a:b"]);
    let first = append(&store, vec![draft("a", "c", "b:1", "same")]).remove(0).unwrap();
    let second = append(&store, vec![draft("a:b", "c", "1", "same")]).remove(0).unwrap();
    assert!(!second.duplicate && first.msg_id < second.msg_id);
}

/// What the hot store cannot decide is asked of SQL for all of a batch, however many there are.
fn a_batch_of_replies_and_of_old_messages_is_decided_at_once<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let sent: Vec<_> = (0..30).map(|n| send(&store, "a", "c", n)).collect();
    backend.evict(&store);
    let old = |n: usize| {
        let mut draft = draft("a", "c", &format!("old-{n}"), "old");
        draft.client_time = Some(1_000);
        draft.reply_to = Some(sent[n].msg_id);
        draft
    };
    let drafts: Vec<_> = (0..30).map(old).collect();
    let receipts = append(&store, drafts.clone());
    let seqs: Vec<_> = receipts.into_iter().map(|receipt| receipt.unwrap().seq).collect();
    assert_eq!(seqs, (31..61).collect::<Vec<_>>());
    let again = append(&store, drafts);
    assert!(again.into_iter().all(|receipt| receipt.unwrap().duplicate));
    let nowhere = (0..30).map(|n| draft("a", "nowhere", &n.to_string(), "x")).collect();
    assert!(append(&store, nowhere).into_iter().all(|answer| answer == Err(Error::ConversationNotFound)));
}

fn seq_is_dense_and_ids_rise_whatever_the_clock_does<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let start = backend.now();
    let mut before = MsgId::NONE;
    for (n, clock) in [start, start, start - 5_000, start + 1, start - 60_000].into_iter().enumerate() {
        backend.set_clock(clock);
        let receipt = send(&store, "a", "c", n);
        assert_eq!(receipt.seq, n as u64 + 1);
        assert!(receipt.msg_id > before);
        assert_eq!(receipt.create_time, receipt.msg_id.time_ms());
        before = receipt.msg_id;
    }
}

fn a_retry_gives_the_first_receipt_also_from_another_instance<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let first = send(&store, "a", "c", 1);
    backend.advance(100_000);
    let again = send(&backend.open(), "a", "c", 1);
    assert!(again.duplicate && !first.duplicate);
    assert_eq!((again.msg_id, again.seq, again.create_time), (first.msg_id, first.seq, first.create_time));
    assert_eq!(walk(&store, "a", "c", 10, Direction::Down).len(), 1);
}

fn the_same_client_id_belongs_to_its_sender_and_conversation_alone<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    group(&store, "d", &["a"]);
    let drafts = vec![draft("a", "c", "1", "x"), draft("b", "c", "1", "y"), draft("a", "d", "1", "z")];
    assert!(append(&store, drafts).into_iter().all(|receipt| !receipt.unwrap().duplicate));
}

fn other_content_under_the_same_client_id_is_a_conflict<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    append(&store, vec![draft("a", "c", "1", "x")]).remove(0).unwrap();
    let answer = append(&store, vec![draft("a", "c", "1", "y")]).remove(0);
    assert!(matches!(answer, Err(Error::Conflict { field, .. }) if field == "clientMsgId"));
}

fn a_batch_stores_the_good_ones_in_order_and_names_the_bad_ones<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let mut too_large = draft("a", "c", "2", "");
    too_large.content = "x".repeat(CONTENT_BYTES_MAX + 1);
    let drafts = vec![
        draft("a", "c", "1", "one"),
        too_large,
        draft("a", "nowhere", "3", "three"),
        draft("stranger", "c", "4", "four"),
        draft("a", "c", "1", "one"),
        draft("a", "c", "5", "five"),
    ];
    let answers = append(&store, drafts);
    assert_eq!(answers[0].as_ref().unwrap().seq, 1);
    assert!(matches!(answers[1], Err(Error::TooLarge { .. })));
    assert_eq!(answers[2], Err(Error::ConversationNotFound));
    assert_eq!(answers[3], Err(Error::NotMember));
    assert!(answers[4].as_ref().unwrap().duplicate);
    assert_eq!(answers[5].as_ref().unwrap().seq, 2);
    let contents: Vec<_> =
        walk(&store, "a", "c", 10, Direction::Down).into_iter().map(|m| m.content).collect();
    assert_eq!(contents, ["one", "five"]);
}

fn content_and_ext_come_back_byte_for_byte<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let contents = ["", "\0", "a\0b", "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}", "ś\t\r\n", "\u{10ffff}"];
    for (n, content) in contents.iter().enumerate() {
        let mut one = draft("a", "c", &n.to_string(), content);
        one.ext = Some(Ext::parse(r#"{ "k" : [1, 2.50, "\u0000"] }"#).unwrap());
        append(&store, vec![one]).remove(0).unwrap();
    }
    let messages = walk(&store, "a", "c", 100, Direction::Down);
    assert_eq!(messages.iter().map(|m| m.content.as_str()).collect::<Vec<_>>(), contents);
    assert!(messages.iter().all(|m| m.ext.as_ref().unwrap().as_str() == r#"{ "k" : [1, 2.50, "\u0000"] }"#));
}

fn a_reply_quotes_a_message_of_its_own_conversation<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    group(&store, "d", &["a"]);
    let long = "ś".repeat(500);
    let root = append(&store, vec![draft("a", "c", "root", &long)]).remove(0).unwrap();
    let mut reply = draft("a", "c", "reply", "yes");
    reply.reply_to = Some(root.msg_id);
    append(&store, vec![reply.clone()]).remove(0).unwrap();
    let messages = walk(&store, "a", "c", 10, Direction::Down);
    let quote = messages[1].reply_to.as_ref().unwrap();
    assert_eq!((quote.msg_id, quote.status), (root.msg_id, QuoteStatus::Normal));
    assert_eq!(quote.sender, Some(user("a")));
    assert_eq!(quote.preview.as_ref().unwrap(), &"ś".repeat(100));

    reply.target = Target::Conversation(id("d"));
    let answer = append(&store, vec![reply]).remove(0);
    assert_eq!(answer, Err(Error::MessageNotFound { field: "replyTo.msgId".into() }));
}

fn a_refused_reply_to_a_peer_makes_no_chat<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    let mut reply = draft_to_peer("a", "b");
    let root = append(&store, vec![draft_to_peer("a", "c")]).remove(0).unwrap();
    reply.reply_to = Some(root.msg_id);
    let answer = append(&store, vec![reply]).remove(0);
    assert_eq!(answer, Err(Error::MessageNotFound { field: "replyTo.msgId".into() }));
    assert!(block_on(store.list(&actor("b"), "", 10)).unwrap().conversations.is_empty());
    let mut reply = draft_to_peer("c", "a");
    reply.reply_to = Some(root.msg_id);
    assert_eq!(append(&store, vec![reply]).remove(0).unwrap().conversation, root.conversation);
}

fn control_messages_are_not_taken_from_clients<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    let mut one = draft("a", "c", "1", "x");
    one.kind = Kind::Recall;
    assert!(
        matches!(append(&store, vec![one]).remove(0), Err(Error::Invalid { field, .. }) if field == "type")
    );
}

fn persisted_is_acknowledged_as_such_also_for_a_retry<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    for duplicate in [false, true] {
        let drafts = vec![draft("a", "c", "1", "x")];
        let receipt = block_on(store.append(&actor("a"), drafts, Ack::Persisted)).unwrap().remove(0).unwrap();
        assert_eq!((receipt.ack, receipt.duplicate), (Ack::Persisted, duplicate));
    }
    assert_eq!(walk(&store, "a", "c", 10, Direction::Down).len(), 1);
}

fn tenants_never_meet<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    send(&store, "a", "c", 1);
    let other = Actor { tenant: Tenant::parse("globex").unwrap(), ..actor("a") };
    let answer =
        block_on(store.append(&other, vec![draft("a", "c", "1", "x")], Ack::Accepted)).unwrap().remove(0);
    assert_eq!(answer, Err(Error::ConversationNotFound));
    assert_eq!(block_on(store.conversation(&other, &id("c"))), Err(Error::ConversationNotFound));
    assert!(block_on(store.list(&other, "", 10)).unwrap().conversations.is_empty());
}

fn writers_on_several_instances_share_one_order<B: Backend>() {
    const WRITERS: usize = 4;
    const EACH: usize = 50;
    let backend = B::new();
    group(&backend.open(), "c", &["a"]);
    let open = backend.opener();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let open = open.clone();
            std::thread::spawn(move || {
                let store = open();
                (0..EACH).map(|n| send(&store, "a", "c", writer * EACH + n).seq).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut seqs: Vec<_> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=(WRITERS * EACH) as u64).collect::<Vec<_>>());
}
