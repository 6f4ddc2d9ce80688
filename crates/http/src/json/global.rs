//! What has changed for a user, in requests and answers.

use super::page::ResetOut;
use super::scalar::{IdOut, LimitIn};
use super::text::Text;
use crate::problem::Problem;
use im_domain::global::{ChangeKind, Changed, Changes, GlobalCursor};
use im_domain::limits::{GLOBAL_CURSOR_CHARS_MAX, GLOBAL_ITEMS_DEFAULT};
use im_domain::{ConversationId, DeviceId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What has changed since a cursor, over all conversations of a user.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "SyncGlobal")]
pub struct GlobalIn {
    /// Who asks, where a service syncs for a user.
    pub user_id: Option<Text<UserId>>,
    /// The device, where a service syncs for it. Without one in the body or the token no device has been seen.
    pub device_id: Option<Text<DeviceId>>,
    /// The cursor of the answer before; empty or not given: from the start, where everything is new.
    #[schemars(length(max = GLOBAL_CURSOR_CHARS_MAX))]
    cursor: Option<String>,
    /// How many conversations at the most.
    #[schemars(extend("default" = GLOBAL_ITEMS_DEFAULT))]
    limit: Option<LimitIn>,
}

impl GlobalIn {
    /// Where to go on (none: from the start), and how many.
    pub fn part(self) -> Result<(Option<GlobalCursor>, u32), Problem> {
        let cursor = GlobalCursor::parse(&self.cursor.unwrap_or_default())?;
        Ok((cursor, self.limit.map_or(GLOBAL_ITEMS_DEFAULT, |limit| limit.0)))
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Changes")]
pub struct ChangesOut<'a> {
    /// What to pass next, now or later.
    #[schemars(length(max = GLOBAL_CURSOR_CHARS_MAX))]
    cursor: &'a str,
    /// The oldest change first.
    changed: Vec<ChangedOut<'a>>,
    has_more: bool,
    /// The cursor that was given is not good any more, and this begins from the start: what is not named
    /// until `hasMore` is false is no conversation of the user any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    reset: Option<ResetOut>,
}

impl<'a> From<&'a Changes> for ChangesOut<'a> {
    fn from(changes: &'a Changes) -> Self {
        Self {
            cursor: &changes.cursor,
            changed: changes.changed.iter().map(ChangedOut::from).collect(),
            has_more: changes.has_more,
            reset: changes.reset.map(ResetOut::from),
        }
    }
}

/// A conversation in which something has changed, as it stands now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChangedConversation")]
struct ChangedOut<'a> {
    #[schemars(with = "Text<ConversationId>")]
    conversation_id: &'a str,
    /// Id and `seq` of the newest message; "0" and 0 if there is none.
    head_msg_id: IdOut,
    head_seq: u64,
    unread: u64,
    read_msg_id: IdOut,
    /// What has changed: at least one; perhaps more than that, never less. `revisions` are told of by control messages,
    /// but for what the user has deleted for oneself: a device reads anew what it keeps of the conversation.
    #[schemars(with = "Vec<Text<ChangeKind>>")]
    kinds: Vec<&'static str>,
    /// Present, and true, when the user is no member any more; the numbers say nothing then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    left: bool,
}

impl<'a> From<&'a Changed> for ChangedOut<'a> {
    fn from(changed: &'a Changed) -> Self {
        Self {
            conversation_id: changed.conversation.as_str(),
            head_msg_id: IdOut(changed.head_msg_id),
            head_seq: changed.head_seq,
            unread: changed.unread,
            read_msg_id: IdOut(changed.read_msg_id),
            kinds: changed.kinds.iter().map(|kind| kind.as_str()).collect(),
            left: changed.left,
        }
    }
}
