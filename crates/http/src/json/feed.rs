//! The feed of changes, in requests and answers.

use super::message::MessageOut;
use super::scalar::LimitIn;
use super::text::Text;
use crate::problem::Problem;
use im_domain::ConversationId;
use im_domain::feed::{Event, EventKind, Events, FeedCursor};
use im_domain::limits::{FEED_CURSOR_CHARS_MAX, FEED_EVENTS_DEFAULT};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What has changed in the tenant since a cursor.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ReadFeed")]
pub struct FeedIn {
    /// The cursor of the answer before; empty or not given: from the start, with everything that is kept.
    #[schemars(length(max = FEED_CURSOR_CHARS_MAX))]
    cursor: Option<String>,
    /// How many events at the most.
    #[schemars(extend("default" = FEED_EVENTS_DEFAULT))]
    limit: Option<LimitIn>,
}

impl FeedIn {
    /// Where to go on (none: from the start), and how many.
    pub fn part(self) -> Result<(Option<FeedCursor>, u32), Problem> {
        let cursor = FeedCursor::parse(&self.cursor.unwrap_or_default())?;
        Ok((cursor, self.limit.map_or(FEED_EVENTS_DEFAULT, |limit| limit.0)))
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Feed")]
pub struct FeedOut<'a> {
    /// Those of a conversation in order. Each comes at least once.
    events: Vec<EventOut<'a>>,
    /// What to pass next, now or later.
    #[schemars(length(max = FEED_CURSOR_CHARS_MAX))]
    cursor: String,
    /// There is more now, even where this part has no event.
    has_more: bool,
}

impl<'a> From<&'a Events> for FeedOut<'a> {
    fn from(events: &'a Events) -> Self {
        Self {
            events: events.events.iter().map(EventOut::from).collect(),
            cursor: events.cursor.to_string(),
            has_more: events.has_more,
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FeedEvent")]
struct EventOut<'a> {
    /// The same of an event that is given once more.
    event_id: &'a str,
    /// `append`: a message was stored; else what was done to `target`.
    #[schemars(with = "Text<EventKind>")]
    kind: &'static str,
    #[schemars(with = "Text<ConversationId>")]
    conversation_id: &'a str,
    /// As it is now: without content, if it was recalled or deleted since. Of a revision: its control message.
    message: MessageOut<'a>,
    /// The message that was revised, as it is now; absent when it is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<MessageOut<'a>>,
}

impl<'a> From<&'a Event> for EventOut<'a> {
    fn from(event: &'a Event) -> Self {
        let message = |message| MessageOut::new(&event.conversation, message);
        Self {
            event_id: &event.id,
            kind: event.kind.as_str(),
            conversation_id: event.conversation.as_str(),
            message: message(&event.message),
            target: event.target.as_ref().map(message),
        }
    }
}
