//! The feed of changes, over what an engine reads of its tables.
//!
//! First a walk over what is kept, conversation by conversation; then the tail, in the order in which the store took
//! things in, up to a horizon below which nothing is added any more. What comes late has a place of its own there. The
//! order of ids is that of rows; what has moved to cold segments before the tail has come there is walked to, too.

use im_domain::feed::{Event, EventKind, Events, FeedCursor, FeedPlace, Walk};
use im_domain::limits::{FEED_CONVERSATIONS_MAX, PAGE_CONTENT_BYTES_MAX};
use im_domain::message::{ControlRef, Message};
use im_domain::{ConversationId, MsgId, Result};
use std::collections::HashMap;

/// A conversation of the tenant, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub name: ConversationId,
    pub home: Home,
    /// Its messages up to this one have expired.
    pub expired: MsgId,
    /// Its messages up to this one may be in segments.
    pub cold: MsgId,
}

/// What was taken in after one stamp and up to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub above: MsgId,
    pub up_to: MsgId,
}

/// Where a conversation is: the position of its database, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Home {
    pub database: usize,
    pub cid: MsgId,
}

/// A message by where it is.
pub(crate) type Key = (Home, MsgId);

/// Something in the tail.
pub(crate) struct Taken {
    pub place: FeedPlace,
    /// It came when the feed may have been read beyond its id.
    pub is_late: bool,
    /// It tells that the message was erased.
    pub is_erased: bool,
    pub kept: Kept,
    /// Of a control message: what it is about.
    pub control: Option<ControlRef>,
}

impl Taken {
    /// How what came late is marked that tells of an erasure.
    pub const ERASED: u64 = 4;
}

/// Part of the tail.
pub(crate) struct Part {
    /// The tenant's that have not expired, in order; one more than was asked for, if there are.
    pub taken: Vec<Taken>,
    /// Up to where it was looked; none: up to the horizon.
    pub scanned: Option<FeedPlace>,
    /// Something that comes here may have moved to segments, and is not among what was taken.
    pub is_cold: bool,
}

/// What an engine reads for one part of the feed.
#[allow(async_fn_in_trait)] // Futures of a component are not `Send`.
pub(crate) trait Source {
    /// Everything that was taken in up to this stamp is there.
    fn horizon(&self) -> MsgId;

    /// Conversations of the tenant from `first` on, in the order of their ids, up to `count`.
    async fn conversations(&self, first: &str, count: usize) -> Result<Vec<Kept>>;

    /// Messages of a conversation after `after` that were taken in within a span and have not expired, oldest first: up to
    /// one more than `limit`.
    async fn messages(&self, kept: &Kept, after: MsgId, span: Span, limit: u32) -> Result<Vec<Message>>;

    /// What came late of a conversation within a span, by the messages' ids: those after `after` that lie below it; up
    /// to one more than `limit`.
    async fn late(&self, kept: &Kept, after: MsgId, span: Span, limit: u32) -> Result<Vec<Taken>>;

    /// What was taken in after `at` and up to the horizon.
    async fn tail(&self, at: FeedPlace, limit: u32) -> Result<Part>;

    /// Messages as they are now; what is not kept, or has expired, is left out.
    async fn by_keys(&self, keys: Vec<Key>) -> Result<HashMap<Key, Message>>;
}

pub(crate) async fn events(source: &impl Source, cursor: Option<FeedCursor>, limit: u32) -> Result<Events> {
    match cursor {
        None => walk(source, start(source, MsgId::NONE), limit).await,
        Some(FeedCursor::Walk(begun)) => walk(source, begun, limit).await,
        Some(FeedCursor::Tail(at)) => tail(source, at, limit).await,
    }
}

fn start(source: &impl Source, above: MsgId) -> Walk {
    Walk { above, up_to: source.horizon(), conversation: None, after: MsgId::NONE }
}

async fn walk(source: &impl Source, walk: Walk, limit: u32) -> Result<Events> {
    let first = walk.conversation.as_ref().map_or("", ConversationId::as_str);
    let conversations = source.conversations(first, FEED_CONVERSATIONS_MAX).await?;
    let is_last = conversations.len() < FEED_CONVERSATIONS_MAX;
    let at = |name: &ConversationId, after: MsgId| {
        FeedCursor::Walk(Walk { conversation: Some(name.clone()), after, ..walk.clone() })
    };
    let span = Span { above: walk.above, up_to: walk.up_to };
    let mut page = Page::new(limit);
    let mut cursor = FeedCursor::Walk(walk.clone());
    for kept in &conversations {
        let is_begun = walk.conversation.as_ref() == Some(&kept.name);
        let after = if is_begun { walk.after } else { MsgId::NONE };
        if after == MsgId::MAX {
            continue;
        }
        if let Some(last) = page.add_conversation(source, kept, after, span).await? {
            return Ok(Events { events: page.events, cursor: at(&kept.name, last), has_more: true });
        }
        cursor = at(&kept.name, MsgId::MAX);
    }
    let has_more = !is_last || source.horizon() > walk.up_to;
    if is_last {
        cursor = FeedCursor::Tail(FeedPlace::after(walk.up_to));
    }
    Ok(Events { events: page.events, cursor, has_more })
}

async fn tail(source: &impl Source, at: FeedPlace, limit: u32) -> Result<Events> {
    let horizon = FeedPlace::after(source.horizon());
    if at >= horizon {
        return Ok(Events { events: Vec::new(), cursor: FeedCursor::Tail(at), has_more: false });
    }
    let part = source.tail(at, limit).await?;
    if part.is_cold {
        return walk(source, start(source, at.stamp), limit).await;
    }
    let is_cut = part.taken.len() > limit as usize;
    let scanned = part.taken.last().map(|last| last.place).filter(|_| is_cut).or(part.scanned);
    let mut page = Page::new(limit);
    let count = page.add_all_taken(source, &part.taken).await?;
    if count < part.taken.len() {
        let end = count.checked_sub(1).and_then(|last| part.taken.get(last)).map_or(at, |last| last.place);
        return Ok(Events { events: page.events, cursor: FeedCursor::Tail(end), has_more: true });
    }
    let (end, has_more) = scanned.map_or((horizon, false), |scanned| (scanned, true));
    Ok(Events { events: page.events, cursor: FeedCursor::Tail(end), has_more })
}

/// The events of one answer, as far as there is room.
struct Page {
    events: Vec<Event>,
    limit: usize,
    /// Bytes of content.
    room: usize,
}

impl Page {
    fn new(limit: u32) -> Self {
        Self { events: Vec::new(), limit: limit as usize, room: PAGE_CONTENT_BYTES_MAX }
    }

    fn left(&self) -> u32 {
        u32::try_from(self.limit.saturating_sub(self.events.len())).unwrap_or(u32::MAX)
    }

    /// Adds what was taken in; gives how many were come to: all, or those before the first that there is no room for.
    /// What has expired meanwhile is passed over.
    async fn add_all_taken(&mut self, source: &impl Source, all: &[Taken]) -> Result<usize> {
        let keys = all.iter().flat_map(|taken| {
            let about = taken.control.map(|control| (taken.kept.home, control.msg_id));
            [Some((taken.kept.home, taken.place.msg_id)), about].into_iter().flatten()
        });
        let mut found = source.by_keys(keys.collect()).await?;
        // Of what is packed it is not known before what it is about.
        let about = found.iter().filter_map(|((home, _), message)| Some((*home, message.control?.msg_id)));
        let missing: Vec<Key> = about.filter(|key| !found.contains_key(key)).collect();
        if !missing.is_empty() {
            found.extend(source.by_keys(missing).await?);
        }
        for (at, taken) in all.iter().enumerate() {
            let message = found.get(&(taken.kept.home, taken.place.msg_id)).cloned();
            if message.is_some_and(|message| !self.add_taken(taken, message, &found)) {
                return Ok(at);
            }
        }
        Ok(all.len())
    }

    /// Adds what a conversation has after a message; gives the last message that there was room for, if there is more.
    async fn add_conversation(
        &mut self,
        source: &impl Source,
        kept: &Kept,
        after: MsgId,
        span: Span,
    ) -> Result<Option<MsgId>> {
        let mut last = after;
        if !span.above.is_none() {
            let left = self.left();
            let late = source.late(kept, after, span, left).await?;
            let count = self.add_all_taken(source, &late).await?;
            last = count.checked_sub(1).and_then(|at| late.get(at)).map_or(after, |taken| taken.place.msg_id);
            if count < late.len() || late.len() > left as usize {
                return Ok(Some(last));
            }
        }
        let found = source.messages(kept, last, span, self.left()).await?;
        let count = found.len();
        if self.add_all(source, kept, found).await? < count {
            return Ok(Some(self.last_of(kept).unwrap_or(last).max(last)));
        }
        Ok(None)
    }

    /// As [`Self::add`], of the tail.
    fn add_taken(&mut self, taken: &Taken, message: Message, targets: &HashMap<Key, Message>) -> bool {
        let late = taken.is_late.then_some(taken.place.stamp);
        let is_added = self.add(&taken.kept, late, message, targets);
        if let Some(last) = self.events.last_mut().filter(|_| is_added && taken.is_erased) {
            last.kind = EventKind::Erase;
        }
        is_added
    }

    /// Adds an event; false: there is no room for it. One always fits. `late`: when it came late.
    fn add(
        &mut self,
        kept: &Kept,
        late: Option<MsgId>,
        message: Message,
        targets: &HashMap<Key, Message>,
    ) -> bool {
        let about = message.control.map(|control| (kept.home, control.msg_id));
        let target = about.and_then(|key| targets.get(&key)).cloned();
        let bytes = message.content.len() + target.as_ref().map_or(0, |target| target.content.len());
        let fits = self.events.len() < self.limit && bytes <= self.room;
        if !fits && !self.events.is_empty() {
            return false;
        }
        self.room = self.room.saturating_sub(bytes);
        let kind = message.control.map_or(EventKind::Append, |control| control.action.into());
        let id = late.map_or(message.msg_id.to_string(), |stamp| format!("{}.{stamp}", message.msg_id));
        self.events.push(Event { id, kind, conversation: kept.name.clone(), message, target });
        true
    }

    /// Adds messages of a conversation in order; gives how many there was room for.
    async fn add_all(&mut self, source: &impl Source, kept: &Kept, found: Vec<Message>) -> Result<usize> {
        let about = |message: &Message| Some((kept.home, message.control?.msg_id));
        let wanted: Vec<Key> = found.iter().filter_map(about).collect();
        let targets = if wanted.is_empty() { HashMap::new() } else { source.by_keys(wanted).await? };
        let mut count = 0;
        for message in found {
            if !self.add(kept, None, message, &targets) {
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    /// The last message of a conversation on the page.
    fn last_of(&self, kept: &Kept) -> Option<MsgId> {
        let last = self.events.last().filter(|event| event.conversation == kept.name)?;
        Some(last.message.msg_id)
    }
}
