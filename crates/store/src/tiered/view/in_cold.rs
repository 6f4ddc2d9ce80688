//! What a view needs of the cold part of a conversation.

use super::super::cold::Cold;
use super::{Facts, OWN_AMONG_MAX, case};
use crate::params;
use crate::postgres::Postgres;
use im_domain::message::{Status, summary_of_bytes};
use im_domain::{MsgId, Result, UserId};

impl Facts {
    /// Looks for the last message that is left to a user in segments, where no row is.
    pub(super) async fn find_left_in_cold<P: Postgres>(
        &mut self,
        db: &P,
        user: &UserId,
        below: MsgId,
    ) -> Result<()> {
        let cold = Cold { db, cid: self.cid };
        let Some(left) = cold.newest_left(user.as_str(), self.expired, below).await? else { return Ok(()) };
        (self.shown, self.shown_seq, self.last_sender) = (left.msg_id, left.seq, left.sender);
        self.last_kind = left.kind.unsigned_abs().into();
        self.shown_status = case(left.status.unsigned_abs().into(), Status::from_number)?;
        self.last_summary = match self.shown_status {
            Status::Normal => summary_of_bytes(&left.content),
            _ => String::new(),
        };
        Ok(())
    }

    /// Looks for what is kept below the hot messages, where what has not expired begins in the cold part.
    pub(super) async fn complete_cold<P: Postgres>(&mut self, db: &P, user: &UserId) -> Result<()> {
        let Some(member) = &self.member else { return Ok(()) };
        // Who has said nothing since the read position, which has expired, has said nothing that is kept.
        let speaker = (member.own > member.read_own).then_some(user.as_str());
        let kept = Cold { db, cid: self.cid }.kept(self.expired, speaker, self.hot, OWN_AMONG_MAX).await?;
        self.oldest = kept.oldest.or(self.oldest);
        self.own_kept += kept.own;
        Ok(())
    }

    /// Counts what was taken back since the oldest message that has not expired.
    pub(super) async fn recount<P: Postgres>(&mut self, db: &P) -> Result<()> {
        const STATEMENT: &str =
            "SELECT count(*) FROM revision WHERE cid = $1::bigint AND countable > $2::bigint";
        let read = self.member.as_ref().map_or(0, |member| member.read_count);
        let before = self.oldest.map_or(0, |(_, place)| place.saturating_sub(1));
        let mut rows = db.query(STATEMENT, params![self.cid, read.max(before)]).await?;
        self.recalled = rows.first_mut().map_or(Ok(0), |row| row.count())?;
        Ok(())
    }
}
