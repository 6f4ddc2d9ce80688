//! Looking for messages by what a client knows of them.

use super::Cold;
use crate::cold::{Stored, is_shown};
use crate::params;
use crate::postgres::Postgres;
use im_domain::{MsgId, Result};
use im_segment::Record;

/// How much a client's clock may be ahead, in milliseconds, for a message to be found by the time it tells.
const CLOCK_SKEW_MS: u64 = 600_000;
/// Segments in which a message is looked for, from the time on that its client tells: some days of a busy
/// conversation.
const SEGMENTS_MAX: u64 = 2;

impl<P: Postgres> Cold<'_, P> {
    /// The message in segments that stands for a sender's `clientMsgId` which was made at `made_at_ms`.
    pub async fn earlier(
        &self,
        sender: &str,
        client_msg_id: &str,
        made_at_ms: u64,
    ) -> Result<Option<Record>> {
        let statement = format!(
            "SELECT {} FROM segment WHERE cid = $1::bigint AND last_id >= $2::bigint
            ORDER BY last_id LIMIT $3::bigint",
            Stored::COLUMNS
        );
        let from = MsgId::floor_of(made_at_ms.saturating_sub(CLOCK_SKEW_MS));
        let is_it = |record: &Record| {
            let is_original = record.copy_of.is_none() && record.control_msg_id.is_none();
            is_original && record.sender == sender && record.client_msg_id == client_msg_id
        };
        for mut row in self.db.query(&statement, params![self.cid, from, SEGMENTS_MAX]).await? {
            let found = Stored::read(&mut row)?.records(self.cid)?.into_iter().find(is_it);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Whether readers see a message of the cold part.
    pub async fn has(&self, id: MsgId) -> Result<bool> {
        Ok(self.find(&[id]).await?.values().any(is_shown))
    }
}
