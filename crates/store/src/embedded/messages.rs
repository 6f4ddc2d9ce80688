//! Messages out of rows, and messages by id.

use super::access::{self, HEAD, Head};
use super::cold::{Cold, is_open};
use super::hide::is_hidden;
use super::retention::times;
use super::{Embedded, transaction};
use crate::message_row::read;
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::message::{Message, SUMMARY_BYTES, Status};
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
    let (head, mut found) = read_rows(store, actor, conversation, ids)?;
    let may_be_cold = |id: &MsgId| *id <= head.cold && *id > head.floor;
    let quotes = found.values().filter_map(|message| message.reply_to.as_ref());
    let mut open = quotes.filter(|quote| is_open(quote, head.floor, head.cold));
    if open.next().is_some() || ids.iter().any(|id| may_be_cold(id) && !found.contains_key(id)) {
        found = transaction::read(store, || {
            let (head, found) = read_rows(store, actor, conversation, ids)?;
            with_cold(store, actor, &head, ids, found)
        })?;
    }
    Found::gather(ids, found)
}

type ById = HashMap<MsgId, Message>;

/// Adds what is in segments.
fn with_cold<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    head: &Head,
    ids: &[MsgId],
    mut found: ById,
) -> Result<ById> {
    let cold = Cold { store, cid: head.cid };
    let missing: Vec<MsgId> = ids.iter().copied().filter(|id| !found.contains_key(id)).collect();
    let hidden = cold.hidden(actor.user.as_str())?;
    let mut packed = cold.messages(&missing, head.floor)?;
    packed.retain(|message| !hidden.contains(&message.msg_id));
    found.extend(packed.into_iter().map(|message| (message.msg_id, message)));
    cold.fill_quotes(found.values_mut(), actor.user.as_str(), head.floor, head.cold)?;
    Ok(found)
}

fn read_rows<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    ids: &[MsgId],
) -> Result<(Head, ById)> {
    let statement = format!(
        "WITH {HEAD}
        SELECT h.cid, h.head_msg_id, h.head_seq, h.epoch, h.is_member, h.floor, h.cold_msg_id,
            x.msg_id IS NOT NULL, {}
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
    let head = Head::take(rows.first_mut())?;
    let mut found = HashMap::new();
    for (index, mut row) in rows.into_iter().enumerate() {
        if index > 0 {
            (0..access::COLUMNS).for_each(|_| row.skip());
        }
        if row.flag()? {
            let message = read(&mut row)?;
            found.insert(message.msg_id, message);
        }
    }
    Ok((head, found))
}
