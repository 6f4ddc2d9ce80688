//! Pages of history: what `pull` and `get` take and answer.

use super::Raw;
use super::list::List;
use super::message::MessageOut;
use super::scalar::{IdIn, IdOut, LimitIn, Time};
use super::text::Text;
use crate::problem::Problem;
use im_domain::limits::{BATCH_PULLS_MAX, GET_IDS_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use im_domain::message::{Kind, Message};
use im_domain::page::{Around, Context, Direction, Found, Page, PageQuery, Reset, ResetReason};
use im_domain::{ConversationId, MsgId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Most entries of a `types` filter: every type once.
const TYPES_MAX: usize = Kind::ALL.len();

/// A page of one conversation.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Pull")]
pub struct PullIn {
    /// The reader, where a service reads for a user; several pulls have one for all.
    pub user_id: Option<Text<UserId>>,
    conversation_id: Text<ConversationId>,
    /// Where to read on: the cursor of the page before. 0 or nothing: from the newest (`up`) or the
    /// oldest message (`down`) on.
    last_msg_id: Option<IdIn>,
    /// How many at the most.
    #[schemars(extend("default" = PAGE_ITEMS_DEFAULT))]
    limit: Option<LimitIn>,
    /// `up`, newest first, if not given; `down`: oldest first.
    direction: Option<Text<Direction>>,
    /// Only messages created at this time or later.
    from_time: Option<Time>,
    /// Only messages created before this time.
    to_time: Option<Time>,
    /// Only messages of these types; none: of all.
    types: Option<List<Text<Kind>, 0, TYPES_MAX>>,
}

/// Pages of several conversations.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PullBatch")]
pub struct PullsIn<'a> {
    /// The reader, where a service reads for a user.
    pub user_id: Option<Text<UserId>>,
    #[serde(borrow)]
    pub requests: List<Raw<'a, PullIn>, 1, BATCH_PULLS_MAX>,
}

impl PullIn {
    /// As [`Self::query`], for one of several pulls.
    pub fn item(self) -> Result<PageQuery, Problem> {
        if self.user_id.is_some() {
            return Err(Problem::invalid("userId", "several pulls have one user for all, beside requests"));
        }
        self.query()
    }

    pub fn query(self) -> Result<PageQuery, Problem> {
        let kinds: BTreeSet<_> = self.types.unwrap_or_default().0.into_iter().map(|kind| kind.0).collect();
        Ok(PageQuery {
            conversation: self.conversation_id.0,
            cursor: self.last_msg_id.map_or(MsgId::NONE, |id| id.0),
            limit: self.limit.map_or(PAGE_ITEMS_DEFAULT, |limit| limit.0),
            direction: self.direction.map_or(Direction::Up, |direction| direction.0),
            from_ms: self.from_time.map(|time| time.0),
            to_ms: self.to_time.map(|time| time.0),
            kinds: kinds.into_iter().collect(),
        })
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Page")]
pub struct PageOut<'a> {
    #[schemars(with = "Text<ConversationId>")]
    conversation_id: &'a str,
    messages: Vec<MessageOut<'a>>,
    has_more: bool,
    /// What to pass as `lastMsgId` next; with no message it is the one given.
    cursor: IdOut,
    epoch: String,
    /// `seq` of the conversation's newest message.
    head_seq: u64,
    /// The place that was given is not good any more: start again.
    #[serde(skip_serializing_if = "Option::is_none")]
    reset: Option<ResetOut>,
}

impl<'a> PageOut<'a> {
    pub fn new(page: &'a Page) -> Self {
        Self {
            conversation_id: page.conversation.as_str(),
            messages: messages(&page.conversation, &page.messages),
            has_more: page.has_more,
            cursor: IdOut(page.cursor),
            epoch: page.epoch.clone(),
            head_seq: page.head_seq,
            reset: page.reset.map(ResetOut::from),
        }
    }
}

/// The `messages` of one conversation.
pub fn messages<'a>(conversation: &'a ConversationId, messages: &'a [Message]) -> Vec<MessageOut<'a>> {
    messages.iter().map(|message| MessageOut::new(conversation, message)).collect()
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Reset")]
pub struct ResetOut {
    #[schemars(with = "Text<ResetReason>")]
    reason: &'static str,
    /// Oldest message that is still served; "0" if there is none. To start again pass 0 as `lastMsgId`, which
    /// begins with this one.
    oldest_msg_id: IdOut,
}

impl From<Reset> for ResetOut {
    fn from(reset: Reset) -> Self {
        Self { reason: reset.reason.as_str(), oldest_msg_id: IdOut(reset.oldest) }
    }
}

/// A message with what was said before and after it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Around")]
pub struct AroundIn {
    /// The reader, where a service reads for a user.
    pub user_id: Option<Text<UserId>>,
    conversation_id: Text<ConversationId>,
    msg_id: IdIn,
    /// How many older messages at the most.
    #[schemars(extend("default" = PAGE_ITEMS_DEFAULT))]
    before: Option<LimitIn<PAGE_ITEMS_MAX, 0>>,
    /// How many newer ones at the most.
    #[schemars(extend("default" = PAGE_ITEMS_DEFAULT))]
    after: Option<LimitIn<PAGE_ITEMS_MAX, 0>>,
}

impl AroundIn {
    pub fn around(self) -> Around {
        let limit =
            |limit: Option<LimitIn<PAGE_ITEMS_MAX, 0>>| limit.map_or(PAGE_ITEMS_DEFAULT, |limit| limit.0);
        Around {
            conversation: self.conversation_id.0,
            msg_id: self.msg_id.0,
            before: limit(self.before),
            after: limit(self.after),
        }
    }
}

/// A page with the message in it, oldest first.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AroundPage")]
pub struct AroundOut<'a> {
    /// `hasMore` and `cursor` lead on to newer messages, by `direction` `down`.
    #[serde(flatten)]
    page: PageOut<'a>,
    /// There are older ones: pull `up` from the first message.
    has_more_before: bool,
}

impl<'a> AroundOut<'a> {
    pub fn new(context: &'a Context) -> Self {
        Self { page: PageOut::new(&context.page), has_more_before: context.has_more_before }
    }
}

/// Messages by id.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "GetMessages")]
pub struct GetIn {
    /// The reader, where a service reads for a user.
    pub user_id: Option<Text<UserId>>,
    pub conversation_id: Text<ConversationId>,
    pub msg_ids: List<IdIn, 1, GET_IDS_MAX>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FoundMessages")]
pub struct FoundOut<'a> {
    messages: Vec<MessageOut<'a>>,
    /// Those that do not exist or that the reader may not see.
    missing: Vec<IdOut>,
}

impl<'a> FoundOut<'a> {
    pub fn new(conversation: &'a ConversationId, found: &'a Found) -> Self {
        Self {
            messages: messages(conversation, &found.messages),
            missing: found.missing.iter().copied().map(IdOut).collect(),
        }
    }
}
