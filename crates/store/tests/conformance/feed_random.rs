//! An index that follows the feed, with stops and lost answers, is the same as one that is made anew, and as what readers
//! pull, whatever happens and in whatever order. A failure prints the seed and the shrunken case.

use super::backend::{Backend, EmbeddedBackend, block_on};
use super::feed_index::{Index, pulled};
use super::random::{Verdict, at_random_on_every_back_end, change, check};
use super::talk::*;
use super::tiered::{Cold, Drained, Hot, Spread, TieredBackend};
use im_domain::MsgId;
use im_domain::message::Draft;
use im_domain::revision::Change;
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn drain(store: &impl Storage) {
    block_on(store.run(&[Task::Drain], 10_000)).unwrap();
}

#[derive(Clone, Debug)]
enum Op {
    Send {
        conversation: usize,
        reply: bool,
    },
    Revise {
        at: usize,
        change: Change,
    },
    Clock {
        ms: i64,
    },
    Drain,
    Evict,
    Reopen,
    /// The answer of one part is lost where `is_lost`.
    Follow {
        limit: u32,
        is_lost: bool,
    },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0_usize..6, any::<bool>()).prop_map(|(conversation, reply)| Op::Send { conversation, reply }),
        4 => (0_usize..40, change()).prop_map(|(at, change)| Op::Revise { at, change }),
        2 => (-9_000_i64..9_000).prop_map(|ms| Op::Clock { ms }),
        3 => Just(Op::Drain),
        1 => Just(Op::Evict),
        1 => Just(Op::Reopen),
        6 => (1_u32..9, prop::bool::weighted(0.3)).prop_map(|(limit, is_lost)| Op::Follow { limit, is_lost }),
    ]
}

fn an_index_is_what_readers_pull<B: Backend>(ops: Vec<Op>) -> Verdict {
    let backend = B::clocked();
    let mut store = backend.open();
    let mut index = Index::default();
    let mut said: Vec<(String, MsgId)> = Vec::new();
    let mut made = BTreeSet::new();
    for (n, op) in ops.into_iter().enumerate() {
        match op {
            Op::Send { conversation, reply } => {
                let name = format!("c{conversation}");
                if made.insert(name.clone()) {
                    group(&store, &name, &["a", "b"]);
                }
                let quoted = said.iter().rev().find(|(at, _)| *at == name).map(|(_, id)| *id);
                let reply_to = quoted.filter(|_| reply);
                let one = Draft { reply_to, ..draft("a", &name, &n.to_string(), &format!("text {n}")) };
                said.push((name, append(&store, vec![one]).remove(0).unwrap().msg_id));
            }
            Op::Revise { at, change } => {
                if let Some((name, msg_id)) = said.get(at) {
                    // What was taken back is final.
                    let _refused = revise(&store, &service("a"), name, *msg_id, change);
                }
            }
            Op::Clock { ms } => backend.set_clock(backend.now().saturating_add_signed(ms)),
            Op::Drain => drain(&store),
            Op::Evict => backend.evict(&store),
            Op::Reopen => store = backend.open(),
            Op::Follow { limit, is_lost: true } => drop(index.part(&store, limit)),
            Op::Follow { limit, is_lost: false } => drop(index.read(&store, limit)),
        }
    }
    drain(&store);
    index.catch_up(&store, || 3);
    let wanted = pulled(&store, "b", made.iter().map(String::as_str));
    prop_assert_eq!(&index.shelf, &wanted);
    for limit in [1, 7, 100] {
        prop_assert_eq!(&Index::of(&store, limit).shelf, &wanted);
    }
    Ok(())
}

fn follow<B: Backend>(cases: u32) {
    check(cases, prop::collection::vec(op(), 1..60), an_index_is_what_readers_pull::<B>);
}

at_random_on_every_back_end!(follow);
