//! Looking for messages by what a client knows of them.

use super::Cold;
use crate::cold::limits::EARLIER_SEGMENTS_MAX;
use crate::cold::{Stored, is_shown, made_from, stands_for};
use crate::params;
use crate::postgres::Postgres;
use im_domain::{MsgId, Result};
use im_segment::Record;

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
        let is_it = |record: &Record| stands_for(record, sender, client_msg_id);
        let parameters = params![self.cid, made_from(made_at_ms), EARLIER_SEGMENTS_MAX];
        for mut row in self.db.query(&statement, parameters).await? {
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
