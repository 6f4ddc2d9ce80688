//! The cold part of a conversation: its segments, and the rows that lie among them because they came late or were
//! taken out of one. Up to the conversation's `cold_msg_id` messages are in either, above it in rows.
//!
//! Each statement reads a segment together with the rows that lie in its part of the conversation, so of a message
//! that moves meanwhile it sees one of both places.

mod count;
mod lift;
mod look_up;
mod own;
mod place;
pub(super) mod reach;
pub(super) mod replace;

use super::rows::Sight;
use crate::cold::{
    Stored, Wanted, after, before, has_kind, hide, is_shown, mask, merge, message, quote, record,
};
use crate::postgres::Postgres;
use crate::sql::{Row, Value};
use im_domain::message::{Kind, Message, Quote};
use im_domain::page::{Direction, Range};
use im_domain::{MsgId, Result};
use im_segment::Record;
use replace::COLUMNS;
use std::collections::{BTreeSet, HashMap};

/// Columns of a row of `message`, as [`record`] takes them.
const RECORD_COLUMNS: usize = 16;

pub(super) struct Cold<'a, P> {
    pub db: &'a P,
    pub cid: MsgId,
}

/// A segment, if there is one, and rows in its part of the conversation.
struct Span {
    segment: Option<Stored>,
    rows: Vec<Record>,
}

impl<P: Postgres> Cold<'_, P> {
    /// The messages of a range that a user sees, up to one more than its limit. The range lies in the cold part.
    pub async fn range(&self, range: &Range, user: &str) -> Result<Vec<Record>> {
        let hidden = self.hidden(user).await?;
        let is_wanted = |record: &Record| {
            is_shown(record) && has_kind(record, &range.kinds) && !hidden.contains(&record.msg_id)
        };
        let mut found = Vec::new();
        self.walk(Wanted::page(range), &range.kinds, |span, wanted| {
            found.extend(merge(self.cid, span.segment.as_ref(), span.rows, wanted, is_wanted)?);
            Ok(found.len())
        })
        .await?;
        Ok(found)
    }

    /// Goes through the cold part until `take` has so many as are wanted; it gives how many it has.
    async fn walk(
        &self,
        mut wanted: Wanted,
        kinds: &[Kind],
        mut take: impl FnMut(Span, Wanted) -> Result<usize>,
    ) -> Result<()> {
        let count = wanted.count;
        while wanted.count > 0 && after(wanted.above) < wanted.below {
            let span = self.span(wanted, kinds).await?;
            let ends = span.segment.as_ref().map(|segment| (segment.first_id, segment.last_id));
            let part = match (ends, wanted.direction) {
                (Some((first, _)), Direction::Up) => {
                    Wanted { above: wanted.above.max(before(first)), ..wanted }
                }
                (Some((_, last)), Direction::Down) => {
                    Wanted { below: wanted.below.min(after(last)), ..wanted }
                }
                (None, _) => wanted,
            };
            wanted.count = count.saturating_sub(take(span, part)?);
            match (ends, wanted.direction) {
                (Some((first, _)), Direction::Up) => wanted.below = first,
                (Some((_, last)), Direction::Down) => wanted.above = last,
                (None, _) => break,
            }
        }
        Ok(())
    }

    /// The next segment in the direction that has such kinds, and the rows up to its end.
    async fn span(&self, wanted: Wanted, kinds: &[Kind]) -> Result<Span> {
        let (order, within) = match wanted.direction {
            Direction::Down => ("ASC", "msg_id <= coalesce((SELECT last_id FROM part), 9223372036854775807)"),
            Direction::Up => ("DESC", "msg_id >= coalesce((SELECT first_id FROM part), 0)"),
        };
        let of_kind = if kinds.is_empty() { "" } else { "AND kind = ANY ($6::bigint[])" };
        let statement = format!(
            "WITH part AS MATERIALIZED (
                SELECT {stored} FROM segment WHERE cid = $1::bigint AND last_id > $2::bigint
                    AND first_id < $3::bigint AND kinds & $4::bigint <> 0 ORDER BY last_id {order} LIMIT 1)
            SELECT {stored}{none} FROM part
            UNION ALL
            SELECT NULL, NULL, NULL, NULL, x.* FROM (
                SELECT {COLUMNS} FROM message WHERE cid = $1::bigint AND msg_id > $2::bigint
                    AND msg_id < $3::bigint AND {within} {of_kind} ORDER BY msg_id {order} LIMIT $5::bigint) x",
            stored = Stored::COLUMNS,
            none = ", NULL".repeat(RECORD_COLUMNS),
        );
        let rows = u64::try_from(wanted.count).unwrap_or(u64::MAX);
        let mut parameters = crate::params![self.cid, wanted.above, wanted.below, mask(kinds), rows];
        if !kinds.is_empty() {
            parameters.push(Value::Integers(kinds.iter().map(|kind| Some(kind.number())).collect()));
        }
        let found = self.db.query(&statement, parameters).await?;
        span(found, wanted.direction)
    }

    /// The newest message of the cold part between two ids that a user has not hidden; control messages are none.
    pub async fn newest_left(&self, user: &str, above: MsgId, below: MsgId) -> Result<Option<Record>> {
        let (end, _) = self.end().await?;
        let range = Range {
            above,
            below: below.min(after(end)),
            direction: Direction::Up,
            kinds: Kind::SENDABLE.to_vec(),
            limit: 0,
        };
        let mut found = self.range(&range, user).await?;
        found.truncate(1);
        Ok(found.pop())
    }

    /// Messages by id, whoever sees them; those that are nowhere are left out.
    pub async fn find(&self, ids: &[MsgId]) -> Result<HashMap<MsgId, Record>> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let mut found = HashMap::new();
        while let (Some(first), Some(last)) = (ids.first().copied(), ids.last().copied()) {
            let span = self.span(Wanted::all(first, last), &[]).await?;
            let end = span.segment.as_ref().map_or(MsgId::MAX, |segment| segment.last_id);
            let (part, rest) = ids.split_at(ids.partition_point(|id| *id <= end));
            for id in part {
                let row = span.rows.iter().find(|row| row.msg_id == *id).cloned();
                let rows = row.into_iter().collect();
                let record = merge(self.cid, span.segment.as_ref(), rows, Wanted::one(*id), |_| true)?;
                found.extend(record.into_iter().map(|record| (record.msg_id, record)));
            }
            ids = rest.to_vec();
        }
        Ok(found)
    }

    /// The newest message up to `id`, shown or not.
    pub async fn newest_up_to(&self, id: MsgId) -> Result<Option<Record>> {
        self.first(MsgId::NONE, after(id), Direction::Up).await
    }

    /// The oldest message between two ids, shown or not.
    pub async fn oldest(&self, above: MsgId, below: MsgId) -> Result<Option<Record>> {
        self.first(above, below, Direction::Down).await
    }

    async fn first(&self, above: MsgId, below: MsgId, direction: Direction) -> Result<Option<Record>> {
        let mut found = Vec::new();
        self.walk(Wanted { above, below, direction, count: 1 }, &[], |span, wanted| {
            found = merge(self.cid, span.segment.as_ref(), span.rows, wanted, |_| true)?;
            Ok(found.len())
        })
        .await?;
        Ok(found.pop())
    }

    /// Messages of the cold part that are hidden from a user; from nobody (""), none is.
    pub async fn hidden(&self, user: &str) -> Result<BTreeSet<MsgId>> {
        if user.is_empty() {
            return Ok(BTreeSet::new());
        }
        const STATEMENT: &str = "
            SELECT h.msg_id FROM conversation c JOIN hidden h ON h.cid = c.cid AND h.user_id = $2::text
                AND h.msg_id <= c.cold_msg_id
            WHERE c.cid = $1::bigint";
        let rows = self.db.query(STATEMENT, crate::params![self.cid, user]).await?;
        Ok(rows.into_iter().map(|mut row| row.msg_id()).collect::<Result<_, _>>()?)
    }

    /// Messages by id, as their reader sees them; their quotes are yet to be looked up.
    pub async fn messages(&self, ids: &[MsgId], sight: Sight<'_>) -> Result<Vec<Message>> {
        let hidden = self.hidden(sight.user).await?;
        let is_seen = |record: &Record| {
            is_shown(record) && record.msg_id > sight.floor && !hidden.contains(&record.msg_id)
        };
        self.find(ids).await?.into_values().filter(is_seen).map(message).collect()
    }

    /// Quotes of messages; one that is hidden from the reader is as if it were deleted.
    pub async fn quotes(&self, ids: &[MsgId], sight: Sight<'_>) -> Result<HashMap<MsgId, Quote>> {
        let hidden = self.hidden(sight.user).await?;
        let is_seen = |record: &Record| is_shown(record) && record.msg_id > sight.floor;
        let mut quotes = HashMap::new();
        for record in self.find(ids).await?.into_values().filter(is_seen) {
            let mut quote = quote(&record)?;
            if hidden.contains(&record.msg_id) {
                hide(&mut quote);
            }
            quotes.insert(record.msg_id, quote);
        }
        Ok(quotes)
    }
}

fn span(found: Vec<Row>, direction: Direction) -> Result<Span> {
    let mut span = Span { segment: None, rows: Vec::new() };
    for mut row in found {
        match row.opt_int()? {
            Some(first_id) => {
                let first_id = MsgId::from_sql(first_id);
                span.segment = Some(Stored {
                    first_id,
                    last_id: row.msg_id()?,
                    messages: row.count()?,
                    blob: row.opt_blob()?.unwrap_or_default(),
                });
            }
            None => {
                (0..3).for_each(|_| row.skip());
                span.rows.push(record(&mut row)?);
            }
        }
    }
    span.rows.sort_by_key(|record| record.msg_id);
    if direction == Direction::Up {
        span.rows.reverse();
    }
    Ok(span)
}
