//! What there is of one user, in requests and answers.

use super::device::DeviceOut;
use super::message::MessageOut;
use super::push::SettingsOut;
use super::scalar::{IdOut, LimitIn};
use super::text::Text;
use crate::problem::Problem;
use im_domain::conversation::Role;
use im_domain::erase::Erased;
use im_domain::export::{Export, ExportCursor, Membership, Profile};
use im_domain::limits::{EXPORT_CURSOR_CHARS_MAX, PAGE_ITEMS_MAX};
use im_domain::{ConversationId, DeviceId, MsgId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ExportUser")]
pub struct ExportIn {
    /// Whose data are taken out.
    user_id: Text<UserId>,
    /// The cursor of the answer before; empty or not given: from the start.
    #[schemars(length(max = EXPORT_CURSOR_CHARS_MAX))]
    cursor: Option<String>,
    /// How many messages at the most.
    #[schemars(extend("default" = PAGE_ITEMS_MAX))]
    limit: Option<LimitIn>,
}

impl ExportIn {
    /// Of whom, where to go on, and how many messages.
    pub fn part(self) -> Result<(UserId, ExportCursor, u32), Problem> {
        let cursor = ExportCursor::parse(&self.cursor.unwrap_or_default())?;
        Ok((self.user_id.0, cursor, self.limit.map_or(PAGE_ITEMS_MAX, |limit| limit.0)))
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Export")]
pub struct ExportOut<'a> {
    #[schemars(with = "Text<UserId>")]
    user_id: &'a str,
    /// On the first part.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileOut<'a>>,
    memberships: Vec<MembershipOut<'a>>,
    /// What the user has sent, as it is now: without the content of what was taken back.
    messages: Vec<MessageOut<'a>>,
    /// What to pass next.
    #[schemars(length(max = EXPORT_CURSOR_CHARS_MAX))]
    cursor: String,
    /// It is not all, even where this part has nothing.
    has_more: bool,
}

impl<'a> ExportOut<'a> {
    pub fn new(user: &'a UserId, export: &'a Export) -> Self {
        let message = |(conversation, message)| MessageOut::new(conversation, message);
        Self {
            user_id: user.as_str(),
            profile: export.profile.as_ref().map(ProfileOut::from),
            memberships: export.memberships.iter().map(MembershipOut::from).collect(),
            messages: export.messages.iter().map(|(id, one)| (id, one)).map(message).collect(),
            cursor: export.cursor.to_string(),
            has_more: export.has_more,
        }
    }
}

/// What is kept of the user alone.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Profile")]
struct ProfileOut<'a> {
    devices: Vec<DeviceOut<'a>>,
    push_settings: SettingsOut<'a>,
}

impl<'a> From<&'a Profile> for ProfileOut<'a> {
    fn from(profile: &'a Profile) -> Self {
        Self {
            devices: profile.devices.iter().map(DeviceOut::from).collect(),
            push_settings: SettingsOut::from(&profile.push),
        }
    }
}

/// What is kept of the user in a conversation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Membership")]
struct MembershipOut<'a> {
    #[schemars(with = "Text<ConversationId>")]
    conversation_id: &'a str,
    /// Absent, as the three fields below: the user is no member any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<Role>>")]
    role: Option<&'static str>,
    /// The newest message when the user joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    joined_after_msg_id: Option<IdOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_msg_id: Option<IdOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    muted: Option<bool>,
    /// Up to where each device has synced.
    positions: Vec<PositionOut<'a>>,
    /// Messages that the user has deleted for themselves alone.
    hidden_msg_ids: Vec<IdOut>,
}

impl<'a> From<&'a Membership> for MembershipOut<'a> {
    fn from(membership: &'a Membership) -> Self {
        let member = membership.member.as_ref();
        Self {
            conversation_id: membership.conversation.as_str(),
            role: member.map(|member| member.role.as_str()),
            joined_after_msg_id: member.map(|member| IdOut(member.joined_after)),
            read_msg_id: member.map(|member| IdOut(member.read_msg_id)),
            muted: member.map(|member| member.muted),
            positions: membership.positions.iter().map(PositionOut::from).collect(),
            hidden_msg_ids: membership.hidden.iter().copied().map(IdOut).collect(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Position")]
struct PositionOut<'a> {
    #[schemars(with = "Text<DeviceId>")]
    device_id: &'a str,
    msg_id: IdOut,
}

impl<'a> From<&'a (DeviceId, MsgId)> for PositionOut<'a> {
    fn from((device, msg_id): &'a (DeviceId, MsgId)) -> Self {
        Self { device_id: device.as_str(), msg_id: IdOut(*msg_id) }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "EraseUser")]
pub struct EraseIn {
    /// Who is erased.
    user_id: Text<UserId>,
    /// The cursor of the answer before; empty or not given: from the start.
    #[schemars(length(max = EXPORT_CURSOR_CHARS_MAX))]
    cursor: Option<String>,
}

impl EraseIn {
    /// Whom, and where to go on.
    pub fn part(self) -> Result<(UserId, ExportCursor), Problem> {
        Ok((self.user_id.0, ExportCursor::parse(&self.cursor.unwrap_or_default())?))
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Erased")]
pub struct EraseOut {
    /// Messages that have no content now; those of a part that is repeated count again.
    messages: u64,
    /// Conversations under legal hold: what there is of the user in them stays. Once they are held no more, erase the
    /// user again.
    #[schemars(with = "Vec<Text<ConversationId>>")]
    held: Vec<String>,
    /// What to pass next.
    #[schemars(length(max = EXPORT_CURSOR_CHARS_MAX))]
    cursor: String,
    /// It is not all, even where this part had nothing.
    has_more: bool,
}

impl From<Erased> for EraseOut {
    fn from(erased: Erased) -> Self {
        Self {
            messages: erased.messages,
            held: erased.held.into_iter().map(ConversationId::into_string).collect(),
            cursor: erased.cursor.to_string(),
            has_more: erased.has_more,
        }
    }
}
