//! What is kept of a message.

use crate::limits::RECORD_FIXED_BYTES;
use im_domain::MsgId;
use im_domain::message::FINGERPRINT_BYTES;

/// A row of SQL's table `message`, of either back end, without `cid`. Numbers that stand for something
/// (`kind`, `status`, `control_action`) are kept as numbers: a segment does not care what they mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub msg_id: MsgId,
    pub seq: u64,
    pub countable: u64,
    pub sender: String,
    pub client_msg_id: String,
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    pub kind: i16,
    pub status: i16,
    /// Any bytes.
    pub content: Vec<u8>,
    pub reply_to: Option<MsgId>,
    /// Any text.
    pub ext: Option<String>,
    /// Milliseconds since 1970.
    pub edit_time: Option<u64>,
    pub control_msg_id: Option<MsgId>,
    pub control_action: Option<i16>,
    /// PostgreSQL's alone; [`MsgId::NONE`] is a value of its own.
    pub copy_of: Option<MsgId>,
    /// SQLite's alone.
    pub own: Option<u64>,
}

impl Record {
    /// What the message counts for limits: its texts and [`RECORD_FIXED_BYTES`].
    pub fn bytes(&self) -> usize {
        let ext = self.ext.as_ref().map_or(0, String::len);
        RECORD_FIXED_BYTES + self.sender.len() + self.client_msg_id.len() + self.content.len() + ext
    }
}
