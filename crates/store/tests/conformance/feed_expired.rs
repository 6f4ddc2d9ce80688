//! What a conversation keeps for a while alone is in neither feed nor export once it has expired, whether SQL knows of the
//! setting yet or not; and what a user hides is hidden from that user, not from an index.

use super::backend::{Backend, block_on, on_every_back_end};
use super::erase::drain;
use super::export::whole;
use super::feed_index::Index;
use super::hidden::hide;
use super::retention::{hold, keep, purge};
use super::talk::*;
use im_domain::MsgId;
use im_domain::message::{Draft, QuoteStatus};
use im_domain::retention::{KeepFor, RetentionRules};
use im_domain::revision::Change;
use im_domain::storage::Storage;

on_every_back_end!(
    what_has_expired_by_a_setting_is_in_neither,
    each_type_is_left_out_as_the_rules_say,
    what_is_hidden_is_in_the_feed_and_quoted_there,
);

const MINUTE: u64 = 60_000;

fn exported(store: &impl Storage, limit: u32) -> Vec<MsgId> {
    whole(store, "a", limit).messages.iter().map(|(_, message)| message.msg_id).collect()
}

fn texts(ids: &[MsgId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn what_has_expired_by_a_setting_is_in_neither<B: Backend>() {
    let backend = B::keeping(0);
    let store = backend.open();
    for name in ["brief", "held", "long"] {
        group(&store, name, &["a", "b"]);
    }
    let [first, held, long] = ["brief", "held", "long"].map(|name| send(&store, "a", name, 0).msg_id);
    drain(&store);
    let mut tail = Index::of(&store, 10);
    assert_eq!(tail.seen, texts(&[first, held, long]));
    let behind = send(&store, "a", "brief", 1).msg_id;
    backend.advance(MINUTE);
    let control = revise(&store, &actor("a"), "brief", behind, Change::Recall).unwrap().told.unwrap().msg_id;
    backend.advance(MINUTE);
    update(&store, &service("z"), "held", hold(true)).unwrap();
    update(&store, &actor("a"), "held", keep(KeepFor::Ms(1))).unwrap();
    update(&store, &actor("a"), "brief", keep(KeepFor::Ms(90_000))).unwrap();
    for round in 0..2 {
        let all = Index::of(&store, 1 + round * 9);
        assert_eq!(all.seen, texts(&[control, held, long]));
        assert!(!all.shelf.contains_key(&("brief".to_owned(), behind)), "nor as what the control is about");
        for limit in [1, 10] {
            assert_eq!(exported(&store, limit), [held, long]);
        }
        drain(&store);
    }
    tail.catch_up(&store, || 10);
    assert_eq!(tail.seen, texts(&[first, held, long, control]), "without {behind}");
    update(&store, &actor("a"), "brief", keep(KeepFor::Policy)).unwrap();
    assert_eq!(Index::of(&store, 10).seen, texts(&[first, behind, control, held, long]), "it was not purged");
    update(&store, &actor("a"), "brief", keep(KeepFor::Ms(90_000))).unwrap();
    assert_eq!(purge(&store), 2);
    update(&store, &actor("a"), "brief", keep(KeepFor::Policy)).unwrap();
    assert_eq!(Index::of(&store, 10).seen, texts(&[control, held, long]));
}

fn each_type_is_left_out_as_the_rules_say<B: Backend>() {
    let backend = B::keeping(0);
    backend.set_rules(RetentionRules::parse("0,single=1000,other/group=1", "").unwrap());
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let said = send(&store, "a", "c", 0).msg_id;
    append(&store, vec![draft_to_peer("a", "b")]).remove(0).unwrap();
    drain(&store);
    assert_eq!((Index::of(&store, 10).seen.len(), exported(&store, 10).len()), (2, 2));
    backend.advance(1_001);
    assert_eq!(Index::of(&store, 10).seen, texts(&[said]));
    assert_eq!(exported(&store, 10), [said]);
}

fn what_is_hidden_is_in_the_feed_and_quoted_there<B: Backend>() {
    let backend = B::new();
    let store = backend.open();
    group(&store, "c", &["a", "b"]);
    let said = send(&store, "a", "c", 0).msg_id;
    let reply = Draft { reply_to: Some(said), ..draft("b", "c", "reply", "what?") };
    let reply = append(&store, vec![reply]).remove(0).unwrap().msg_id;
    for name in ["a", "b"] {
        assert_eq!(hide(&store, &actor(name), "c", &[said]), Ok(vec![Ok(())]));
    }
    drain(&store);
    let events = block_on(store.events(&actor("a").tenant, None, 10)).unwrap().events;
    assert_eq!(events.iter().map(|event| event.message.msg_id).collect::<Vec<_>>(), [said, reply]);
    let quote = events[1].message.reply_to.as_ref().unwrap();
    assert_eq!((quote.status, quote.preview.as_deref()), (QuoteStatus::Normal, Some("message 0")));
    assert_eq!(exported(&store, 10), [said]);
}
