//! Conversations and their members, in requests and answers.

use super::list::List;
use super::retention::KeepForIn;
use super::scalar::{IdOut, LimitIn};
use super::text::Text;
use crate::problem::Problem;
use im_domain::conversation::{
    Conversation, ConversationChange, ConversationKind, ConversationList, History, LastMessage, MemberChange,
    NewConversation, Role,
};
use im_domain::limits::{
    LIST_CURSOR_CHARS_MAX, MEMBERS_PER_CALL_MAX, PAGE_ITEMS_DEFAULT, RETENTION_MS_MAX, SUMMARY_CHARS_MAX,
};
use im_domain::message::{Kind, Status};
use im_domain::{ConversationId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

type Users = List<Text<UserId>, 0, MEMBERS_PER_CALL_MAX>;

/// A conversation to be made; again with the same id and type the answer is the same.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CreateConversation")]
pub struct CreateIn {
    /// The creator, where a service creates for a user.
    pub user_id: Option<Text<UserId>>,
    /// Made by the store if not given.
    conversation_id: Option<Text<ConversationId>>,
    r#type: Text<ConversationKind>,
    /// The creator is a member too, whether named here or not.
    members: Users,
    /// What somebody who joins later sees of what was said before; `all` if not given.
    history: Option<Text<History>>,
}

impl CreateIn {
    pub fn conversation(self) -> NewConversation {
        NewConversation {
            id: self.conversation_id.map(|id| id.0),
            kind: self.r#type.0,
            members: users(self.members),
            history: self.history.map_or(History::All, |history| history.0),
        }
    }
}

/// Members to add and remove, and roles to set; at least one, all of it or nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ChangeMembers")]
pub struct MembersIn {
    /// Who changes them, where a service acts for a user.
    pub user_id: Option<Text<UserId>>,
    pub conversation_id: Text<ConversationId>,
    add: Option<Users>,
    remove: Option<Users>,
    /// Role by user id.
    #[schemars(with = "Option<BTreeMap<String, Text<Role>>>")]
    roles: Option<BTreeMap<Text<UserId>, Text<Role>>>,
}

impl MembersIn {
    pub fn change(self) -> Result<(ConversationId, MemberChange), Problem> {
        let roles = self.roles.unwrap_or_default().into_iter();
        let change = MemberChange {
            add: users(self.add.unwrap_or_default()),
            remove: users(self.remove.unwrap_or_default()),
            roles: roles.map(|(user, role)| (user.0, role.0)).collect(),
        };
        change.check()?;
        Ok((self.conversation_id.0, change))
    }
}

fn users(list: Users) -> Vec<UserId> {
    list.0.into_iter().map(|user| user.0).collect()
}

/// Settings to change; at least one, all of it or nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "UpdateConversation")]
pub struct UpdateIn {
    /// Who changes them, where a service acts for a user.
    pub user_id: Option<Text<UserId>>,
    pub conversation_id: Text<ConversationId>,
    /// Whether the conversation wakes the user; each member's own setting.
    muted: Option<bool>,
    /// What somebody who joins later sees of what was said before; for those who have joined, too.
    history: Option<Text<History>>,
    /// For how long the conversation keeps its messages, in milliseconds since they were sent; 0: for ever; null: as
    /// the operator says. For owners and administrators of groups, and for services. What has expired is hidden at
    /// once and purged later; kept longer, what was not purged is back.
    #[serde(default, deserialize_with = "KeepForIn::given")]
    retention_ms: Option<KeepForIn>,
    /// Whether nothing of it expires, whatever else is said; for administrators alone. Members are neither told nor
    /// shown; each change is noted for audit. What is recalled, deleted or edited keeps its former versions.
    legal_hold: Option<bool>,
}

impl UpdateIn {
    pub fn change(self) -> Result<(ConversationId, ConversationChange), Problem> {
        let change = ConversationChange {
            muted: self.muted,
            history: self.history.map(|history| history.0),
            keep_for: self.retention_ms.map(|keep_for| keep_for.0),
            legal_hold: self.legal_hold,
        };
        change.check()?;
        Ok((self.conversation_id.0, change))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "GetConversation")]
pub struct GetConversationIn {
    /// The reader, where a service reads for a user.
    pub user_id: Option<Text<UserId>>,
    pub conversation_id: Text<ConversationId>,
}

/// Part of a user's conversations, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ListConversations")]
pub struct ListIn {
    /// The reader, where a service reads for a user.
    pub user_id: Option<Text<UserId>>,
    /// The cursor of the part before; empty or not given: from the newest on. What moves to the top while a list is
    /// walked is not named further down: `sync/global` tells of it.
    #[schemars(length(max = LIST_CURSOR_CHARS_MAX))]
    cursor: Option<String>,
    /// How many at the most.
    #[schemars(extend("default" = PAGE_ITEMS_DEFAULT))]
    limit: Option<LimitIn>,
}

impl ListIn {
    /// Where to read on, and how many.
    pub fn part(self) -> Result<(String, u32), Problem> {
        Ok((list_cursor(self.cursor)?, self.limit.map_or(PAGE_ITEMS_DEFAULT, |limit| limit.0)))
    }
}

/// A cursor in a user's conversations; none: from the newest on.
pub fn list_cursor(cursor: Option<String>) -> Result<String, Problem> {
    let cursor = cursor.unwrap_or_default();
    if cursor.len() > LIST_CURSOR_CHARS_MAX {
        return Err(Problem::invalid("cursor", "must be one from an earlier answer"));
    }
    Ok(cursor)
}

/// A conversation as one of its members sees it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Conversation")]
pub struct ConversationOut<'a> {
    #[schemars(with = "Text<ConversationId>")]
    conversation_id: &'a str,
    #[schemars(with = "Text<ConversationKind>")]
    r#type: &'static str,
    member_count: u64,
    /// The newest message, control messages aside, that the user may see; null also when the user has hidden the newest
    /// hundred, or somewhat more.
    last_msg: Option<LastMessageOut<'a>>,
    head_seq: u64,
    unread: u64,
    read_msg_id: IdOut,
    create_time: u64,
    update_time: u64,
    epoch: &'a str,
    muted: bool,
    /// For how long it keeps its messages, in milliseconds, 0: for ever; not given: as the operator says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = RETENTION_MS_MAX))]
    retention_ms: Option<u64>,
    /// Whether it is under legal hold; given to services and administrators alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    legal_hold: Option<bool>,
}

impl<'a> From<&'a Conversation> for ConversationOut<'a> {
    fn from(conversation: &'a Conversation) -> Self {
        Self {
            conversation_id: conversation.id.as_str(),
            r#type: conversation.kind.as_str(),
            member_count: conversation.member_count,
            last_msg: conversation.last.as_ref().map(LastMessageOut::from),
            head_seq: conversation.head_seq,
            unread: conversation.unread,
            read_msg_id: IdOut(conversation.read_msg_id),
            create_time: conversation.create_time,
            update_time: conversation.update_time,
            epoch: &conversation.epoch,
            muted: conversation.muted,
            retention_ms: conversation.retention_ms,
            legal_hold: conversation.legal_hold,
        }
    }
}

/// A conversation's newest message, in short.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LastMessage")]
struct LastMessageOut<'a> {
    msg_id: IdOut,
    seq: u64,
    #[schemars(with = "Text<UserId>")]
    sender_id: &'a str,
    #[schemars(with = "Text<Kind>")]
    r#type: &'static str,
    /// The beginning of the content.
    #[schemars(length(max = SUMMARY_CHARS_MAX))]
    summary: &'a str,
    create_time: u64,
    #[schemars(with = "Text<Status>")]
    status: &'static str,
}

impl<'a> From<&'a LastMessage> for LastMessageOut<'a> {
    fn from(last: &'a LastMessage) -> Self {
        Self {
            msg_id: IdOut(last.msg_id),
            seq: last.seq,
            sender_id: last.sender.as_str(),
            r#type: last.kind.as_str(),
            summary: &last.summary,
            create_time: last.create_time,
            status: last.status.as_str(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConversationList")]
pub struct ListOut<'a> {
    conversations: Vec<ConversationOut<'a>>,
    /// What to pass for the next part.
    cursor: &'a str,
    has_more: bool,
}

impl<'a> From<&'a ConversationList> for ListOut<'a> {
    fn from(list: &'a ConversationList) -> Self {
        Self {
            conversations: list.conversations.iter().map(ConversationOut::from).collect(),
            cursor: &list.cursor,
            has_more: list.has_more,
        }
    }
}
