//! Random operations against a pure model: whatever order they come in, the store and the model
//! give the same answers. A failure prints the seed and the shrunken case.

use super::backend::{Backend, EmbeddedBackend, block_on};
use super::hidden::hide;
use super::retention::keep;
use super::talk::*;
use super::tiered::{Cold, Drained, Hot, Spread, TieredBackend};
use im_domain::conversation::MemberChange;
use im_domain::limits::RECALL_MS_DEFAULT;
use im_domain::message::Action;
use im_domain::msg_id::expired_up_to;
use im_domain::page::{Direction, SyncQuery};
use im_domain::retention::KeepFor;
use im_domain::revision::{Change, Revised, Told};
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_domain::{Error, MsgId};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

const USERS: [&str; 3] = ["a", "b", "c"];
const CONVERSATIONS: [&str; 2] = ["x", "y"];

#[derive(Clone, Debug)]
enum Op {
    Send {
        user: usize,
        conversation: usize,
        client_id: u8,
        content: u8,
    },
    Join {
        user: usize,
        conversation: usize,
    },
    Leave {
        user: usize,
        conversation: usize,
    },
    Read {
        user: usize,
        conversation: usize,
        limit: u32,
        up: bool,
    },
    /// Confirms the message at this place of the history, if there is one.
    Sync {
        user: usize,
        conversation: usize,
        confirm: Option<usize>,
    },
    /// The sender does so with the message at this place of the history, if there is one.
    Revise {
        conversation: usize,
        at: usize,
        change: Change,
    },
    /// The message at this place of the history, if there is one.
    Hide {
        user: usize,
        conversation: usize,
        at: usize,
    },
    /// It keeps its messages for so long; none: for ever, as the rules say.
    Retain {
        conversation: usize,
        ms: Option<u64>,
    },
    /// What has expired is purged.
    Purge,
    Clock {
        ms: i64,
    },
    Reopen,
    Drain,
    /// Everything is to be found only in the slowest place there is.
    Evict,
}

fn op() -> impl Strategy<Value = Op> {
    let user = 0..USERS.len();
    let conversation = 0..CONVERSATIONS.len();
    prop_oneof![
        8 => (user.clone(), conversation.clone(), 0_u8..12, 0_u8..3)
            .prop_map(|(user, conversation, client_id, content)| Op::Send { user, conversation, client_id, content }),
        1 => (user.clone(), conversation.clone()).prop_map(|(user, conversation)| Op::Join { user, conversation }),
        1 => (user.clone(), conversation.clone()).prop_map(|(user, conversation)| Op::Leave { user, conversation }),
        3 => (user.clone(), conversation.clone(), 1_u32..8, any::<bool>())
            .prop_map(|(user, conversation, limit, up)| Op::Read { user, conversation, limit, up }),
        4 => (conversation.clone(), 0_usize..30, change())
            .prop_map(|(conversation, at, change)| Op::Revise { conversation, at, change }),
        3 => (user.clone(), conversation.clone(), 0_usize..30)
            .prop_map(|(user, conversation, at)| Op::Hide { user, conversation, at }),
        3 => (user, conversation.clone(), prop::option::of(0_usize..30))
            .prop_map(|(user, conversation, confirm)| Op::Sync { user, conversation, confirm }),
        1 => (conversation.clone(), prop::option::of(0_u64..3)).prop_map(|(conversation, minutes)| {
            Op::Retain { conversation, ms: minutes.map(|minutes| minutes * 60_000) }
        }),
        1 => Just(Op::Purge),
        2 => (-10_000_i64..40_000).prop_map(|ms| Op::Clock { ms }),
        1 => Just(Op::Reopen),
        1 => Just(Op::Drain),
        1 => Just(Op::Evict),
    ]
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        2 => Just(Change::Recall),
        1 => Just(Change::Delete),
        4 => (0_u8..3).prop_map(|content| Change::Edit { content: content.to_string() }),
    ]
}

#[derive(Default)]
struct Talk {
    members: BTreeSet<usize>,
    messages: Vec<Said>,
    positions: BTreeMap<usize, MsgId>,
    /// Users, and what they have hidden.
    hidden: BTreeSet<(usize, MsgId)>,
    keep_ms: Option<u64>,
}

impl Talk {
    fn seen_by(&self, user: usize, floor: MsgId) -> impl Iterator<Item = &Said> {
        let is_hidden = move |said: &&Said| self.hidden.contains(&(user, said.id));
        self.messages.iter().filter(move |said| said.is_seen(floor)).filter(move |said| !is_hidden(said))
    }

    /// Up to this id nothing is seen.
    fn floor(&self, now_ms: u64) -> MsgId {
        expired_up_to(now_ms, self.keep_ms.unwrap_or(0))
    }
}

struct Said {
    id: MsgId,
    sender: usize,
    /// None: a control message.
    client_id: Option<u8>,
    /// As it was sent.
    content: u8,
    shown: String,
    /// What was done to it last, and the control message of that.
    revised: Option<(Action, Told)>,
    is_purged: bool,
}

impl Said {
    fn is_seen(&self, floor: MsgId) -> bool {
        !self.is_purged && self.id > floor
    }
}

/// The store under test beside the model of what it should hold.
struct Both<B: Backend> {
    store: B::Store,
    backend: B,
    model: Vec<Talk>,
}

pub(super) type Verdict = Result<(), TestCaseError>;

impl<B: Backend> Both<B> {
    fn new() -> Self {
        let backend = B::clocked();
        let store = backend.open();
        let talk = |conversation| {
            group(&store, conversation, &["owner"]);
            Talk::default()
        };
        let model = CONVERSATIONS.map(talk).into();
        Self { store, backend, model }
    }

    fn run(&mut self, op: Op) -> Verdict {
        match op {
            Op::Send { user, conversation, client_id, content } => {
                self.send(user, conversation, client_id, content)?;
            }
            Op::Join { user, conversation } => {
                self.change(conversation, add(USERS[user]));
                self.model[conversation].members.insert(user);
            }
            Op::Leave { user, conversation } => {
                self.change(conversation, remove(USERS[user]));
                self.model[conversation].members.remove(&user);
            }
            Op::Read { user, conversation, limit, up } => self.read(user, conversation, limit, up)?,
            Op::Sync { user, conversation, confirm } => self.sync(user, conversation, confirm)?,
            Op::Revise { conversation, at, change } => self.revise(conversation, at, change)?,
            Op::Hide { user, conversation, at } => self.hide(user, conversation, at)?,
            Op::Retain { conversation, ms } => {
                let keep_for = keep(KeepFor::from(ms));
                update(&self.store, &actor("owner"), CONVERSATIONS[conversation], keep_for).unwrap();
                self.model[conversation].keep_ms = ms;
            }
            Op::Purge => self.purge()?,
            Op::Clock { ms } => self.backend.set_clock(self.backend.now().saturating_add_signed(ms)),
            Op::Reopen => self.store = self.backend.open(),
            Op::Drain => drop(block_on(self.store.run(&[Task::Drain], 10_000)).unwrap()),
            Op::Evict => self.backend.evict(&self.store),
        }
        Ok(())
    }

    fn send(&mut self, user: usize, conversation: usize, client_id: u8, content: u8) -> Verdict {
        let (sender, name) = (USERS[user], CONVERSATIONS[conversation]);
        let one = draft(sender, name, &client_id.to_string(), &content.to_string());
        let answer = append(&self.store, vec![one]).remove(0);
        let talk = &mut self.model[conversation];
        let mut earlier =
            talk.messages.iter().rposition(|m| (m.sender, m.client_id) == (user, Some(client_id)));
        // A retry of what is gone may be known still, or be a message of its own.
        if earlier.is_some_and(|at| talk.messages[at].is_purged)
            && answer.as_ref().is_ok_and(|receipt| !receipt.duplicate)
        {
            earlier = None;
        }
        match (talk.members.contains(&user), earlier) {
            (false, _) => prop_assert_eq!(answer, Err(Error::NotMember)),
            (true, Some(at)) if talk.messages[at].content == content => {
                let receipt = answer.unwrap();
                prop_assert!(receipt.duplicate);
                prop_assert_eq!((receipt.msg_id, receipt.seq), (talk.messages[at].id, at as u64 + 1));
            }
            (true, Some(_)) => {
                let conflict = matches!(answer, Err(Error::Conflict { .. }));
                prop_assert!(conflict);
            }
            (true, None) => {
                let receipt = answer.unwrap();
                prop_assert!(!receipt.duplicate);
                prop_assert_eq!(receipt.seq, talk.messages.len() as u64 + 1);
                prop_assert!(talk.messages.last().is_none_or(|m| m.id < receipt.msg_id));
                let (id, client_id) = (receipt.msg_id, Some(client_id));
                let shown = content.to_string();
                talk.messages.push(Said {
                    id,
                    sender: user,
                    client_id,
                    content,
                    shown,
                    revised: None,
                    is_purged: false,
                });
            }
        }
        Ok(())
    }

    fn purge(&mut self) -> Verdict {
        let report = block_on(self.store.run(&[Task::Drain, Task::Expire], 10_000)).unwrap();
        let mut purged = 0;
        for talk in &mut self.model {
            let floor = talk.floor(self.backend.now());
            for said in talk.messages.iter_mut().filter(|said| !said.is_purged && said.id <= floor) {
                said.is_purged = true;
                purged += 1;
            }
        }
        prop_assert_eq!(report.expired, purged);
        Ok(())
    }

    fn revise(&mut self, conversation: usize, at: usize, change: Change) -> Verdict {
        let talk = &mut self.model[conversation];
        let (seq, floor) = (talk.messages.len() as u64 + 1, talk.floor(self.backend.now()));
        let Some(said) = talk.messages.get_mut(at) else { return Ok(()) };
        let (msg_id, sender, action) = (said.id, said.sender, change.action());
        let window = MsgId::floor_of(self.backend.now() - RECALL_MS_DEFAULT);
        let is_late = action != Action::Edit && msg_id < window;
        let content = change.content().to_owned();
        let answer = revise(&self.store, &actor(USERS[sender]), CONVERSATIONS[conversation], msg_id, change);
        let is_missing = matches!(answer, Err(Error::MessageNotFound { .. }));
        let is_seen = said.is_seen(floor);
        let is_invalid = matches!(answer, Err(Error::Invalid { .. }));
        let is_conflict = matches!(answer, Err(Error::Conflict { .. }));
        let is_forbidden = matches!(answer, Err(Error::Forbidden { .. }));
        let before = said.revised.map(|(action, _)| action).filter(|action| *action != Action::Edit);
        let told = said.revised.map(|(_, told)| told);
        match (talk.members.contains(&sender), said.client_id, before) {
            (false, ..) => prop_assert_eq!(answer, Err(Error::NotMember)),
            (true, ..) if !is_seen => prop_assert!(is_missing, "{:?}", answer),
            (true, None, _) => prop_assert!(is_invalid, "{:?}", answer),
            (true, Some(_), Some(before)) if before == action => {
                prop_assert_eq!(answer, Ok(Revised { msg_id, told }));
            }
            (true, Some(_), Some(_)) => prop_assert!(is_conflict, "{:?}", answer),
            (true, Some(_), None) if action == Action::Edit && content == said.shown => {
                prop_assert_eq!(answer, Ok(Revised { msg_id, told }));
            }
            (true, Some(_), None) if is_late => prop_assert!(is_forbidden, "{:?}", answer),
            (true, Some(_), None) => {
                let revised = answer.unwrap();
                let told = revised.told.unwrap();
                prop_assert_eq!((revised.msg_id, told.seq), (msg_id, seq));
                said.revised = Some((action, told));
                said.shown = content;
                let (id, shown) = (told.msg_id, String::new());
                prop_assert!(talk.messages.last().is_none_or(|m| m.id < id));
                let (client_id, content, revised, is_purged) = (None, 0, None, false);
                talk.messages.push(Said { id, sender, client_id, content, shown, revised, is_purged });
            }
        }
        Ok(())
    }

    fn hide(&mut self, user: usize, conversation: usize, at: usize) -> Verdict {
        let talk = &mut self.model[conversation];
        let floor = talk.floor(self.backend.now());
        let Some(said) = talk.messages.get(at) else { return Ok(()) };
        let answer = hide(&self.store, &actor(USERS[user]), CONVERSATIONS[conversation], &[said.id]);
        if !talk.members.contains(&user) {
            prop_assert_eq!(answer, Err(Error::NotMember));
            return Ok(());
        }
        let outcome = answer.unwrap().remove(0);
        let is_invalid = matches!(outcome, Err(Error::Invalid { .. }));
        let is_missing = matches!(outcome, Err(Error::MessageNotFound { .. }));
        match said.client_id {
            _ if !said.is_seen(floor) => prop_assert!(is_missing, "{:?}", outcome),
            None => prop_assert!(is_invalid, "{:?}", outcome),
            Some(_) => {
                prop_assert_eq!(outcome, Ok(()));
                talk.hidden.insert((user, said.id));
            }
        }
        Ok(())
    }

    fn change(&self, at: usize, change: MemberChange) {
        let conversation = id(CONVERSATIONS[at]);
        block_on(self.store.change_members(&actor("owner"), &conversation, change)).unwrap();
    }

    fn read(&self, user: usize, conversation: usize, limit: u32, up: bool) -> Verdict {
        let (reader, name) = (USERS[user], CONVERSATIONS[conversation]);
        let talk = &self.model[conversation];
        if !talk.members.contains(&user) {
            let one = query(name, MsgId::NONE, limit, Direction::Up);
            prop_assert_eq!(page(&self.store, reader, one), Err(Error::NotMember));
            return Ok(());
        }
        let to = if up { Direction::Up } else { Direction::Down };
        let seen = walk(&self.store, reader, name, limit, to);
        let seen: Vec<_> = seen.iter().map(|m| (m.msg_id, m.content.clone())).collect();
        let floor = talk.floor(self.backend.now());
        let expected: Vec<_> = talk.seen_by(user, floor).map(|m| (m.id, m.shown.clone())).collect();
        prop_assert_eq!(seen, expected);
        Ok(())
    }

    fn sync(&mut self, user: usize, conversation: usize, confirm: Option<usize>) -> Verdict {
        let floor = self.model[conversation].floor(self.backend.now());
        let talk = &mut self.model[conversation];
        let last = confirm.and_then(|at| talk.messages.get(at)).map(|m| m.id);
        let query = SyncQuery { limit: 4, ..sync_query(CONVERSATIONS[conversation], last) };
        let answer = sync(&self.store, USERS[user], "phone", query);
        if !talk.members.contains(&user) {
            prop_assert_eq!(answer, Err(Error::NotMember));
            return Ok(());
        }
        let answer = answer.unwrap();
        let position = talk.positions.entry(user).or_default();
        let start = last.unwrap_or(*position);
        *position = (*position).max(start);
        prop_assert_eq!(answer.position, *position);
        let seen = talk.seen_by(user, floor).map(|m| m.id);
        let expected: Vec<_> = seen.filter(|id| *id > start).take(4).collect();
        prop_assert_eq!(answer.page.messages.iter().map(|m| m.msg_id).collect::<Vec<_>>(), expected);
        Ok(())
    }
}

/// Runs `cases` random sequences of operations.
fn store_and_model_agree<B: Backend>(cases: u32) {
    check(cases, prop::collection::vec(op(), 1..120), |ops| {
        let mut both = Both::<B>::new();
        ops.into_iter().try_for_each(|op| both.run(op))
    });
}

/// Runs `cases` random cases, or as many as `IM_CASES` says; `IM_SEED` gives the seed. The one in use is
/// printed, last of all where the property does not hold.
pub(super) fn check<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Verdict) {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let seed: u64 = number("IM_SEED").unwrap_or_else(rand::random);
    let cases = number("IM_CASES").map_or(cases, |cases| cases as u32);
    println!("repeat with IM_SEED={seed}");
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 4 * cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &wide(seed));
    let mut runner = TestRunner::new_with_rng(config, rng);
    let verdict = runner.run(&strategy, test);
    if let Err(TestError::Fail(reason, case)) = &verdict {
        panic!("{case:?}\n{reason}\nrepeat with IM_SEED={seed} IM_CASES={cases}");
    }
    verdict.unwrap();
}

/// A seed as long as the generator wants it.
fn wide(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}

/// Tries a property on every back end, in as many cases as it is fast.
macro_rules! at_random_on_every_back_end {
    ($property:ident) => {
        #[test]
        fn embedded() {
            $property::<EmbeddedBackend>(64);
        }

        #[test]
        fn hot() {
            $property::<TieredBackend<Hot>>(12);
        }

        #[test]
        fn drained() {
            $property::<TieredBackend<Drained>>(6);
        }

        #[test]
        fn cold() {
            $property::<TieredBackend<Cold>>(6);
        }

        #[test]
        fn spread() {
            $property::<TieredBackend<Spread>>(6);
        }
    };
}
pub(super) use at_random_on_every_back_end;

at_random_on_every_back_end!(store_and_model_agree);
