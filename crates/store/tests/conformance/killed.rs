//! The tiered engine, killed at every step: whichever call to a server is its last, done or not done, the
//! operation tried again and the drain that follows leave exactly what was meant, once.
//!
//! Both is tried of the last call: that it is made, and that it is not ([`super::mortal`]).

use super::backend::{Backend, block_on, machine_ms};
use super::mortal::{Kill, Mortal, MortalPostgres, MortalRedis};
use super::settled::HOT_KEYS;
use super::talk::*;
use super::tiered::{Hot, TieredBackend, settings};
use im_domain::conversation::{ConversationKind, History, NewConversation};
use im_domain::message::Ack;
use im_domain::page::Direction;
use im_domain::retention::RetentionRules;
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_domain::{MsgId, Result};
use im_store::native::{NativePostgres, NativeRedis};
use im_store::tiered::Tiered;
use std::rc::Rc;

pub type Engine = Tiered<MortalRedis, MortalPostgres>;

pub fn engine(backend: &TieredBackend<Hot>, kill: Option<Kill>) -> (Engine, Rc<Mortal>) {
    let mortal = Rc::new(Mortal::new(kill));
    let redis = |url: &String| MortalRedis(NativeRedis::new(url).unwrap(), Rc::clone(&mortal));
    let postgres = |url: &String| MortalPostgres(NativePostgres::new(url).unwrap(), Rc::clone(&mortal));
    let redis = backend.redis_urls().iter().map(redis).collect();
    let postgres = backend.postgres_urls().iter().map(postgres).collect();
    let mut settings = settings(Box::new(machine_ms), RetentionRules::default());
    settings.tier = im_domain::tier::TierRules::at_once();
    (Tiered::new(redis, postgres, settings).unwrap(), mortal)
}

/// Runs `operation` once for each step at which it can die, each time on a state that `prepare` makes,
/// and then what a healthy process does: the operation again, and `check`. Each run has a name of its
/// own, so that one pair of servers does for all.
pub fn at_every_step(
    prepare: impl Fn(&Engine, &str),
    operation: impl Fn(&Engine, &str) -> Result<()>,
    check: impl Fn(&Engine, &str),
) {
    let backend = TieredBackend::<Hot>::new();
    let healthy = engine(&backend, None).0;
    for last_is_made in [false, true] {
        for after in 0.. {
            let name = format!("{after}-{last_is_made}");
            prepare(&healthy, &name);
            let (mortal, life) = engine(&backend, Some(Kill { after, last_is_made }));
            let outcome = operation(&mortal, &name);
            assert!(outcome.is_ok() || life.died(), "step {name}: {outcome:?}");
            if !life.died() {
                assert!(after > 0);
                break;
            }
            // The lease of the dead ends by itself; the test does not wait for that.
            backend.forget("im:{*}:lease");
            operation(&healthy, &name).unwrap_or_else(|error| panic!("step {name}: {error}"));
            check(&healthy, &name);
            drain(&healthy);
            check(&healthy, &name);
            drain(&healthy);
            backend.forget(HOT_KEYS);
            check(&healthy, &name);
        }
    }
}

pub fn drain(engine: &Engine) {
    let report = block_on(engine.run(&[Task::Drain], 10_000)).unwrap();
    assert_eq!((report.backlog, report.dead_lettered), (0, 0));
}

fn texts(engine: &Engine, reader: &str, conversation: &str) -> Vec<String> {
    let messages = walk(engine, reader, conversation, 7, Direction::Down);
    assert!(messages.is_sorted_by(|a, b| a.msg_id < b.msg_id && a.seq + 1 == b.seq), "{messages:?}");
    messages.into_iter().map(|message| message.content).collect()
}

fn unread(engine: &Engine, reader: &str, conversation: &str) -> u64 {
    block_on(engine.conversation(&actor(reader), &id(conversation))).unwrap().unread
}

#[test]
fn a_drain() {
    let prepare = |engine: &Engine, name: &str| {
        group(engine, name, &["a", "b"]);
        for n in 0..5 {
            send(engine, "a", name, n);
        }
        block_on(engine.change_members(&actor("a"), &id(name), add("late"))).unwrap();
        let first = send(engine, "late", name, 5).msg_id;
        sync(engine, "b", "phone", sync_query(name, Some(first))).unwrap();
        let pair = NewConversation {
            id: Some(id(&format!("own-{name}"))),
            kind: ConversationKind::Single,
            members: vec![user(&format!("x-{name}"))],
            history: History::All,
        };
        block_on(engine.create(&actor("a"), pair)).unwrap();
        block_on(engine.change_members(&actor("a"), &id(name), remove("b"))).unwrap();
        block_on(engine.change_members(&actor("a"), &id(name), add("b"))).unwrap();
        send(engine, "a", name, 6);
    };
    let run = |engine: &Engine, _: &str| match block_on(engine.run(&[Task::Drain], 10_000))? {
        report if report.backlog == 0 => Ok(()),
        report => Err(im_domain::Error::internal(format!("{report:?}"))),
    };
    at_every_step(prepare, run, |engine, name| {
        let expected: Vec<_> = (0..7).map(|n| format!("message {n}")).collect();
        assert_eq!(texts(engine, "a", name), expected, "{name}");
        assert_eq!(unread(engine, "b", name), 1, "{name}");
        assert_eq!(unread(engine, "late", name), 1, "{name}");
        assert_eq!(unread(engine, "a", name), 1, "{name}");
        let resumed = sync(engine, "b", "phone", sync_query(name, None)).unwrap();
        assert_eq!((resumed.page.messages.len(), resumed.page.messages[0].seq), (1, 7), "{name}");
        let peer = format!("x-{name}");
        let sent = append(engine, vec![draft_to_peer(&peer, "a")]).remove(0).unwrap();
        assert_eq!(sent.conversation, id(&format!("own-{name}")));
    });
}

#[test]
fn an_append_that_is_to_be_persisted() {
    let drafts = |name: &str| (0..3).map(|n| draft("a", name, &n.to_string(), &n.to_string())).collect();
    let prepare = |engine: &Engine, name: &str| {
        group(engine, name, &["a", "b"]);
        drain(engine);
    };
    let send = |engine: &Engine, name: &str| {
        let receipts = block_on(engine.append(&actor("a"), drafts(name), Ack::Persisted))?;
        receipts.into_iter().collect::<Result<Vec<_>>>().map(|_| ())
    };
    at_every_step(prepare, send, |engine, name| {
        assert_eq!(texts(engine, "b", name), ["0", "1", "2"]);
        assert_eq!(unread(engine, "b", name), 3);
    });
}

#[test]
fn a_first_message_between_two_users() {
    let send = |engine: &Engine, name: &str| {
        let draft = draft_to_peer(&format!("a-{name}"), &format!("b-{name}"));
        let sender = actor(&format!("a-{name}"));
        block_on(engine.append(&sender, vec![draft], Ack::Accepted))?.remove(0).map(|_| ())
    };
    at_every_step(
        |_, _| {},
        send,
        |engine, name| {
            let reader = format!("b-{name}");
            let list = block_on(engine.list(&actor(&reader), "", 10)).unwrap().conversations;
            assert_eq!(list.len(), 1, "{name}");
            assert_eq!((list[0].unread, list[0].head_seq), (1, 1));
            assert_eq!(texts(engine, &reader, list[0].id.as_str()), ["hi"]);
        },
    );
}

#[test]
fn a_conversation_made_and_its_members_changed() {
    let make = |engine: &Engine, name: &str| {
        let new = NewConversation {
            id: Some(id(name)),
            kind: ConversationKind::Group,
            members: vec![user("b")],
            history: History::FromJoin,
        };
        block_on(engine.create(&actor("a"), new))?;
        block_on(engine.change_members(&actor("a"), &id(name), add("c"))).map(|_| ())
    };
    at_every_step(
        |_, _| {},
        make,
        |engine, name| {
            let seen = block_on(engine.conversation(&actor("c"), &id(name))).unwrap();
            assert_eq!((seen.member_count, seen.head_seq), (3, 0), "{name}");
            let listed = block_on(engine.list(&actor("c"), "", 100)).unwrap().conversations;
            assert!(listed.iter().any(|conversation| conversation.id == id(name)), "{name}");
            assert_eq!(page(engine, "c", query(name, MsgId::NONE, 5, Direction::Up)).unwrap().messages, []);
        },
    );
}
