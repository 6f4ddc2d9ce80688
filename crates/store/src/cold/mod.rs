//! Cold messages: what both engines do with segments, whose form is that of the crate `im_segment` (ADR 0018).

pub(crate) mod limits;
mod message;
mod pack;
mod pick;

pub(crate) use message::{
    has_kind, hide, is_erased, is_normal, is_own, is_shown, message, quote, stands_for,
};
pub(crate) use pack::{Packed, pack};
pub(crate) use pick::{Wanted, merge};

use crate::sql::{Row, SqlError};
use im_domain::message::Kind;
use im_domain::{Error, MsgId, Result};
use im_segment::{ReadError, Record, Segment};

/// A segment as SQL keeps it.
pub(crate) struct Stored {
    pub first_id: MsgId,
    pub last_id: MsgId,
    /// Those that are shown.
    pub messages: u64,
    pub blob: Vec<u8>,
}

impl Stored {
    /// Columns that [`Self::read`] takes.
    pub const COLUMNS: &str = "first_id, last_id, messages, blob";

    pub fn read(row: &mut Row) -> Result<Self, SqlError> {
        Ok(Self {
            first_id: row.msg_id()?,
            last_id: row.msg_id()?,
            messages: row.count()?,
            blob: row.opt_blob()?.unwrap_or_default(),
        })
    }

    pub fn open(&self, cid: MsgId) -> Result<Segment<'_>> {
        let segment = Segment::open(&self.blob).map_err(|error| self.damaged(cid, error))?;
        match segment.cid() == cid {
            true => Ok(segment),
            false => Err(self.damaged(cid, ReadError::Damaged { what: "conversation" })),
        }
    }

    /// All its messages, oldest first.
    pub fn records(&self, cid: MsgId) -> Result<Vec<Record>> {
        self.open(cid)?.read().map_err(|error| self.damaged(cid, error))
    }

    /// Whether half of its time has expired, when messages up to an id have.
    pub fn is_half_gone(&self, expired: MsgId) -> bool {
        let middle = self.first_id.number() / 2 + self.last_id.number() / 2;
        self.first_id <= expired && middle <= expired.number()
    }

    /// It cannot be read: an operator has to know where it is.
    pub fn damaged(&self, cid: MsgId, error: ReadError) -> Error {
        let first = self.first_id;
        Error::internal(format!(
            "conversation number {cid}: the cold segment from message {first} on: {error}"
        ))
    }
}

/// Reads a row of the table `message`: its columns in the order of [`Record`]'s fields; of those that a dialect does
/// not have it selects NULL.
pub(crate) fn record(row: &mut Row) -> Result<Record, SqlError> {
    Ok(Record {
        msg_id: row.msg_id()?,
        seq: row.count()?,
        countable: row.count()?,
        sender: row.text()?,
        client_msg_id: row.text()?,
        fingerprint: fingerprint(row)?,
        kind: small(row.int()?)?,
        status: small(row.int()?)?,
        content: row.opt_blob()?.unwrap_or_default(),
        reply_to: row.opt_msg_id()?,
        ext: row.opt_text()?,
        edit_time: row.opt_int()?.map(i64::unsigned_abs),
        control_msg_id: row.opt_msg_id()?,
        control_action: row.opt_int()?.map(small).transpose()?,
        copy_of: row.opt_msg_id()?,
        own: row.opt_int()?.map(i64::unsigned_abs),
    })
}

fn fingerprint<const N: usize>(row: &mut Row) -> Result<[u8; N], SqlError> {
    let bytes = row.opt_blob()?.unwrap_or_default();
    bytes.try_into().map_err(|_| SqlError::Failed("a fingerprint has another length".to_owned()))
}

fn small(number: i64) -> Result<i16, SqlError> {
    i16::try_from(number).map_err(|_| SqlError::Failed(format!("the number {number} is too large")))
}

/// From where on a message is looked for whose client says that it was made at `made_at_ms`.
pub(crate) fn made_from(made_at_ms: u64) -> MsgId {
    MsgId::floor_of(made_at_ms.saturating_sub(limits::CLOCK_SKEW_MS))
}

/// The kinds of a page as a segment's `kinds` has them; no kinds: all.
pub(crate) fn mask(kinds: &[Kind]) -> i64 {
    let bits = kinds.iter().map(|kind| bit(kind.number()));
    if kinds.is_empty() { i64::MAX } else { bits.fold(0, |mask, bit| mask | bit) }
}

/// Kinds have small numbers.
fn bit(kind: i64) -> i64 {
    u32::try_from(kind).ok().and_then(|kind| 1_i64.checked_shl(kind)).unwrap_or_default()
}

/// The id before another one.
pub(crate) fn before(id: MsgId) -> MsgId {
    MsgId::new(id.number().saturating_sub(1)).unwrap_or_default()
}

/// The id after another one.
pub(crate) fn after(id: MsgId) -> MsgId {
    MsgId::new(id.number().saturating_add(1)).unwrap_or(MsgId::MAX)
}
