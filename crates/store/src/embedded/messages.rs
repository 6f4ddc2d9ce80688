//! Messages out of rows, and messages by id.

use super::Embedded;
use super::access::{HEAD, Head};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::ext::Ext;
use im_domain::limits::{PAGE_CONTENT_BYTES_MAX, SUMMARY_CHARS_MAX};
use im_domain::message::{Action, ControlRef, Kind, Message, Quote, QuoteStatus, Status, summary_of};
use im_domain::page::Found;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result, UserId};
use std::collections::HashMap;

/// Bytes of content that surely hold a summary: UTF-8 has at most four bytes a character.
pub(super) const SUMMARY_BYTES: usize = SUMMARY_CHARS_MAX * 4;

/// The columns of a message `x` and of the message it quotes, `q`, with the content left out where
/// the status says so. `floor` has to be in scope: a quoted message below it is not shown.
/// [`read`] takes them.
pub(super) fn columns(floor: &str) -> String {
    format!(
        "x.msg_id, x.seq, x.sender, x.kind, iif(x.status = 0, x.content, x''), x.client_msg_id, x.status,
        x.edit_time, iif(x.status = 0, x.ext, NULL), x.control_msg_id, x.control_action, x.reply_to,
        iif(q.msg_id > {floor}, q.sender, NULL), q.status,
        iif(q.msg_id > {floor} AND q.status = 0, substr(q.content, 1, {SUMMARY_BYTES}), NULL)"
    )
}

/// How many columns [`columns`] has.
pub(super) const COLUMNS: usize = 15;

/// Joins the quoted message `q` of `x`.
pub(super) const QUOTED: &str = "LEFT JOIN message q ON q.cid = x.cid AND q.msg_id = x.reply_to";

pub(super) fn read(row: &mut Row) -> Result<Message> {
    let msg_id = row.msg_id()?;
    Ok(Message {
        msg_id,
        seq: row.count()?,
        sender: UserId::parse(row.text()?)?,
        kind: number(row, Kind::from_number)?,
        content: row.utf8()?,
        client_msg_id: row.text()?,
        create_time: msg_id.time_ms(),
        status: number(row, Status::from_number)?,
        edit_time: row.opt_int()?.and_then(|time| u64::try_from(time).ok()),
        ext: row.opt_text()?.map(Ext::stored),
        control: control(row)?,
        reply_to: quote(row)?,
    })
}

/// A column that holds the number of an enum's case.
pub(super) fn number<T>(row: &mut Row, from: impl Fn(i64) -> Option<T>) -> Result<T, SqlError> {
    let number = row.int()?;
    from(number).ok_or_else(|| SqlError::Failed(format!("the number {number} stands for nothing known")))
}

fn control(row: &mut Row) -> Result<Option<ControlRef>> {
    let msg_id = row.opt_msg_id()?;
    let action = row.opt_int()?.and_then(Action::from_number);
    Ok(msg_id.zip(action).map(|(msg_id, action)| ControlRef { msg_id, action }))
}

fn quote(row: &mut Row) -> Result<Option<Quote>> {
    let msg_id = row.opt_msg_id()?;
    let sender = row.opt_text()?.map(UserId::parse).transpose()?;
    let status = row.opt_int()?.and_then(QuoteStatus::from_number);
    let preview = row.opt_blob()?.map(|bytes| summary(&bytes));
    // A quoted message that is gone, or that this reader may not see, has no sender here.
    let status = status.filter(|_| sender.is_some()).unwrap_or(QuoteStatus::Expired);
    Ok(msg_id.map(|msg_id| Quote { msg_id, sender, preview, status }))
}

/// The summary of a content of which at least the first [`SUMMARY_BYTES`] are given.
pub(super) fn summary(bytes: &[u8]) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The last character was cut.
        Err(error) => bytes
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    };
    summary_of(whole).to_owned()
}

/// Messages of one conversation by id, in the order asked for.
pub(super) fn get<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    ids: &[MsgId],
) -> Result<Found> {
    let statement = format!(
        "WITH {HEAD}
        SELECT h.cid, h.head_msg_id, h.head_seq, h.epoch, h.is_member, h.floor, x.msg_id IS NOT NULL, {}
        FROM head h
        LEFT JOIN message x ON x.cid = h.cid AND h.is_member AND x.msg_id > h.floor
            AND x.msg_id IN (SELECT value FROM json_each(?5))
        {QUOTED}",
        columns("h.floor")
    );
    let wanted: Vec<i64> = ids.iter().map(|id| id.to_sql()).collect();
    let parameters = params![
        actor.tenant.as_str(),
        conversation.as_str(),
        actor.user.as_str(),
        store.expired_up_to(),
        serde_json::Value::from(wanted).to_string(),
    ];
    let mut rows = store.db.execute(&statement, parameters)?;
    Head::take(rows.first_mut())?;
    let mut found = HashMap::new();
    for (index, mut row) in rows.into_iter().enumerate() {
        if index > 0 {
            (0..6).for_each(|_| row.skip());
        }
        if row.flag()? {
            let message = read(&mut row)?;
            found.insert(message.msg_id, message);
        }
    }
    check_size(&found)?;
    Ok(in_order(ids, found))
}

/// An answer by id cannot be cut short as a page can, so it is refused.
fn check_size(found: &HashMap<MsgId, Message>) -> Result<()> {
    let bytes: usize = found.values().map(|message| message.content.len()).sum();
    if bytes <= PAGE_CONTENT_BYTES_MAX {
        return Ok(());
    }
    let reason = format!("these messages have more than {PAGE_CONTENT_BYTES_MAX} bytes of content together");
    Err(Error::too_large("msgIds", reason))
}

fn in_order(ids: &[MsgId], mut found: HashMap<MsgId, Message>) -> Found {
    let mut answer = Found { messages: Vec::new(), missing: Vec::new() };
    for id in ids {
        match found.remove(id) {
            Some(message) => answer.messages.push(message),
            None if answer.messages.iter().any(|message| message.msg_id == *id) => {}
            None if answer.missing.contains(id) => {}
            None => answer.missing.push(*id),
        }
    }
    answer
}
