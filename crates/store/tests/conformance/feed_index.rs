//! An index that is built from the feed, as a test's consumer keeps it.

use super::backend::block_on;
use super::talk::*;
use im_domain::feed::{Event, EventKind, Events, FeedCursor};
use im_domain::message::Message;
use im_domain::page::Direction;
use im_domain::storage::Storage;
use im_domain::{MsgId, Tenant};
use std::collections::BTreeMap;

pub fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

/// Messages by conversation and id.
pub type Shelf = BTreeMap<(String, MsgId), Message>;

/// What a consumer has built, and how far it has come.
#[derive(Default)]
pub struct Index {
    pub cursor: Option<FeedCursor>,
    pub shelf: Shelf,
    /// The highest id seen of each conversation, to see whether they come in order; not those that came late.
    heads: BTreeMap<String, MsgId>,
    /// Ids of all events, as they came.
    pub seen: Vec<String>,
    /// Messages of which it was told that they were erased.
    pub erased: Vec<MsgId>,
}

impl Index {
    /// One that goes on from a cursor.
    pub fn from(cursor: Option<FeedCursor>) -> Self {
        Self { cursor, ..Self::default() }
    }

    pub fn part(&self, store: &impl Storage, limit: u32) -> Events {
        let cursor = self.cursor.as_ref().map(ToString::to_string).unwrap_or_default();
        let part =
            block_on(store.events(&tenant("acme"), FeedCursor::parse(&cursor).unwrap(), limit)).unwrap();
        assert!(part.events.len() <= limit as usize);
        part
    }

    /// Reads on by one part; whether there is more.
    pub fn read(&mut self, store: &impl Storage, limit: u32) -> bool {
        let part = self.part(store, limit);
        assert!(!part.has_more || Some(&part.cursor) != self.cursor.as_ref(), "it does not go on");
        part.events.into_iter().for_each(|event| self.take(event));
        self.cursor = Some(part.cursor);
        part.has_more
    }

    fn take(&mut self, event: Event) {
        let name = event.conversation.to_string();
        let msg_id = event.message.msg_id;
        if !event.id.contains('.') {
            let head = self.heads.entry(name.clone()).or_default();
            assert!(msg_id >= *head, "{name}: {msg_id} comes after {head}");
            *head = msg_id;
        }
        if event.kind == EventKind::Erase {
            self.erased.push(msg_id);
        }
        self.seen.push(event.id);
        assert_eq!(event.message.control.is_some(), !["append", "erase"].contains(&event.kind.as_str()));
        if let Some(control) = event.message.control {
            assert_eq!(event.kind.as_str(), control.action.as_str());
        }
        for message in [Some(event.message), event.target].into_iter().flatten() {
            self.shelf.insert((name.clone(), message.msg_id), plain(message));
        }
    }

    /// Reads until there is no more.
    pub fn catch_up(&mut self, store: &impl Storage, mut limit: impl FnMut() -> u32) {
        while self.read(store, limit()) {}
    }

    /// One that was made from the start.
    pub fn of(store: &impl Storage, limit: u32) -> Self {
        let mut index = Self::default();
        index.catch_up(store, || limit);
        index
    }

    pub fn contents(&self) -> Vec<&str> {
        self.shelf.values().map(|message| message.content.as_str()).collect()
    }
}

/// What is quoted is shown as it was when the message was read.
fn plain(mut message: Message) -> Message {
    if let Some(quote) = &mut message.reply_to {
        (quote.sender, quote.preview) = (None, None);
        quote.status = im_domain::message::QuoteStatus::Normal;
    }
    message
}

/// What a reader pulls of conversations.
pub fn pulled<'a>(
    store: &impl Storage,
    reader: &str,
    conversations: impl IntoIterator<Item = &'a str>,
) -> Shelf {
    let mut shelf = Shelf::new();
    for name in conversations {
        for message in walk(store, reader, name, 50, Direction::Down) {
            shelf.insert((name.to_owned(), message.msg_id), plain(message));
        }
    }
    shelf
}
