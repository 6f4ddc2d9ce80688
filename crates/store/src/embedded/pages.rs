//! Pages of a conversation's history.

use super::access::{self, HEAD, Head};
use super::cold::{Cold, is_open};
use super::hide::is_hidden;
use super::messages::{COLUMNS, QUOTED, columns};
use super::retention::times;
use super::{Embedded, transaction};
use crate::cold::{after, message};
use crate::message_row::read;
use crate::params;
use crate::sql::Value;
use crate::sqlite::Sqlite;
use im_domain::limits::PAGE_CONTENT_BYTES_MAX;
use im_domain::message::Message;
use im_domain::page::{Direction, Page, PageQuery, Range, Reset, ResetReason, cut};
use im_domain::storage::Actor;
use im_domain::{ConversationId, MsgId, Result};

pub(super) fn pages<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    queries: Vec<PageQuery>,
) -> Result<Vec<Result<Page>>> {
    let mut answers = Vec::with_capacity(queries.len());
    let mut room = PAGE_CONTENT_BYTES_MAX;
    for query in queries {
        match page(store, actor, query, &mut room) {
            Err(error) if error.is_systemic() => return Err(error),
            answer => answers.push(answer),
        }
    }
    Ok(answers)
}

/// `room`: bytes of content that the pages of the call may still have.
fn page<P: Sqlite>(store: &Embedded<P>, actor: &Actor, query: PageQuery, room: &mut usize) -> Result<Page> {
    let cursor = query.cursor;
    let range = Range::of(&query);
    let (head, mut messages) = read_range(store, actor, &query.conversation, &range)?;
    let has_more = cut(&mut messages, query.limit, room);
    let is_ahead = query.direction == Direction::Down && cursor > head.head_msg_id;
    let reset = is_ahead.then(|| ahead(store, actor, &head)).transpose()?;
    Ok(Page {
        conversation: query.conversation,
        has_more,
        cursor: messages.last().map_or(cursor, |message| message.msg_id),
        messages,
        epoch: head.epoch,
        head_seq: head.head_seq,
        reset,
    })
}

/// What to tell a reader whose cursor lies beyond the newest message: it would never see another.
fn ahead<P: Sqlite>(store: &Embedded<P>, actor: &Actor, head: &Head) -> Result<Reset> {
    Ok(Reset { reason: ResetReason::PositionAhead, oldest: oldest(store, actor, head)? })
}

/// The oldest message that the reader sees; none: there is none.
pub(super) fn oldest<P: Sqlite>(store: &Embedded<P>, actor: &Actor, head: &Head) -> Result<MsgId> {
    let statement = format!(
        "SELECT msg_id FROM message x WHERE cid = ?1 AND msg_id > ?2 AND NOT {} ORDER BY msg_id LIMIT 1",
        is_hidden("x", "?3")
    );
    let user = actor.user.as_str();
    if head.floor < head.cold {
        let first = Range {
            above: head.floor,
            below: MsgId::MAX,
            direction: Direction::Down,
            kinds: Vec::new(),
            limit: 0,
        };
        if let Some(record) = (Cold { store, cid: head.cid }).range(&first, user)?.pop() {
            return Ok(record.msg_id);
        }
    }
    let mut rows = store.db.execute(&statement, params![head.cid, head.floor, user])?;
    Ok(rows.first_mut().map_or(Ok(MsgId::NONE), |row| row.msg_id())?)
}

/// Reads the head of the conversation and the messages of a range in one statement, which sees one
/// state of the database, or, where the range reaches into segments, in several that see one.
pub(super) fn read_range<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    range: &Range,
) -> Result<(Head, Vec<Message>)> {
    let (head, messages) = read_rows(store, actor, conversation, range)?;
    if !reaches_cold(&head, range, &messages) {
        return Ok((head, messages));
    }
    transaction::read(store, || {
        let (head, messages) = read_rows(store, actor, conversation, range)?;
        let messages = with_cold(store, actor, &head, range, messages)?;
        Ok((head, messages))
    })
}

/// Whether a page of these rows lacks something that may be in a segment.
fn reaches_cold(head: &Head, range: &Range, messages: &[Message]) -> bool {
    let mut quotes = messages.iter().filter_map(|message| message.reply_to.as_ref());
    needs_cold(head, range, messages.len()) || quotes.any(|quote| is_open(quote, head.floor, head.cold))
}

fn needs_cold(head: &Head, range: &Range, rows: usize) -> bool {
    let is_full = range.direction == Direction::Up && rows > range.limit as usize;
    !is_full && after(range.above.max(head.floor)) < range.below.min(after(head.cold))
}

/// Adds to the rows of a range what is in segments.
fn with_cold<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    head: &Head,
    range: &Range,
    mut messages: Vec<Message>,
) -> Result<Vec<Message>> {
    let cold = Cold { store, cid: head.cid };
    if needs_cold(head, range, messages.len()) {
        let part = Range { above: range.above.max(head.floor), ..range.clone() };
        let mut found =
            cold.range(&part, actor.user.as_str())?.into_iter().map(message).collect::<Result<Vec<_>>>()?;
        match range.direction {
            Direction::Up => messages.append(&mut found),
            Direction::Down => {
                found.append(&mut messages);
                messages = found;
            }
        }
        messages.truncate(range.limit as usize + 1);
    }
    cold.fill_quotes(&mut messages, actor.user.as_str(), head.floor, head.cold)?;
    Ok(messages)
}

fn read_rows<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    range: &Range,
) -> Result<(Head, Vec<Message>)> {
    let rows = store.db.execute(&statement(range), parameters(store, actor, conversation, range))?;
    let mut rows = rows.into_iter();
    let head = Head::take(rows.next().as_mut())?;
    let messages = rows.map(|mut row| read(&mut row)).collect::<Result<_>>()?;
    Ok((head, messages))
}

fn parameters<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    range: &Range,
) -> Vec<Value> {
    let mut parameters = params![
        actor.tenant.as_str(),
        conversation.as_str(),
        actor.user.as_str(),
        times(store, &actor.tenant),
        range.above,
        range.below,
        i64::from(range.limit) + 1,
    ];
    parameters.extend(range.kinds.iter().map(|kind| Value::from(kind.number())));
    parameters
}

/// First the head as a row of its own, padded to the width of a message, then the messages.
fn statement(range: &Range) -> String {
    let order = match range.direction {
        Direction::Up => "DESC",
        Direction::Down => "ASC",
    };
    let padding = ", NULL".repeat(COLUMNS - access::COLUMNS);
    format!(
        "WITH {HEAD},
        bounds AS MATERIALIZED (SELECT cid, max(floor, ?5) AS above, floor FROM head WHERE is_member)
        SELECT cid, head_msg_id, head_seq, epoch, is_member, floor, cold_msg_id{padding} FROM head
        UNION ALL
        SELECT * FROM (
            SELECT {columns} FROM ({found}) f
            JOIN message x ON x.cid = (SELECT cid FROM bounds) AND x.msg_id = f.msg_id {QUOTED}
            ORDER BY f.msg_id {order})",
        columns = columns("(SELECT floor FROM bounds)"),
        found = found(range, order),
    )
}

/// The ids of the page, without those that are hidden from the reader. Of several types each is read by its own range
/// of the index, so that a rare type costs no scan.
fn found(range: &Range, order: &str) -> String {
    let one = |filter: &str| {
        format!(
            "SELECT msg_id FROM message m WHERE cid = (SELECT cid FROM bounds) {filter}
            AND msg_id > (SELECT above FROM bounds) AND msg_id < ?6 AND NOT {}
            ORDER BY msg_id {order} LIMIT ?7",
            is_hidden("m", "?3")
        )
    };
    if range.kinds.is_empty() {
        return one("");
    }
    let each = (0..range.kinds.len())
        .map(|index| format!("SELECT * FROM ({})", one(&format!("AND kind = ?{}", index + 8))))
        .collect::<Vec<_>>();
    format!("SELECT msg_id FROM ({}) ORDER BY msg_id {order} LIMIT ?7", each.join(" UNION ALL "))
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::embedded::testing::{assert_searches, plan};
    use im_domain::message::Kind;

    /// Work per page does not grow with the history: every access is a search by an index, and
    /// nothing is sorted but the few ids of a page of several types.
    #[test]
    fn a_page_reads_ranges_of_indexes_and_nothing_else() {
        for kinds in [vec![], vec![Kind::Image], vec![Kind::Image, Kind::Custom]] {
            for direction in [Direction::Up, Direction::Down] {
                let range = Range {
                    above: MsgId::NONE,
                    below: MsgId::MAX,
                    direction,
                    kinds: kinds.clone(),
                    limit: 20,
                };
                let plan = plan(&statement(&range), 7 + kinds.len());
                assert_searches(&plan, &["head", "bounds", "f", "(subquery"]);
                let sorts = plan.iter().filter(|step| step.contains("TEMP B-TREE")).count();
                assert!(sorts == 0 || kinds.len() > 1, "{plan:#?}");
            }
        }
    }
}
