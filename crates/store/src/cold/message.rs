//! Cold messages as their readers see them.

use im_domain::ext::Ext;
use im_domain::message::{
    Action, ControlRef, FINGERPRINT_BYTES, Kind, Message, Quote, QuoteStatus, Status, summary_of_bytes,
};
use im_domain::{Error, MsgId, Result, UserId};
use im_segment::Record;

/// Whether readers see it: one that repeats another is left out.
pub(crate) fn is_shown(record: &Record) -> bool {
    record.copy_of.unwrap_or_default().is_none()
}

/// Whether a user has said it; control messages are no sayings.
pub(crate) fn is_own(record: &Record, user: &str) -> bool {
    record.sender == user && record.control_msg_id.is_none()
}

/// Whether it stands for a sender's `clientMsgId`.
pub(crate) fn stands_for(record: &Record, sender: &str, client_msg_id: &str) -> bool {
    record.copy_of.is_none() && is_own(record, sender) && record.client_msg_id == client_msg_id
}

/// Whether it was not taken back.
pub(crate) fn is_normal(record: &Record) -> bool {
    i64::from(record.status) == Status::Normal.number()
}

/// Whether it is of one of these kinds; no kinds: all.
pub(crate) fn has_kind(record: &Record, kinds: &[Kind]) -> bool {
    kinds.is_empty() || kinds.iter().any(|kind| kind.number() == i64::from(record.kind))
}

/// Whether its sender was erased.
pub(crate) fn is_erased(record: &Record) -> bool {
    record.control_msg_id.is_none() && record.fingerprint == [0; FINGERPRINT_BYTES]
}

/// A message whose quote has yet to be looked up.
pub(crate) fn message(record: Record) -> Result<Message> {
    let status = status(&record)?;
    let is_normal = status == Status::Normal;
    let content = if is_normal { record.content } else { Vec::new() };
    Ok(Message {
        msg_id: record.msg_id,
        seq: record.seq,
        sender: UserId::parse(record.sender)?,
        kind: Kind::from_number(record.kind.into()).ok_or_else(unknown)?,
        content: String::from_utf8(content).map_err(|_| Error::internal("a cold message is not UTF-8"))?,
        client_msg_id: record.client_msg_id,
        create_time: record.msg_id.time_ms(),
        status,
        edit_time: record.edit_time,
        reply_to: record.reply_to.map(gone),
        ext: record.ext.filter(|_| is_normal).map(Ext::stored),
        control: control(record.control_msg_id, record.control_action),
    })
}

/// The quote of a cold message.
pub(crate) fn quote(record: &Record) -> Result<Quote> {
    let status = status(record)?;
    Ok(Quote {
        msg_id: record.msg_id,
        sender: Some(UserId::parse(record.sender.as_str())?),
        preview: (status == Status::Normal).then(|| summary_of_bytes(&record.content)),
        status: status.into(),
    })
}

/// A quote for whom its message is hidden from: as if it were deleted.
pub(crate) fn hide(quote: &mut Quote) {
    (quote.preview, quote.status) = (None, QuoteStatus::Deleted);
}

fn gone(msg_id: MsgId) -> Quote {
    Quote { msg_id, sender: None, preview: None, status: QuoteStatus::Expired }
}

fn status(record: &Record) -> Result<Status> {
    Status::from_number(record.status.into()).ok_or_else(unknown)
}

fn control(msg_id: Option<MsgId>, action: Option<i16>) -> Option<ControlRef> {
    let action = action.and_then(|action| Action::from_number(action.into()));
    msg_id.zip(action).map(|(msg_id, action)| ControlRef { msg_id, action })
}

fn unknown() -> Error {
    Error::internal("a number of a cold message stands for nothing known")
}
