//! Which of the optional fields a message has, as bits.

use crate::record::Record;

pub(super) const REPLY_TO: u64 = 1;
pub(super) const EXT: u64 = 2;
pub(super) const EDIT_TIME: u64 = 4;
pub(super) const CONTROL_MSG_ID: u64 = 8;
pub(super) const CONTROL_ACTION: u64 = 16;
pub(super) const COPY_OF: u64 = 32;
pub(super) const OWN: u64 = 64;
pub(super) const ALL: usize = 127;

pub(super) fn of(record: &Record) -> u64 {
    let bits = [
        (REPLY_TO, record.reply_to.is_some()),
        (EXT, record.ext.is_some()),
        (EDIT_TIME, record.edit_time.is_some()),
        (CONTROL_MSG_ID, record.control_msg_id.is_some()),
        (CONTROL_ACTION, record.control_action.is_some()),
        (COPY_OF, record.copy_of.is_some()),
        (OWN, record.own.is_some()),
    ];
    bits.into_iter().filter(|(_, is_there)| *is_there).map(|(bit, _)| bit).sum()
}
