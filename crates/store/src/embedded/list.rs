//! Conversations as their members see them: one by one, and as a list, newest first.

use super::Embedded;
use super::cold::Cold;
use super::hide::is_hidden;
use super::index::WIDE;
use super::retention::{expired_up_to, times};
use super::unread::{self, unread};
use crate::cold::message;
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::conversation::{Conversation, ConversationKind, ConversationList, LastMessage, list_cursor};
use im_domain::device::Totals;
use im_domain::limits::LAST_LOOK_MAX;
use im_domain::message::{Kind, SUMMARY_BYTES, Status, summary_of, summary_of_bytes};
use im_domain::page::{Direction, Range};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result, UserId};

/// Columns of a conversation `c`, seen by its member `m` (perhaps none), with its last message `x`.
fn columns() -> String {
    format!(
        "m.user IS NOT NULL, c.name, c.kind, c.member_count, c.head_seq, c.cid, {}, coalesce(m.read_msg_id, 0),
        c.create_time, c.update_time, s.epoch, coalesce(m.muted, 0), c.retention_ms, c.legal_hold,
        c.cold_msg_id, max({}, iif(c.history = 0 OR m.user IS NULL, 0, m.floor)),
        x.msg_id, x.seq, x.sender, x.kind, x.status, iif(x.status = 0, substr(x.content, 1, ?3), x'')",
        unread(),
        expired_up_to!("?4")
    )
}

/// Joins the store and the last message that the member may see, among the newest few. ?4: the [`times`]
/// of now.
fn joins() -> String {
    format!(
        "JOIN store s ON s.id = 1
        LEFT JOIN message x ON x.cid = c.cid AND x.msg_id = (
            SELECT l.msg_id FROM (
                SELECT cid, msg_id, kind FROM message WHERE cid = c.cid AND msg_id <= c.shown_msg_id AND msg_id > {}
                    AND (c.history = 0 OR m.user IS NULL OR msg_id > m.floor)
                ORDER BY msg_id DESC LIMIT {LAST_LOOK_MAX}) l
            WHERE l.kind <> {} AND NOT {} ORDER BY l.msg_id DESC LIMIT 1)",
        expired_up_to!("?4"),
        Kind::Recall.number(),
        is_hidden("l", "m.user"),
    )
}

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
        "SELECT {} FROM conversation c LEFT JOIN member m ON m.cid = c.cid AND m.user = ?2 {}
        WHERE c.tenant = ?1 AND c.name = ?5",
        columns(),
        joins()
    );
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        SUMMARY_BYTES as u64,
        times(store, &actor.tenant),
        id.as_str(),
    ];
    let mut rows = store.db.execute(&statement, parameters)?;
    let row = rows.first_mut().ok_or(Error::ConversationNotFound)?;
    read(store, actor, row)
}

/// The user's conversations. A cursor is the recency at which the last part ended: what moves to the top
/// meanwhile is above it. No two conversations have the same one, as each change has a number of its own.
pub(super) fn list<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    cursor: &str,
    limit: u32,
) -> Result<ConversationList> {
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        SUMMARY_BYTES as u64,
        times(store, &actor.tenant),
        list_cursor(cursor)?,
        i64::from(limit) + 1,
    ];
    let mut rows = store.db.execute(&list_statement(), parameters)?;
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let mut answer = ConversationList { conversations: Vec::new(), cursor: cursor.to_owned(), has_more };
    for mut row in rows {
        answer.cursor = row.count()?.to_string();
        answer.conversations.push(read(store, actor, &mut row)?.0);
    }
    Ok(answer)
}

/// Narrow conversations stand in the index in the order of the list, wide ones are looked up, all of them.
fn list_statement() -> String {
    format!(
        "SELECT f.recency, {} FROM (
            SELECT * FROM (
                SELECT cid, recency FROM member
                WHERE tenant = ?1 AND user = ?2 AND recency < ?5 AND recency < {WIDE}
                ORDER BY recency DESC LIMIT ?6)
            UNION ALL
            SELECT m.cid, max(c.version, m.joined) FROM member m JOIN conversation c ON c.cid = m.cid
            WHERE m.tenant = ?1 AND m.user = ?2 AND m.recency = {WIDE} AND max(c.version, m.joined) < ?5
            ORDER BY 2 DESC LIMIT ?6) f
        JOIN conversation c ON c.cid = f.cid JOIN member m ON m.cid = c.cid AND m.user = ?2 {}
        ORDER BY f.recency DESC",
        columns(),
        joins()
    )
}

/// What the user has not read, over all conversations.
pub(super) fn totals<P: Sqlite>(store: &Embedded<P>, actor: &Actor) -> Result<Totals> {
    let statement = format!(
        "SELECT count(*) FILTER (WHERE unread > 0), coalesce(sum(unread), 0),
            json_group_array(cid) FILTER (WHERE unread IS NULL) FROM (
            SELECT c.cid, {} AS unread FROM member m JOIN conversation c ON c.cid = m.cid
            WHERE m.tenant = ?1 AND m.user = ?2 AND ?3 IS NULL)",
        unread()
    );
    let parameters =
        params![actor.tenant.as_str(), actor.user.as_str(), None::<u64>, times(store, &actor.tenant)];
    let mut rows = store.db.execute(&statement, parameters)?;
    let row = rows.first_mut().ok_or_else(|| SqlError::Failed("a sum has no row".to_owned()))?;
    let mut totals = Totals { conversations: row.count()?, messages: row.count()? };
    let unresolved: Vec<i64> =
        row.opt_text()?.and_then(|list| serde_json::from_str(&list).ok()).unwrap_or_default();
    for cid in unresolved {
        let unread = unread::resolve(store, actor, cid, None)?;
        totals.conversations += u64::from(unread > 0);
        totals.messages += unread;
    }
    Ok(totals)
}

/// A conversation, and whether the user is a member.
fn read<P: Sqlite>(store: &Embedded<P>, actor: &Actor, row: &mut Row) -> Result<(Conversation, bool)> {
    let is_member = row.flag()?;
    let id = ConversationId::parse(row.text()?)?;
    let kind = row.case(ConversationKind::from_number)?;
    let (member_count, head_seq, cid) = (row.count()?, row.count()?, row.int()?);
    let mut conversation = Conversation {
        id,
        kind,
        member_count,
        head_seq,
        unread: unread::resolve(store, actor, cid, row.opt_int()?)?,
        read_msg_id: row.msg_id()?,
        create_time: row.count()?,
        update_time: row.count()?,
        epoch: row.text()?,
        muted: row.flag()?,
        retention_ms: row.opt_int()?.map(i64::unsigned_abs),
        legal_hold: Some(row.flag()?).filter(|_| actor.privileged),
        last: None,
    };
    let (end, floor) = (row.msg_id()?, row.msg_id()?);
    conversation.last = match last(row)? {
        None if floor < end => last_in_cold(&Cold { store, cid }, actor, floor)?,
        last => last,
    };
    Ok((conversation, is_member))
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

/// The last message that the member may see, where it is in a segment: the newer ones are hidden.
fn last_in_cold<P: Sqlite>(cold: &Cold<'_, P>, actor: &Actor, floor: MsgId) -> Result<Option<LastMessage>> {
    let range = Range {
        above: floor,
        below: MsgId::MAX,
        direction: Direction::Up,
        kinds: Kind::SENDABLE.to_vec(),
        limit: 0,
    };
    let Some(record) = cold.range(&range, actor.user.as_str())?.into_iter().next() else { return Ok(None) };
    let message = message(record)?;
    Ok(Some(LastMessage {
        msg_id: message.msg_id,
        seq: message.seq,
        summary: summary_of(&message.content).to_owned(),
        sender: message.sender,
        kind: message.kind,
        status: message.status,
        create_time: message.create_time,
    }))
}

fn bytes(row: &mut Row) -> Result<Vec<u8>, SqlError> {
    Ok(row.opt_blob()?.unwrap_or_default())
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use crate::embedded::testing::{assert_searches, plan};

    #[test]
    fn a_part_of_the_list_costs_its_conversations() {
        let plan = plan(&super::list_statement(), 6);
        assert_searches(&plan, &["f", "(subquery", "l"]);
        assert!(plan.iter().any(|step| step.contains("member_recency")), "{plan:#?}");
    }
}
