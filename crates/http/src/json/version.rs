//! What a message was before.

use super::scalar::IdIn;
use super::text::Text;
use im_domain::revision::{Capacity, Origin, Version};
use im_domain::{ConversationId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "GetVersions")]
pub struct VersionsIn {
    pub conversation_id: Text<ConversationId>,
    pub msg_id: IdIn,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Versions")]
pub struct VersionsOut<'a> {
    /// Oldest first: as it was sent, after each edit, and that it was recalled or deleted.
    versions: Vec<VersionOut<'a>>,
}

impl<'a> VersionsOut<'a> {
    pub fn new(versions: &'a [Version]) -> Self {
        Self { versions: versions.iter().map(VersionOut::from).collect() }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Version")]
struct VersionOut<'a> {
    /// Empty once it was recalled or deleted.
    content: &'a str,
    /// Since when it was so.
    edit_time: u64,
    /// Who made it so.
    #[schemars(with = "Text<UserId>")]
    by: &'a str,
    #[schemars(with = "Text<Origin>")]
    action: &'static str,
    /// As whom; absent of what was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<Capacity>>")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> From<&'a Version> for VersionOut<'a> {
    fn from(version: &'a Version) -> Self {
        Self {
            content: &version.content,
            edit_time: version.edit_time,
            by: version.by.as_str(),
            action: version.origin.as_str(),
            role: version.capacity.map(Capacity::as_str),
            reason: version.reason.as_deref(),
        }
    }
}
