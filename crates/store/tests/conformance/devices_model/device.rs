//! A model device: it knows nothing but what the store answers.

use super::USERS;
use crate::conformance::talk::*;
use im_domain::MsgId;
use im_domain::global::{ChangeKind, Changed};
use im_domain::limits::GET_IDS_MAX;
use im_domain::message::{Message, Status};
use im_domain::page::SyncQuery;
use im_domain::storage::Storage;
use std::collections::{BTreeMap, BTreeSet};

/// What a device has stored.
#[derive(Default)]
pub struct Device {
    pub user: usize,
    pub name: &'static str,
    cursor: String,
    pub talks: BTreeMap<String, Stored>,
    /// Conversations named since the start, until all have been.
    named: Option<BTreeSet<String>>,
}

#[derive(Default)]
pub struct Stored {
    pub messages: BTreeMap<MsgId, String>,
    last: MsgId,
    pub unread: u64,
    pub read: MsgId,
}

impl Stored {
    fn put(&mut self, message: &Message) {
        let before = self.messages.insert(message.msg_id, message.content.clone());
        let may_differ = message.status != Status::Normal || message.edit_time.is_some();
        assert!(
            before.is_none_or(|before| before == message.content || may_differ),
            "{} changed",
            message.msg_id
        );
    }

    /// Of the messages that it has, those that control messages of a page are about.
    fn revised(&self, page: &[Message]) -> Vec<MsgId> {
        let controls = page.iter().filter_map(|message| message.control);
        controls.map(|control| control.msg_id).filter(|id| self.messages.contains_key(id)).collect()
    }
}

impl Stored {
    /// What another device of the user has hidden is not there any more.
    fn read_anew(
        &mut self,
        store: &impl Storage,
        user: &str,
        name: &str,
        line: &mut Line,
    ) -> Result<(), Lost> {
        let ids: Vec<MsgId> = self.messages.keys().copied().collect();
        ids.chunks(GET_IDS_MAX).try_for_each(|part| self.get_anew(store, user, name, part, line))
    }

    fn get_anew(
        &mut self,
        store: &impl Storage,
        user: &str,
        name: &str,
        ids: &[MsgId],
        line: &mut Line,
    ) -> Result<(), Lost> {
        let found = line.carry(get(store, user, name, ids).unwrap())?;
        found.messages.iter().for_each(|message| self.put(message));
        self.messages.retain(|id, _| !found.missing.contains(id));
        Ok(())
    }
}

/// The connection was lost.
pub struct Lost;

/// A connection that bears so many answers more.
pub struct Line(pub usize);

impl Line {
    fn carry<T>(&mut self, answer: T) -> Result<T, Lost> {
        self.0 = self.0.checked_sub(1).ok_or(Lost)?;
        Ok(answer)
    }
}

impl Device {
    pub fn new((user, name): (usize, &'static str)) -> Self {
        Self { user, name, ..Self::default() }
    }

    /// Asks for what has changed and stores it; the cursor last, so that what was lost is asked for again.
    pub fn catch_up(&mut self, store: &impl Storage, mut limit: u32, line: &mut Line) -> Result<(), Lost> {
        if self.cursor.is_empty() {
            self.named = Some(BTreeSet::new());
        }
        loop {
            let answer = global(store, USERS[self.user], Some(self.name), &self.cursor, limit).unwrap();
            let answer = line.carry(answer)?;
            if answer.reset.is_some() {
                // A store that forgets after each call would begin anew at each part.
                limit = 100;
                self.named = Some(BTreeSet::new());
            }
            for one in answer.changed {
                self.take(store, one, limit, line)?;
            }
            self.cursor = answer.cursor;
            if !answer.has_more {
                if let Some(named) = self.named.take() {
                    self.talks.retain(|name, _| named.contains(name));
                }
                return Ok(());
            }
        }
    }

    fn take(&mut self, store: &impl Storage, one: Changed, limit: u32, line: &mut Line) -> Result<(), Lost> {
        let name = one.conversation.to_string();
        if let Some(named) = &mut self.named {
            named.insert(name.clone());
        }
        if one.left {
            self.talks.remove(&name);
            return Ok(());
        }
        let stored = self.talks.entry(name.clone()).or_default();
        (stored.unread, stored.read) = (one.unread, one.read_msg_id);
        if one.kinds.contains(&ChangeKind::Revisions) {
            stored.read_anew(store, USERS[self.user], &name, line)?;
        }
        let mut has_more = one.kinds.contains(&ChangeKind::Messages);
        while has_more {
            let query = SyncQuery { limit, ..sync_query(&name, Some(stored.last)) };
            let page = sync(store, USERS[self.user], self.name, query).unwrap().page;
            let page = line.carry(page)?;
            page.messages.iter().for_each(|message| stored.put(message));
            let revised = stored.revised(&page.messages);
            if !revised.is_empty() {
                stored.get_anew(store, USERS[self.user], &name, &revised, line)?;
            }
            stored.last = page.cursor;
            has_more = page.has_more;
        }
        Ok(())
    }
}
