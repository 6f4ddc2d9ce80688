//! A user's devices and what the user has read, in requests and answers.

use super::scalar::{IdIn, IdOut};
use super::text::Text;
use im_domain::device::{Device, ReadState, Totals};
use im_domain::limits::DEVICES_MAX;
use im_domain::{ConversationId, DeviceId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The user has read everything up to here, on whatever device.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "MarkRead")]
pub struct ReadIn {
    /// Who has read it, where a service acts for a user.
    pub user_id: Option<Text<UserId>>,
    pub conversation_id: Text<ConversationId>,
    /// Before the present read position it changes nothing.
    pub msg_id: IdIn,
}

/// How far the user has read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReadState")]
pub struct ReadOut {
    read_msg_id: IdOut,
    unread: u64,
}

impl From<ReadState> for ReadOut {
    fn from(state: ReadState) -> Self {
        Self { read_msg_id: IdOut(state.read_msg_id), unread: state.unread }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CountUnread")]
pub struct OfflineIn {
    /// Who asks, where a service asks for a user.
    pub user_id: Option<Text<UserId>>,
}

/// What the user has not read, over all conversations.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnreadTotals")]
pub struct OfflineOut {
    /// Conversations with unread messages.
    conversations: u64,
    messages: u64,
}

impl From<Totals> for OfflineOut {
    fn from(totals: Totals) -> Self {
        Self { conversations: totals.conversations, messages: totals.messages }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ListDevices")]
pub struct DevicesIn {
    /// Whose devices, where a service asks for a user.
    pub user_id: Option<Text<UserId>>,
    /// This one is none any more: its positions go, and it starts anew if it syncs again.
    pub forget: Option<Text<DeviceId>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Devices")]
pub struct DevicesOut<'a> {
    /// The one seen last first.
    #[schemars(length(max = DEVICES_MAX))]
    devices: Vec<DeviceOut<'a>>,
}

impl<'a> From<&'a [Device]> for DevicesOut<'a> {
    fn from(devices: &'a [Device]) -> Self {
        Self { devices: devices.iter().map(DeviceOut::from).collect() }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Device")]
pub struct DeviceOut<'a> {
    #[schemars(with = "Text<DeviceId>")]
    device_id: &'a str,
    /// When it last synced, to within 10 seconds.
    last_seen: u64,
}

impl<'a> From<&'a Device> for DeviceOut<'a> {
    fn from(device: &'a Device) -> Self {
        Self { device_id: device.id.as_str(), last_seen: device.last_seen_ms }
    }
}
