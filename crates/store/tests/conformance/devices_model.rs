//! Random users, devices, conversations, revisions and losses, against model devices. A model device knows
//! nothing but what the store answers: it asks what has changed, syncs where something was said, confirms what
//! it has stored, and gets anew what a control message says was revised. However often answers
//! are lost, whoever joins and leaves meanwhile, and whether groups grow and shrink across
//! [`super::backend::INDEX_MEMBERS`]: in the end it holds exactly what its user may see, nothing skipped,
//! nothing changed, and the same unread counts as the model of the conversations. A failure prints the seed
//! and the shrunken case.

mod device;

use super::backend::{Backend, EmbeddedBackend, INDEX_MEMBERS, block_on};
use super::hidden::hide;
use super::packed::PackedBackend;
use super::random::{Verdict, at_random_on_every_back_end, change as change_of_text, check};
use super::talk::*;
use super::tiered::{Cold, Drained, Hot, Packed, Spread, TieredBackend};
use device::{Device, Line};
use im_domain::conversation::{History, MemberChange};
use im_domain::device::Totals;
use im_domain::limits::RECALL_MS_DEFAULT;
use im_domain::message::Action;
use im_domain::revision::{Change, Told};
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_domain::{Error, MsgId, UserId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const USERS: [&str; 3] = ["u0", "u1", "u2"];
/// Makes the conversations and never leaves.
const OWNER: usize = USERS.len();
const CONVERSATIONS: [(&str, History); 3] =
    [("x", History::All), ("y", History::FromJoin), ("z", History::All)];
const DEVICES: [(usize, &str); 4] = [(0, "phone"), (0, "tablet"), (1, "phone"), (2, "phone")];

#[derive(Clone, Debug)]
enum Op {
    Send {
        user: usize,
        conversation: usize,
        silent: bool,
    },
    Join {
        user: usize,
        conversation: usize,
    },
    Leave {
        user: usize,
        conversation: usize,
    },
    /// So many come or go that the conversation becomes wide, or ceases to be.
    Crowd {
        conversation: usize,
        grow: bool,
    },
    /// Up to this place of the history, if there is one.
    Read {
        user: usize,
        conversation: usize,
        at: usize,
    },
    /// The message at this place of the history, if there is one; `user` may be [`OWNER`].
    Revise {
        user: usize,
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
    Mute {
        user: usize,
        conversation: usize,
        muted: bool,
    },
    /// After so many answers the connection is lost: the store does what it was asked for once more, and
    /// the device does not know.
    Ask {
        device: usize,
        limit: u32,
        answers: usize,
    },
    /// The device loses all it has stored.
    Reinstall {
        device: usize,
    },
    Clock {
        ms: i64,
    },
    Reopen,
    Drain,
    Evict,
}

fn op() -> impl Strategy<Value = Op> {
    let at = || (0..USERS.len(), 0..CONVERSATIONS.len());
    let device = 0..DEVICES.len();
    prop_oneof![
        10 => (at(), prop::bool::weighted(0.2))
            .prop_map(|((user, conversation), silent)| Op::Send { user, conversation, silent }),
        2 => at().prop_map(|(user, conversation)| Op::Join { user, conversation }),
        2 => at().prop_map(|(user, conversation)| Op::Leave { user, conversation }),
        2 => (0..CONVERSATIONS.len(), any::<bool>())
            .prop_map(|(conversation, grow)| Op::Crowd { conversation, grow }),
        3 => (at(), 0_usize..12).prop_map(|((user, conversation), at)| Op::Read { user, conversation, at }),
        6 => (0..=OWNER, 0..CONVERSATIONS.len(), 0_usize..12, change_of_text())
            .prop_map(|(user, conversation, at, change)| Op::Revise { user, conversation, at, change }),
        4 => (at(), 0_usize..12).prop_map(|((user, conversation), at)| Op::Hide { user, conversation, at }),
        1 => (at(), any::<bool>())
            .prop_map(|((user, conversation), muted)| Op::Mute { user, conversation, muted }),
        8 => (device.clone(), 1_u32..4, prop_oneof![0_usize..5, Just(usize::MAX)])
            .prop_map(|(device, limit, answers)| Op::Ask { device, limit, answers }),
        1 => device.prop_map(|device| Op::Reinstall { device }),
        1 => prop_oneof![4 => -5_000_i64..10_000, 1 => Just(RECALL_MS_DEFAULT as i64 / 2)]
            .prop_map(|ms| Op::Clock { ms }),
        1 => Just(Op::Reopen),
        1 => Just(Op::Drain),
        1 => Just(Op::Evict),
    ]
}

/// A conversation as it should be.
#[derive(Default)]
struct Talk {
    messages: Vec<Said>,
    members: BTreeMap<usize, Member>,
    /// Users, and what they have hidden.
    hidden: BTreeSet<(usize, MsgId)>,
    is_crowded: bool,
}

struct Said {
    id: MsgId,
    sender: usize,
    silent: bool,
    /// Empty once it was recalled or deleted.
    content: String,
    /// What was done to it last, and the control message of that.
    revised: Option<(Action, Told)>,
    is_control: bool,
}

impl Said {
    fn is_gone(&self) -> bool {
        self.revised.is_some_and(|(action, _)| action != Action::Edit)
    }
}

struct Member {
    /// Messages there were when the user joined.
    joined_at: usize,
    read: MsgId,
}

impl Talk {
    fn head(&self) -> MsgId {
        self.messages.last().map_or(MsgId::NONE, |said| said.id)
    }

    fn visible(&self, member: &Member, history: History) -> impl Iterator<Item = &Said> {
        let before = if history == History::FromJoin { member.joined_at } else { 0 };
        self.messages.iter().skip(before)
    }

    /// What the user can see and has not hidden.
    fn left(&self, user: usize, member: &Member, history: History) -> impl Iterator<Item = &Said> {
        self.visible(member, history).filter(move |said| !self.hidden.contains(&(user, said.id)))
    }

    fn unread(&self, user: usize, member: &Member) -> u64 {
        let counts = |said: &Said| !said.silent && !said.is_gone() && !self.hidden.contains(&(user, said.id));
        let is_unread = |said: &&Said| said.id > member.read && said.sender != user && counts(said);
        self.messages.iter().filter(is_unread).count() as u64
    }
}

/// Why nobody, or not this one, may revise a message.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    NotMember,
    Missing,
    Control,
    Forbidden,
    Final,
}

/// The store under test beside the models.
struct World<B: Backend> {
    /// Two connections, used in turn.
    stores: [B::Store; 2],
    backend: B,
    talks: Vec<Talk>,
    devices: Vec<Device>,
    turn: usize,
}

impl<B: Backend> World<B> {
    fn new() -> Self {
        let backend = B::clocked();
        let stores = [backend.open(), backend.open()];
        let talk = |(name, history)| {
            group_with(&stores[0], name, &["owner"], history);
            Talk::default()
        };
        let talks = CONVERSATIONS.map(talk).into();
        Self { stores, backend, talks, devices: DEVICES.map(Device::new).into(), turn: 0 }
    }

    fn store(&self) -> &B::Store {
        &self.stores[self.turn % 2]
    }

    fn run(&mut self, op: Op) -> Verdict {
        self.turn += 1;
        match op {
            Op::Send { user, conversation, silent } => self.send(user, conversation, silent)?,
            Op::Join { user, conversation } => self.join(user, conversation),
            Op::Leave { user, conversation } => {
                change(self.store(), CONVERSATIONS[conversation].0, remove(USERS[user]));
                self.talks[conversation].members.remove(&user);
            }
            Op::Crowd { conversation, grow } => self.crowd(conversation, grow),
            Op::Read { user, conversation, at } => self.read(user, conversation, at)?,
            Op::Revise { user, conversation, at, change } => self.revise(user, conversation, at, change)?,
            Op::Hide { user, conversation, at } => self.hide(user, conversation, at)?,
            Op::Mute { user, conversation, muted } => {
                if self.talks[conversation].members.contains_key(&user) {
                    mute(self.store(), USERS[user], CONVERSATIONS[conversation].0, muted);
                }
            }
            Op::Ask { device, limit, answers } => {
                let store = &self.stores[self.turn % 2];
                // What the device has not stored it asks for the next time.
                let _lost = self.devices[device].catch_up(store, room::<B>(limit), &mut Line(answers));
            }
            Op::Reinstall { device } => {
                self.devices[device] = Device::new(DEVICES[device]);
            }
            Op::Clock { ms } => self.backend.set_clock(self.backend.now().saturating_add_signed(ms)),
            Op::Reopen => self.stores[self.turn % 2] = self.backend.open(),
            Op::Drain => drop(block_on(self.store().run(&[Task::Drain], 10_000)).unwrap()),
            Op::Evict => self.backend.evict(self.store()),
        }
        Ok(())
    }

    fn send(&mut self, user: usize, conversation: usize, silent: bool) -> Verdict {
        let name = CONVERSATIONS[conversation].0;
        let content = format!("message {}", self.turn);
        let mut one = draft(USERS[user], name, &self.turn.to_string(), &content);
        one.silent = silent;
        let answer = append(self.store(), vec![one]).remove(0);
        let talk = &mut self.talks[conversation];
        if !talk.members.contains_key(&user) {
            prop_assert_eq!(answer, Err(Error::NotMember));
            return Ok(());
        }
        let id = answer.unwrap().msg_id;
        talk.messages.push(Said { id, sender: user, silent, content, revised: None, is_control: false });
        Ok(())
    }

    fn revise(&mut self, user: usize, conversation: usize, at: usize, change: Change) -> Verdict {
        let Some(msg_id) = self.talks[conversation].messages.get(at).map(|said| said.id) else {
            return Ok(());
        };
        let name = USERS.get(user).unwrap_or(&"owner");
        let expected = self.expected(user, conversation, at, &change);
        let (action, content) = (change.action(), change.content().to_owned());
        let answer = revise(self.store(), &actor(name), CONVERSATIONS[conversation].0, msg_id, change);
        let revised = match answer {
            Ok(revised) => revised,
            Err(error) => {
                prop_assert_eq!(expected, Err(refusal(&error)));
                return Ok(());
            }
        };
        prop_assert_eq!(revised.msg_id, msg_id);
        let talk = &mut self.talks[conversation];
        let said = &talk.messages[at];
        if said.is_gone() || action == Action::Edit && said.content == content {
            prop_assert_eq!((expected, revised.told), (Ok(()), said.revised.map(|(_, told)| told)));
            return Ok(());
        }
        let told = revised.told.unwrap();
        prop_assert_eq!((expected, told.seq), (Ok(()), talk.messages.len() as u64 + 1));
        talk.messages[at].revised = Some((action, told));
        talk.messages[at].content = content;
        let (id, content) = (told.msg_id, String::new());
        talk.messages.push(Said { id, sender: user, silent: true, content, revised: None, is_control: true });
        Ok(())
    }

    /// Whether the user may revise the message at this place.
    fn expected(&self, user: usize, conversation: usize, at: usize, change: &Change) -> Result<(), Refusal> {
        let talk = &self.talks[conversation];
        let said = &talk.messages[at];
        if user != OWNER {
            let member = talk.members.get(&user).ok_or(Refusal::NotMember)?;
            let is_seen = |seen: &Said| seen.id == said.id;
            if !talk.visible(member, CONVERSATIONS[conversation].1).any(is_seen) {
                return Err(Refusal::Missing);
            }
        }
        let action = change.action();
        match said.revised {
            Some((before, _)) if before == action && said.is_gone() => return Ok(()),
            Some(_) if said.is_gone() => return Err(Refusal::Final),
            _ => {}
        }
        if said.is_control {
            return Err(Refusal::Control);
        }
        let is_edit = action == Action::Edit;
        let is_late = said.id < MsgId::floor_of(self.backend.now() - RECALL_MS_DEFAULT);
        match user == OWNER && !is_edit || said.sender == user && (is_edit || !is_late) {
            true => Ok(()),
            false => Err(Refusal::Forbidden),
        }
    }

    fn hide(&mut self, user: usize, conversation: usize, at: usize) -> Verdict {
        let (name, history) = CONVERSATIONS[conversation];
        let Some(said) = self.talks[conversation].messages.get(at) else { return Ok(()) };
        let (msg_id, is_control) = (said.id, said.is_control);
        let answer = hide(self.store(), &actor(USERS[user]), name, &[msg_id]);
        let talk = &mut self.talks[conversation];
        let Some(member) = talk.members.get(&user) else {
            prop_assert_eq!(answer, Err(Error::NotMember));
            return Ok(());
        };
        let is_seen = talk.visible(member, history).any(|seen| seen.id == msg_id);
        let outcome = answer.unwrap().remove(0);
        let is_missing = matches!(outcome, Err(Error::MessageNotFound { .. }));
        let is_refused = matches!(outcome, Err(Error::Invalid { .. }));
        match (is_seen, is_control) {
            (false, _) => prop_assert!(is_missing, "{:?}", outcome),
            (true, true) => prop_assert!(is_refused, "{:?}", outcome),
            (true, false) => {
                prop_assert_eq!(outcome, Ok(()));
                talk.hidden.insert((user, msg_id));
            }
        }
        Ok(())
    }

    fn join(&mut self, user: usize, conversation: usize) {
        change(self.store(), CONVERSATIONS[conversation].0, add(USERS[user]));
        let talk = &mut self.talks[conversation];
        let member = Member { joined_at: talk.messages.len(), read: talk.head() };
        talk.members.entry(user).or_insert(member);
    }

    fn crowd(&mut self, conversation: usize, grow: bool) {
        let crowd: Vec<UserId> = (0..INDEX_MEMBERS).map(|n| user(&format!("crowd{n}"))).collect();
        let change_of = match grow {
            true => MemberChange { add: crowd, ..MemberChange::default() },
            false => MemberChange { remove: crowd, ..MemberChange::default() },
        };
        change(self.store(), CONVERSATIONS[conversation].0, change_of);
        self.talks[conversation].is_crowded = grow;
    }

    fn read(&mut self, user: usize, conversation: usize, at: usize) -> Verdict {
        let Some(up_to) = self.talks[conversation].messages.get(at).map(|said| said.id) else {
            return Ok(());
        };
        let answer = read(self.store(), USERS[user], CONVERSATIONS[conversation].0, up_to);
        let talk = &mut self.talks[conversation];
        let Some(member) = talk.members.get_mut(&user) else {
            prop_assert_eq!(answer, Err(Error::NotMember));
            return Ok(());
        };
        member.read = member.read.max(up_to);
        let (read, unread) = (member.read, talk.unread(user, &talk.members[&user]));
        let answer = answer.unwrap();
        prop_assert_eq!((answer.read_msg_id, answer.unread), (read, unread));
        Ok(())
    }

    /// Everybody comes home: what devices hold, lists and totals are as they should be.
    fn settle(&mut self) -> Verdict {
        for at in 0..self.devices.len() {
            let store = &self.stores[at % 2];
            let caught_up = self.devices[at].catch_up(store, room::<B>(2), &mut Line(usize::MAX));
            prop_assert!(caught_up.is_ok());
            self.compare(&self.devices[at])?;
        }
        (0..USERS.len()).try_for_each(|user| self.compare_lists(user))
    }

    fn compare(&self, device: &Device) -> Verdict {
        let of = format!("{} of {}", device.name, USERS[device.user]);
        let mut expected = BTreeSet::new();
        for (talk, (name, history)) in self.talks.iter().zip(CONVERSATIONS) {
            let Some(member) = talk.members.get(&device.user) else { continue };
            expected.insert(name.to_owned());
            let Some(stored) = device.talks.get(name) else { continue };
            let left = talk.left(device.user, member, history);
            let visible: Vec<_> = left.map(|said| (said.id, said.content.clone())).collect();
            // What it was given before its user left and joined again it may keep.
            let first = talk.visible(member, history).next().map_or(MsgId::MAX, |said| said.id);
            let kept = stored.messages.range(first..).map(|(id, content)| (*id, content.clone()));
            prop_assert_eq!(kept.collect::<Vec<_>>(), visible, "{} of {}", name, of);
            let were_said = |id: &MsgId| talk.messages.iter().any(|said| said.id == *id);
            prop_assert!(stored.messages.keys().all(were_said));
            let unread = talk.unread(device.user, member);
            prop_assert_eq!((stored.unread, stored.read), (unread, member.read), "{} of {}", name, of);
        }
        let held: BTreeSet<String> = device.talks.keys().cloned().collect();
        prop_assert_eq!(held, expected, "conversations on the {}", of);
        Ok(())
    }

    fn compare_lists(&self, user: usize) -> Verdict {
        let unread_in: BTreeMap<String, u64> = self
            .talks
            .iter()
            .zip(CONVERSATIONS)
            .filter_map(|(talk, (name, _))| {
                Some((name.to_owned(), talk.unread(user, talk.members.get(&user)?)))
            })
            .collect();
        let list = block_on(self.store().list(&actor(USERS[user]), "", 100)).unwrap().conversations;
        let listed: BTreeMap<String, u64> = list.iter().map(|one| (one.id.to_string(), one.unread)).collect();
        prop_assert_eq!((list.len(), listed), (unread_in.len(), unread_in.clone()));
        for one in &list {
            let at = CONVERSATIONS.iter().position(|(name, _)| *name == one.id.as_str()).unwrap();
            let left = self.talks[at].left(user, &self.talks[at].members[&user], CONVERSATIONS[at].1);
            let last = left.filter(|said| !said.is_control).last().map(|said| said.id);
            prop_assert_eq!(one.last.as_ref().map(|last| last.msg_id), last, "the last of {}", one.id);
        }
        let totals = block_on(self.store().totals(&actor(USERS[user]))).unwrap();
        let messages = unread_in.values().sum();
        let conversations = unread_in.values().filter(|unread| **unread > 0).count() as u64;
        prop_assert_eq!(totals, Totals { conversations, messages });
        Ok(())
    }
}

fn refusal(error: &Error) -> Refusal {
    match error {
        Error::NotMember => Refusal::NotMember,
        Error::MessageNotFound { field } if field == "msgId" => Refusal::Missing,
        Error::Invalid { field, .. } if field == "msgId" => Refusal::Control,
        Error::Forbidden { .. } => Refusal::Forbidden,
        Error::Conflict { field, .. } if field == "msgId" => Refusal::Final,
        error => panic!("{error:?}"),
    }
}

/// What forgets all that it has looked up after each call comes to an end only where all have room in one part.
fn room<B: Backend>(limit: u32) -> u32 {
    if B::REPEATS { 100 } else { limit }
}

fn devices_end_equal_to_what_their_users_may_see<B: Backend>(cases: u32) {
    check(cases, prop::collection::vec(op(), 1..100), |ops| {
        let mut world = World::<B>::new();
        (0..2).for_each(|user| (0..CONVERSATIONS.len()).for_each(|at| world.join(user, at)));
        ops.into_iter().try_for_each(|op| world.run(op))?;
        world.settle()?;
        // Once more, from where everybody knows everything.
        world.run(Op::Send { user: 0, conversation: 0, silent: false })?;
        world.settle()
    });
}

at_random_on_every_back_end!(devices_end_equal_to_what_their_users_may_see);

#[test]
fn packed() {
    devices_end_equal_to_what_their_users_may_see::<TieredBackend<Packed>>(6);
}

#[test]
fn embedded_packed() {
    devices_end_equal_to_what_their_users_may_see::<PackedBackend>(32);
}
