//! Conversations as their members see them: one by one, and as a list, newest first.

use super::Embedded;
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::conversation::{Conversation, ConversationKind, ConversationList, LastMessage, list_cursor};
use im_domain::message::{Kind, SUMMARY_BYTES, Status, summary_of_bytes};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result, UserId};

/// Columns of a conversation `c`, seen by its member `m` (perhaps none), with its last message `x`. Of
/// unread messages there are never more than those since the oldest that has not expired.
const COLUMNS: &str = "
    c.place, m.user IS NOT NULL, c.name, c.kind, c.member_count, c.head_seq,
    CASE WHEN m.user IS NULL THEN 0
        ELSE max(0, min(c.head_countable - m.read_countable - (m.own - m.read_own),
            coalesce((SELECT c.head_countable - o.countable + 1 FROM message o
                WHERE o.cid = c.cid AND o.msg_id > ?4 ORDER BY o.msg_id LIMIT 1), 0))) END,
    coalesce(m.read_msg_id, 0), c.create_time, c.update_time, s.epoch, coalesce(m.muted, 0),
    x.msg_id, x.seq, x.sender, x.kind, x.status, iif(x.status = 0, substr(x.content, 1, ?3), x'')";

/// Joins the store and the last message that the member may see. ?4: the newest id that has expired.
const JOINS: &str = "
    JOIN store s ON s.id = 1
    LEFT JOIN message x ON x.cid = c.cid AND x.msg_id = c.head_msg_id AND x.msg_id > ?4
        AND (c.history = 0 OR m.user IS NULL OR x.msg_id > m.floor)";

/// One conversation for one of its members.
pub(super) fn one<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    id: &ConversationId,
) -> Result<Conversation> {
    match find(store, actor, id)? {
        (conversation, true) => Ok(conversation),
        (_, false) => Err(Error::NotMember),
    }
}

/// As [`one`], after a change that the actor was allowed to make: also for who is no member, or no
/// longer one, but then without anything that was said.
pub(super) fn after_change<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    id: &ConversationId,
) -> Result<Conversation> {
    let (mut conversation, is_member) = find(store, actor, id)?;
    if !is_member {
        conversation.last = None;
    }
    Ok(conversation)
}

fn find<P: Sqlite>(store: &Embedded<P>, actor: &Actor, id: &ConversationId) -> Result<(Conversation, bool)> {
    let statement = format!(
        "SELECT {COLUMNS} FROM conversation c LEFT JOIN member m ON m.cid = c.cid AND m.user = ?2 {JOINS}
        WHERE c.tenant = ?1 AND c.name = ?5"
    );
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        SUMMARY_BYTES as u64,
        store.expired_up_to(),
        id.as_str(),
    ];
    let mut rows = store.db.execute(&statement, parameters)?;
    let row = rows.first_mut().ok_or(Error::ConversationNotFound)?;
    let (_, is_member, conversation) = read(row)?;
    Ok((conversation, is_member))
}

/// The user's conversations. The place in the list is that of the newest message, so a cursor is
/// the id where the last part ended: what moves to the top meanwhile is above it.
pub(super) fn list<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    cursor: &str,
    limit: u32,
) -> Result<ConversationList> {
    let statement = format!(
        "SELECT {COLUMNS} FROM (
            SELECT c.cid FROM member m JOIN conversation c ON c.cid = m.cid
            WHERE m.tenant = ?1 AND m.user = ?2 AND c.place < ?5
            ORDER BY c.place DESC LIMIT ?6) f
        JOIN conversation c ON c.cid = f.cid JOIN member m ON m.cid = c.cid AND m.user = ?2 {JOINS}
        ORDER BY c.place DESC"
    );
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        SUMMARY_BYTES as u64,
        store.expired_up_to(),
        list_cursor(cursor)?,
        i64::from(limit) + 1,
    ];
    let mut rows = store.db.execute(&statement, parameters)?;
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let mut answer = ConversationList { conversations: Vec::new(), cursor: cursor.to_owned(), has_more };
    for mut row in rows {
        let (place, _, conversation) = read(&mut row)?;
        answer.cursor = place.to_string();
        answer.conversations.push(conversation);
    }
    Ok(answer)
}

fn read(row: &mut Row) -> Result<(MsgId, bool, Conversation)> {
    let place = row.msg_id()?;
    let is_member = row.flag()?;
    let conversation = Conversation {
        id: ConversationId::parse(row.text()?)?,
        kind: row.case(ConversationKind::from_number)?,
        member_count: row.count()?,
        head_seq: row.count()?,
        unread: row.count()?,
        read_msg_id: row.msg_id()?,
        create_time: row.count()?,
        update_time: row.count()?,
        epoch: row.text()?,
        muted: row.flag()?,
        last: last(row)?,
    };
    Ok((place, is_member, conversation))
}

fn last(row: &mut Row) -> Result<Option<LastMessage>> {
    let Some(msg_id) = row.opt_msg_id()? else { return Ok(None) };
    Ok(Some(LastMessage {
        msg_id,
        seq: row.count()?,
        sender: UserId::parse(row.text()?)?,
        kind: row.case(Kind::from_number)?,
        status: row.case(Status::from_number)?,
        summary: bytes(row).map(|bytes| summary_of_bytes(&bytes))?,
        create_time: msg_id.time_ms(),
    }))
}

fn bytes(row: &mut Row) -> Result<Vec<u8>, SqlError> {
    Ok(row.opt_blob()?.unwrap_or_default())
}

pub(super) fn totals<P: Sqlite>(_store: &Embedded<P>, _actor: &Actor) -> Result<im_domain::device::Totals> {
    Err(Error::internal("not made yet"))
}
