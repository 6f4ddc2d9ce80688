//! Upkeep: expired means hidden at once, purged later; status; schema.

use super::backend::{Backend, block_on, on_every_back_end};
use super::talk::*;
use im_domain::message::{Ack, QuoteStatus};
use im_domain::page::Direction::{Down, Up};
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_domain::{MsgId, Tenant};

on_every_back_end!(
    the_expired_is_hidden_on_every_path_before_it_is_purged,
    what_has_expired_is_not_unread,
    a_purge_goes_on_over_many_rows_and_conversations,
    without_retention_nothing_expires,
    a_status_counts_the_tenants_own_messages,
);

fn the_expired_is_hidden_on_every_path_before_it_is_purged<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a"]);
    let old = send(&store, "a", "c", 1).msg_id;
    backend.advance(600);
    let mut reply = draft("a", "c", "reply", "later");
    reply.reply_to = Some(old);
    append(&store, vec![reply]).remove(0).unwrap();
    backend.advance(600);
    for purged in [false, true] {
        let messages = walk(&store, "a", "c", 10, Down);
        assert_eq!(messages.iter().map(|m| m.seq).collect::<Vec<_>>(), [2], "purged: {purged}");
        assert_eq!(walk(&store, "a", "c", 10, Up), messages);
        let quote = messages[0].reply_to.clone().unwrap();
        assert_eq!((quote.status, quote.preview, quote.sender), (QuoteStatus::Expired, None, None));
        assert_eq!(block_on(store.get(&actor("a"), &id("c"), &[old])).unwrap().missing, [old]);
        assert_eq!(sync(&store, "a", "d", sync_query("c", None)).unwrap().page.messages, messages);
        let report = block_on(store.run(&[Task::Drain, Task::Expire], 1_000)).unwrap();
        assert_eq!(report.expired, u64::from(!purged));
    }
    backend.advance(5_000);
    assert_eq!(block_on(store.conversation(&actor("a"), &id("c"))).unwrap().last, None);
    assert_eq!(send(&store, "a", "c", 9).seq, 3);
}

fn what_has_expired_is_not_unread<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let unread = || block_on(store.conversation(&actor("b"), &id("c"))).unwrap().unread;
    for n in 0..3 {
        send(&store, "a", "c", n);
    }
    backend.advance(600);
    send(&store, "a", "c", 3);
    assert_eq!(unread(), 4);
    backend.advance(600);
    for purged in [false, true] {
        assert_eq!(unread(), 1, "purged: {purged}");
        block_on(store.run(&[Task::Drain, Task::Expire], 1_000)).unwrap();
    }
    backend.advance(600);
    assert_eq!(unread(), 0);
}

fn a_purge_goes_on_over_many_rows_and_conversations<B: Backend>() {
    let backend = B::keeping(1_000);
    let store = backend.open();
    for conversation in 0..20 {
        let name = format!("c{conversation}");
        group(&store, &name, &["a"]);
        for chunk in 0..3 {
            let drafts = (0..50).map(|n| draft("a", &name, &format!("{chunk}-{n}"), "x")).collect();
            block_on(store.append(&actor("a"), drafts, Ack::Accepted)).unwrap();
        }
    }
    backend.advance(2_000);
    send(&store, "a", "c7", 1);
    assert_eq!(block_on(store.run(&[], 10_000)).unwrap().expired, 20 * 150);
    let status = block_on(store.status(&Tenant::parse("acme").unwrap())).unwrap();
    assert_eq!((status.tiers.sql, status.backlog), (1, 0));
    assert_eq!(status.last_run.unwrap().report.expired, 20 * 150);
    assert_eq!(page(&store, "a", query("c7", MsgId::NONE, 10, Up)).unwrap().messages.len(), 1);
}

fn without_retention_nothing_expires<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "c", &["a"]);
    send(&store, "a", "c", 1);
    backend.advance(1_000_000_000_000);
    assert_eq!(block_on(store.run(&[], 1_000)).unwrap().expired, 0);
    assert_eq!(walk(&store, "a", "c", 10, Up).len(), 1);
}

fn a_status_counts_the_tenants_own_messages<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a"]);
    send(&store, "a", "c", 1);
    block_on(store.run(&[Task::Drain], 10_000)).unwrap();
    let count = |tenant| block_on(store.status(&Tenant::parse(tenant).unwrap())).unwrap().tiers.sql;
    assert_eq!((count("acme"), count("globex")), (1, 0));
    block_on(store.ready()).unwrap();
}
