//! Messages out of rows of SQL, the same for every dialect: each engine selects these columns.

use crate::sql::{Row, SqlError};
use im_domain::ext::Ext;
use im_domain::message::{Action, ControlRef, Kind, Message, Quote, QuoteStatus, Status, summary_of_bytes};
use im_domain::{MsgId, Result, UserId};

/// Takes `msg_id, seq, sender, kind, content, client_msg_id, status, edit_time, ext, control_msg_id,
/// control_action, reply_to`, and of the quoted message what [`quote_of`] takes.
pub(crate) fn read(row: &mut Row) -> Result<Message> {
    let msg_id = row.msg_id()?;
    Ok(Message {
        msg_id,
        seq: row.count()?,
        sender: UserId::parse(row.text()?)?,
        kind: row.case(Kind::from_number)?,
        content: row.utf8()?,
        client_msg_id: row.text()?,
        create_time: msg_id.time_ms(),
        status: row.case(Status::from_number)?,
        edit_time: row.opt_int()?.and_then(|time| u64::try_from(time).ok()),
        ext: row.opt_text()?.map(Ext::stored),
        control: control(row)?,
        reply_to: quote(row)?,
    })
}

fn control(row: &mut Row) -> Result<Option<ControlRef>, SqlError> {
    let msg_id = row.opt_msg_id()?;
    let action = row.opt_int()?.and_then(Action::from_number);
    Ok(msg_id.zip(action).map(|(msg_id, action)| ControlRef { msg_id, action }))
}

fn quote(row: &mut Row) -> Result<Option<Quote>> {
    let msg_id = row.opt_msg_id()?;
    let quote = quote_of(row, msg_id.unwrap_or_default())?;
    Ok(msg_id.map(|_| quote))
}

/// Takes `sender, status, preview` of a quoted message; the preview counts if the status is normal. One that is gone,
/// or that this reader may not see, has no sender.
pub(crate) fn quote_of(row: &mut Row, msg_id: MsgId) -> Result<Quote> {
    let sender = row.opt_text()?.map(UserId::parse).transpose()?;
    let status = row.opt_int()?.and_then(QuoteStatus::from_number);
    let preview = row.opt_blob()?.map(|start| summary_of_bytes(&start));
    let status = status.filter(|_| sender.is_some()).unwrap_or(QuoteStatus::Expired);
    let preview = preview.filter(|_| status == QuoteStatus::Normal);
    Ok(Quote { msg_id, sender, preview, status })
}
