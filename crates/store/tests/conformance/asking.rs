//! A device that asks what has changed, and what it has to be told.
//!
//! A store may forget a user's index, and then says so: a device that is told `expired` begins anew.

use super::backend::Backend;
use super::talk::*;
use im_domain::MsgId;
use im_domain::global::{ChangeKind, Changed};
use im_domain::page::ResetReason;
use im_domain::storage::Storage;
use std::collections::BTreeMap;

/// A device that asks what has changed.
pub struct Asking {
    pub user: String,
    pub cursor: String,
    /// The store may tell it of a change once more.
    pub repeats: bool,
}

/// What it was told, up to the end.
#[derive(Debug)]
pub struct Told {
    /// The last of each conversation.
    pub changed: BTreeMap<String, Changed>,
    /// The store has begun from the start.
    pub anew: bool,
    /// It may be more than has changed.
    repeats: bool,
}

impl Asking {
    pub fn new<B: Backend>(user: &str) -> Self {
        Self { user: user.to_owned(), cursor: String::new(), repeats: B::REPEATS }
    }

    pub fn ask(&mut self, store: &impl Storage) -> Told {
        self.ask_in_parts(store, 100, |_| {})
    }

    /// Calls `between` after each part with the number of parts there have been.
    pub fn ask_in_parts(&mut self, store: &impl Storage, limit: u32, mut between: impl FnMut(usize)) -> Told {
        let mut told = Told { changed: BTreeMap::new(), anew: false, repeats: self.repeats };
        let mut limit = limit;
        for part in 1.. {
            let answer = global(store, &self.user, None, &self.cursor, limit).unwrap();
            assert!(answer.changed.len() <= limit as usize && part < 1_000);
            if let Some(reset) = answer.reset {
                assert_eq!((reset.reason, reset.oldest), (ResetReason::Expired, MsgId::NONE));
                // Whoever forgets after each call forgets after each part.
                (told, limit) = (Told { changed: BTreeMap::new(), anew: true, repeats: self.repeats }, 100);
            }
            for one in answer.changed {
                assert!(!one.kinds.is_empty() && one.kinds.is_sorted_by(|a, b| a < b), "{one:?}");
                told.add(one);
            }
            self.cursor = answer.cursor;
            if !answer.has_more {
                break;
            }
            between(part);
        }
        told
    }
}

impl Told {
    /// A conversation may be told of in several parts; together they say what has changed.
    fn add(&mut self, mut one: Changed) {
        let name = one.conversation.to_string();
        if let Some(before) = self.changed.remove(&name).filter(|_| !one.left) {
            one.kinds.extend(before.kinds);
            one.kinds.sort_unstable();
            one.kinds.dedup();
        }
        self.changed.insert(name, one);
    }

    /// Exactly these, unless the store began anew or repeats itself: then at least these.
    #[track_caller]
    pub fn assert_names(&self, expected: &[&str]) {
        match self.anew || self.repeats {
            true => assert!(expected.iter().all(|name| self.changed.contains_key(*name)), "{self:?}"),
            false => assert_eq!(self.changed.keys().map(String::as_str).collect::<Vec<_>>(), expected),
        }
    }

    /// This one, with at least these changes.
    #[track_caller]
    pub fn assert_kinds(&self, name: &str, kinds: &[ChangeKind]) -> &Changed {
        let one = self.changed.get(name).unwrap_or_else(|| panic!("{name} is not in {self:?}"));
        assert!(kinds.iter().all(|kind| one.kinds.contains(kind)), "{kinds:?} of {one:?}");
        one
    }

    /// The user has left it: it is told so, or not named when the store began anew.
    #[track_caller]
    pub fn assert_left(&self, name: &str) {
        match self.changed.get(name) {
            Some(one) => {
                assert!(one.left && one.kinds == [ChangeKind::Membership], "{one:?}");
                let numbers = (one.head_msg_id, one.head_seq, one.unread, one.read_msg_id);
                assert_eq!(numbers, (MsgId::NONE, 0, 0, MsgId::NONE));
            }
            None => assert!(self.anew, "{name} is not in {self:?}"),
        }
    }
}
