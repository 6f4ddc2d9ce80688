//! What a device's sync takes and answers.

use super::page::PageOut;
use super::scalar::{IdIn, IdOut, LimitIn};
use super::text::Text;
use crate::problem::Problem;
use im_domain::limits::{EPOCH_CHARS_MAX, SYNC_ITEMS_DEFAULT};
use im_domain::page::{SyncPage, SyncQuery};
use im_domain::{ConversationId, DeviceId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is new in a conversation for one device.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Sync")]
pub struct SyncIn {
    /// Whose device it is, where a service syncs for a user.
    pub user_id: Option<Text<UserId>>,
    /// The device, where a service syncs for it.
    pub device_id: Option<Text<DeviceId>>,
    conversation_id: Text<ConversationId>,
    /// Up to where the device has stored everything: confirms it, and reads on from there. Not
    /// given: reads on from the device's position.
    last_msg_id: Option<IdIn>,
    /// How many at the most.
    #[schemars(extend("default" = SYNC_ITEMS_DEFAULT))]
    limit: Option<LimitIn>,
    /// The epoch of the device's last answer.
    #[schemars(length(max = EPOCH_CHARS_MAX))]
    epoch: Option<String>,
    /// Takes what this answer brings as stored, without a confirmation: a lost answer is lost.
    auto_advance: Option<bool>,
}

impl SyncIn {
    pub fn query(self) -> Result<SyncQuery, Problem> {
        if self.epoch.as_ref().is_some_and(|epoch| epoch.len() > EPOCH_CHARS_MAX) {
            return Err(Problem::invalid("epoch", "must be one from an earlier answer"));
        }
        Ok(SyncQuery {
            conversation: self.conversation_id.0,
            last_msg_id: self.last_msg_id.map(|id| id.0),
            limit: self.limit.map_or(SYNC_ITEMS_DEFAULT, |limit| limit.0),
            epoch: self.epoch,
            auto_advance: self.auto_advance.unwrap_or(false),
        })
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SyncPage")]
pub struct SyncOut<'a> {
    #[serde(flatten)]
    page: PageOut<'a>,
    /// The device's position after this call.
    position: IdOut,
}

impl<'a> SyncOut<'a> {
    pub fn new(sync: &'a SyncPage) -> Self {
        Self { page: PageOut::new(&sync.page), position: IdOut(sync.position) }
    }
}
