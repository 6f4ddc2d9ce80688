//! Following the feed of changes: what each answer looks like, and an index that is built from it.

use crate::client::Client;
use crate::routes::{CHANGES, RUN};
use crate::shape;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// More parts than any index of the suite reads.
const PARTS_MAX: usize = 10_000;
/// How often what was sent is looked for, and the pause between two looks.
const LOOKS: usize = 200;
const PAUSE: Duration = Duration::from_millis(100);

/// Messages by conversation and id, as the events told of them last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    pub cursor: String,
    pub messages: BTreeMap<(String, u64), Value>,
    /// The kind of each event and its message's id, as they came.
    pub events: Vec<(String, u64)>,
}

impl Index {
    /// Reads one part of `limit`; whether there is more.
    pub async fn read(&mut self, service: &Client, limit: usize) -> bool {
        let part = service.patient(CHANGES, json!({"cursor": self.cursor, "limit": limit})).await;
        let events = shape::list(&part, "events");
        assert!(events.len() <= limit, "more than {limit}");
        events.iter().for_each(|event| self.take(event));
        shape::flag(&part, "hasMore");
        let cursor = shape::text(&part, "cursor").to_owned();
        assert!(part["hasMore"] == false || cursor != self.cursor, "the cursor moves");
        self.cursor = cursor;
        part["hasMore"] == true
    }

    fn take(&mut self, event: &Value) {
        let conversation = shape::text(event, "conversationId");
        shape::text(event, "eventId");
        let kind = shape::text(event, "kind");
        assert!(["append", "recall", "edit", "delete", "erase"].contains(&kind), "{event}");
        let done = event["message"]["ref"]["action"].as_str();
        assert!(done.map_or(["append", "erase"].contains(&kind), |done| done == kind), "{event}");
        for message in [Some(&event["message"]), event.get("target")].into_iter().flatten() {
            shape::message(message);
            assert_eq!(message["conversationId"], conversation);
            self.messages.insert((conversation.to_owned(), shape::id(message, "msgId")), message.clone());
        }
        self.events.push((kind.to_owned(), shape::id(&event["message"], "msgId")));
    }

    pub async fn catch_up(&mut self, service: &Client, limit: usize) {
        for _ in 0..PARTS_MAX {
            if !self.read(service, limit).await {
                return;
            }
        }
        panic!("more than {PARTS_MAX} parts");
    }

    /// Catches up until it has so many messages: what was sent comes when SQL has it, for which it sees to a drain, as
    /// not every server does by itself.
    pub async fn until(&mut self, service: &Client, limit: usize, messages: usize) {
        for _ in 0..LOOKS {
            self.catch_up(service, limit).await;
            if self.messages.len() >= messages {
                return;
            }
            service.patient(RUN, json!({"tasks": ["drain"]})).await;
            tokio::time::sleep(PAUSE).await;
        }
        panic!("{} messages, and not {messages}", self.messages.len());
    }
}
