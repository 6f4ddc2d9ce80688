//! Messages out of rows, and messages by id.

use super::Embedded;
use super::access::{HEAD, Head};
use super::hide::is_hidden;
use super::retention::times;
use crate::message_row::read;
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::message::{SUMMARY_BYTES, Status};
use im_domain::page::Found;
use im_domain::storage::Actor;
use im_domain::{ConversationId, MsgId, Result};
use std::collections::HashMap;

/// The columns of a message `x` and of the message it quotes, `q`, with the content left out where
/// the status says so. `floor` has to be in scope: a quoted message below it is not shown, and one that is hidden from
/// the user ?3 is as if it were deleted. [`crate::message_row`] takes them.
pub(super) fn columns(floor: &str) -> String {
    format!(
        "x.msg_id, x.seq, x.sender, x.kind, iif(x.status = 0, x.content, x''), x.client_msg_id, x.status,
        x.edit_time, iif(x.status = 0, x.ext, NULL), x.control_msg_id, x.control_action, x.reply_to,
        iif(q.msg_id > {floor}, q.sender, NULL), iif({}, {}, q.status),
        iif(q.msg_id > {floor} AND q.status = 0, substr(q.content, 1, {SUMMARY_BYTES}), NULL)",
        is_hidden("q", "?3"),
        Status::Deleted.number(),
    )
}

/// How many columns [`columns`] has.
pub(super) const COLUMNS: usize = 15;

/// Joins the quoted message `q` of `x`.
pub(super) const QUOTED: &str = "LEFT JOIN message q ON q.cid = x.cid AND q.msg_id = x.reply_to";

/// Ids as an array in JSON.
pub(super) fn list<'a>(ids: impl IntoIterator<Item = &'a MsgId>) -> String {
    serde_json::Value::from_iter(ids.into_iter().map(|id| id.to_sql())).to_string()
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
            AND x.msg_id IN (SELECT value FROM json_each(?5)) AND NOT {}
        {QUOTED}",
        columns("h.floor"),
        is_hidden("x", "?3")
    );
    let parameters = params![
        actor.tenant.as_str(),
        conversation.as_str(),
        actor.user.as_str(),
        times(store, &actor.tenant),
        list(ids),
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
    Found::gather(ids, found)
}
