//! Walks over pages, to the end, checking each page on the way: a cursor moves strictly and is
//! that of the last message, `hasMore` ends the walk, `seq` has no hole and no message comes twice.

use crate::client::Client;
use crate::routes::{LIST, PULL, SYNC};
use crate::shape;
use serde_json::{Value, json};

/// More pages than any walk of the suite has: one that gets here does not end.
const PAGES_MAX: usize = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Newest first.
    Up,
    /// Oldest first.
    Down,
}

impl Direction {
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// All messages of a conversation, read in pages of `limit`.
pub async fn pull_all(reader: &Client, id: &str, direction: Direction, limit: usize) -> Vec<Value> {
    let request = json!({"conversationId": id, "limit": limit, "direction": direction.name()});
    let messages = walk(reader, PULL, request, direction).await;
    let step = |pair: &[Value]| shape::int(&pair[1], "seq").wrapping_sub(shape::int(&pair[0], "seq"));
    let wanted = if direction == Direction::Down { 1 } else { u64::MAX };
    assert!(messages.windows(2).all(|pair| step(pair) == wanted), "{id}: a hole in seq");
    messages
}

/// All messages that `request`, a pull with filters, finds.
pub async fn pull_where(reader: &Client, request: Value) -> Vec<Value> {
    let up = request["direction"] != "down";
    walk(reader, PULL, request, if up { Direction::Up } else { Direction::Down }).await
}

/// All that a device has not confirmed yet; it confirms each page by asking for the next, and the
/// last one too.
pub async fn sync_all(device: &Client, request: Value) -> Vec<Value> {
    walk(device, SYNC, request, Direction::Down).await
}

async fn walk(reader: &Client, route: &str, mut request: Value, way: Direction) -> Vec<Value> {
    let limit = request["limit"].as_u64().unwrap_or(100);
    let mut messages: Vec<Value> = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = reader.patient(route, request.clone()).await;
        shape::page(&page);
        let found = shape::list(&page, "messages");
        assert!(found.len() as u64 <= limit, "{} messages, limit {limit}", found.len());
        let cursor = shape::id(&page, "cursor");
        for message in found {
            let id = shape::id(message, "msgId");
            if let Some(before) = messages.last().map(|last| shape::id(last, "msgId")) {
                let moves = if way == Direction::Up { id < before } else { id > before };
                assert!(moves, "{id} after {before} on the way {}", way.name());
            }
            messages.push(message.clone());
        }
        let last = found.last().map(|last| shape::id(last, "msgId"));
        assert!(last.is_none_or(|last| last == cursor), "the cursor is not the last message's id");
        let more = shape::flag(&page, "hasMore");
        assert!(!more || last.is_some(), "hasMore and no message: the walk would never end");
        if !more && (route == PULL || last.is_none()) {
            return messages;
        }
        request["lastMsgId"] = cursor.to_string().into();
    }
    panic!("more than {PAGES_MAX} pages: {request}");
}

/// All conversations of a user, in pages of `limit`.
pub async fn list_all(user: &Client, limit: usize) -> Vec<Value> {
    let mut conversations: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    for _ in 0..PAGES_MAX {
        let page = user.ok(LIST, json!({"cursor": cursor, "limit": limit})).await;
        let found = shape::list(&page, "conversations");
        assert!(found.len() <= limit, "{} conversations, limit {limit}", found.len());
        found.iter().for_each(shape::conversation);
        conversations.extend(found.iter().cloned());
        if !shape::flag(&page, "hasMore") {
            return conversations;
        }
        assert!(!found.is_empty(), "hasMore and no conversation: the walk would never end");
        let next = shape::text(&page, "cursor").to_owned();
        assert_ne!(next, cursor, "the cursor moves");
        cursor = next;
    }
    panic!("more than {PAGES_MAX} pages of conversations");
}
