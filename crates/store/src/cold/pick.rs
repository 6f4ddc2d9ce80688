//! Messages of a part of a conversation that has a segment, and perhaps rows besides.

use super::{Stored, after, before};
use im_domain::page::{Direction, Range};
use im_domain::{MsgId, Result};
use im_segment::Record;
use std::cmp::Ordering;

/// Which messages, exclusive bounds, and how many at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub above: MsgId,
    pub below: MsgId,
    pub direction: Direction,
    pub count: usize,
}

impl Wanted {
    /// Those of a page, and one more: it tells whether there are more.
    pub fn page(range: &Range) -> Self {
        let Range { above, below, direction, .. } = *range;
        Self { above, below, direction, count: range.limit as usize + 1 }
    }

    /// All from one message to another, oldest first.
    pub fn all(first: MsgId, last: MsgId) -> Self {
        Self { above: before(first), below: after(last), direction: Direction::Down, count: usize::MAX }
    }

    /// One message.
    pub fn one(id: MsgId) -> Self {
        Self { count: 1, ..Self::all(id, id) }
    }
}

/// The first messages that `is_wanted`, of a segment and of rows, which come in the direction; of a message that is
/// in both, the row. Blocks of the segment are unpacked as far as they are needed.
pub(crate) fn merge(
    cid: MsgId,
    stored: Option<&Stored>,
    rows: Vec<Record>,
    wanted: Wanted,
    is_wanted: impl Fn(&Record) -> bool,
) -> Result<Vec<Record>> {
    let Some(stored) = stored else {
        return Ok(rows.into_iter().filter(is_wanted).take(wanted.count).collect());
    };
    let segment = stored.open(cid)?;
    let range = segment.range(wanted.above, wanted.below);
    let packed: Box<dyn Iterator<Item = _>> = match wanted.direction {
        Direction::Down => Box::new(range),
        Direction::Up => Box::new(range.rev()),
    };
    let mut packed = packed.peekable();
    let mut rows = rows.into_iter().peekable();
    let mut found = Vec::new();
    while found.len() < wanted.count {
        let order = match (packed.peek(), rows.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (Some(Ok(packed)), Some(row)) => order(packed.msg_id, row.msg_id, wanted.direction),
            (Some(Err(_)), Some(_)) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        let record = match order {
            Ordering::Less => packed.next().transpose().map_err(|error| stored.damaged(cid, error))?,
            Ordering::Equal => rows.next().inspect(|_| drop(packed.next())),
            Ordering::Greater => rows.next(),
        };
        found.extend(record.filter(&is_wanted));
    }
    Ok(found)
}

fn order(packed: MsgId, row: MsgId, direction: Direction) -> Ordering {
    match direction {
        Direction::Down => packed.cmp(&row),
        Direction::Up => row.cmp(&packed),
    }
}
