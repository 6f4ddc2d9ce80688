//! What a user may see of a conversation, as it stands at the head of every read.

use super::retention::expired_up_to;
use crate::sql::{Row, SqlError};
use im_domain::{Error, MsgId, Result};

/// The head of a read, as a common table expression: one row if the conversation exists.
/// Parameters: ?1 tenant, ?2 conversation, ?3 user, ?4 the [`super::retention::times`] of now.
/// `history = 1` is `from_join`.
pub(super) const HEAD: &str = concat!(
    "head AS MATERIALIZED (
    SELECT c.cid, c.head_msg_id, c.head_seq, s.epoch, m.user IS NOT NULL AS is_member,
        max(",
    expired_up_to!("?4"),
    ", iif(c.history = 1, coalesce(m.floor, 0), 0)) AS floor, c.cold_msg_id
    FROM conversation c JOIN store s ON s.id = 1 LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
    WHERE c.tenant = ?1 AND c.name = ?2)"
);

/// A conversation as a member may read it.
pub(super) struct Head {
    pub cid: i64,
    pub head_msg_id: MsgId,
    pub head_seq: u64,
    pub epoch: String,
    /// Only messages above this id may be seen.
    pub floor: MsgId,
    /// Messages up to this id are in segments.
    pub cold: MsgId,
}

/// How many columns a [`Head`] has.
pub(super) const COLUMNS: usize = 7;

impl Head {
    /// Reads the columns `cid, head_msg_id, head_seq, epoch, is_member, floor, cold_msg_id`, and refuses those
    /// who are not members.
    pub fn take(row: Option<&mut Row>) -> Result<Self> {
        let row = row.ok_or(Error::ConversationNotFound)?;
        let (head, is_member) = Self::columns(row)?;
        if is_member { Ok(head) } else { Err(Error::NotMember) }
    }

    fn columns(row: &mut Row) -> Result<(Self, bool), SqlError> {
        let cid = row.int()?;
        let head_msg_id = row.msg_id()?;
        let head_seq = row.count()?;
        let epoch = row.text()?;
        let is_member = row.flag()?;
        let (floor, cold) = (row.msg_id()?, row.msg_id()?);
        Ok((Self { cid, head_msg_id, head_seq, epoch, floor, cold }, is_member))
    }
}
