//! Pages of a conversation's history.

use crate::error::{Error, Result};
use crate::limits::{DIGEST_LATEST_MAX, PAGE_CONTENT_BYTES_MAX, PAGE_ITEMS_MAX};
use crate::message::{Kind, Message, spelled};
use crate::msg_id::MsgId;
use crate::name::ConversationId;
use std::collections::HashMap;

spelled!(Direction {
    /// Older than the cursor, newest first.
    Up = 0 "up",
    /// Newer than the cursor, oldest first.
    Down = 1 "down",
});

/// Checks a page's number of items.
pub fn check_limit(limit: u32) -> Result<u32> {
    if (1..=PAGE_ITEMS_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::invalid("limit", format!("must be 1 to {PAGE_ITEMS_MAX}")))
}

/// Checks the number of newest messages of each conversation in a digest.
pub fn check_latest(latest: u32) -> Result<u32> {
    if (1..=DIGEST_LATEST_MAX).contains(&latest) {
        return Ok(latest);
    }
    Err(Error::invalid("latest", format!("must be 1 to {DIGEST_LATEST_MAX}")))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    pub conversation: ConversationId,
    /// [`MsgId::NONE`]: from the newest (`up`) or the oldest (`down`) message on.
    pub cursor: MsgId,
    /// 1 to [`PAGE_ITEMS_MAX`].
    pub limit: u32,
    pub direction: Direction,
    /// Only messages with `from_ms <= createTime < to_ms`.
    pub from_ms: Option<u64>,
    pub to_ms: Option<u64>,
    /// Only these types; empty: all.
    pub kinds: Vec<Kind>,
}

spelled!(ResetReason {
    EpochChanged = 1 "epoch_changed",
    PositionAhead = 2 "position_ahead",
    Expired = 3 "expired",
});

/// The caller's place in the conversation is not good any more; it has to start again from
/// `oldest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    pub reason: ResetReason,
    /// Oldest message that is still served, or none.
    pub oldest: MsgId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub conversation: ConversationId,
    pub messages: Vec<Message>,
    pub has_more: bool,
    /// The last message's id; with no message the cursor that was given.
    pub cursor: MsgId,
    pub epoch: String,
    pub head_seq: u64,
    pub reset: Option<Reset>,
}

/// A message with what was said before and after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    pub conversation: ConversationId,
    pub msg_id: MsgId,
    /// How many older ones, at most [`PAGE_ITEMS_MAX`].
    pub before: u32,
    /// How many newer ones, at most [`PAGE_ITEMS_MAX`].
    pub after: u32,
}

/// What was said around a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Oldest first; `has_more` and `cursor` lead on to newer messages.
    pub page: Page,
    /// There are older ones.
    pub has_more_before: bool,
}

impl Around {
    /// The message itself, older ones and newer ones, in one call of the store.
    pub fn queries(&self) -> Vec<PageQuery> {
        let query = |cursor, limit: u32, direction| PageQuery {
            conversation: self.conversation.clone(),
            cursor,
            // One more than none says whether there is one.
            limit: limit.max(1),
            direction,
            from_ms: None,
            to_ms: None,
            kinds: Vec::new(),
        };
        let just_before = MsgId::new(self.msg_id.number().saturating_sub(1)).unwrap_or(MsgId::NONE);
        vec![
            query(just_before, 1, Direction::Down),
            query(self.msg_id, self.before, Direction::Up),
            query(self.msg_id, self.after, Direction::Down),
        ]
    }

    /// Puts the answers to [`Self::queries`] together.
    pub fn context(&self, pages: Vec<Page>) -> Result<Context> {
        let Ok([itself, mut older, mut newer]) = <[Page; 3]>::try_from(pages) else {
            return Err(Error::internal("a store answered more or fewer pages than were asked for"));
        };
        let Some(message) = itself.messages.into_iter().find(|message| message.msg_id == self.msg_id) else {
            return Err(Error::MessageNotFound { field: "msgId".to_owned() });
        };
        let mut has_more_before = older.has_more;
        has_more_before |= older.messages.len() > self.before as usize;
        older.messages.truncate(self.before as usize);
        newer.has_more |= newer.messages.len() > self.after as usize;
        newer.messages.truncate(self.after as usize);
        let cursor = newer.messages.last().map_or(self.msg_id, |last| last.msg_id);
        let mut messages: Vec<Message> = older.messages.into_iter().rev().collect();
        messages.push(message);
        messages.append(&mut newer.messages);
        Ok(Context { page: Page { messages, cursor, ..newer }, has_more_before })
    }
}

/// Messages by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub messages: Vec<Message>,
    pub missing: Vec<MsgId>,
}

impl Found {
    /// Puts the messages that were `found` in the order of `ids`, each once. An answer by id cannot be
    /// cut short as a page can, so one that is too large is refused.
    pub fn gather(ids: &[MsgId], mut found: HashMap<MsgId, Message>) -> Result<Self> {
        let bytes: usize = found.values().map(|message| message.content.len()).sum();
        if bytes > PAGE_CONTENT_BYTES_MAX {
            let reason =
                format!("these messages have more than {PAGE_CONTENT_BYTES_MAX} bytes of content together");
            return Err(Error::too_large("msgIds", reason));
        }
        let mut answer = Self { messages: Vec::new(), missing: Vec::new() };
        for id in ids {
            match found.remove(id) {
                Some(message) => answer.messages.push(message),
                None if answer.messages.iter().any(|message| message.msg_id == *id) => {}
                None if answer.missing.contains(id) => {}
                None => answer.missing.push(*id),
            }
        }
        Ok(answer)
    }
}

/// Cuts `messages` to a page for which there is `room` (bytes of content), takes the room it needs, and
/// says whether something was cut off. One message always fits.
pub fn cut(messages: &mut Vec<Message>, limit: u32, room: &mut usize) -> bool {
    let within = |message: &&Message| match room.checked_sub(message.content.len()) {
        Some(left) => {
            *room = left;
            true
        }
        None => false,
    };
    let keep = messages.iter().take(limit as usize).take_while(within).count().max(1);
    let has_more = messages.len() > keep;
    messages.truncate(keep);
    has_more
}

/// Which messages of a conversation are to be read, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Exclusive bounds; [`MsgId::MAX`]: none.
    pub above: MsgId,
    pub below: MsgId,
    pub direction: Direction,
    /// In order, each once; empty: all.
    pub kinds: Vec<Kind>,
    /// One more than asked for is to be read, to know whether there are more.
    pub limit: u32,
}

impl Range {
    pub fn of(query: &PageQuery) -> Self {
        let mut kinds = query.kinds.clone();
        kinds.sort_unstable();
        kinds.dedup();
        let before = |id: MsgId| MsgId::new(id.number().saturating_sub(1)).unwrap_or_default();
        let mut above = query.from_ms.map_or(MsgId::NONE, |from| before(MsgId::floor_of(from)));
        let mut below = query.to_ms.map_or(MsgId::MAX, MsgId::floor_of);
        match query.direction {
            Direction::Up if query.cursor.is_none() => {}
            Direction::Up => below = below.min(query.cursor),
            Direction::Down => above = above.max(query.cursor),
        }
        Self { above, below, direction: query.direction, kinds, limit: query.limit }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncQuery {
    pub conversation: ConversationId,
    /// Where to read on, and what the device has stored; absent: the device's position.
    pub last_msg_id: Option<MsgId>,
    /// 1 to [`PAGE_ITEMS_MAX`].
    pub limit: u32,
    /// The epoch the device last saw.
    pub epoch: Option<String>,
    /// Moves the position as the page is served, without waiting for a confirmation.
    pub auto_advance: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncPage {
    pub page: Page,
    /// The device's position after this call.
    pub position: MsgId,
}
