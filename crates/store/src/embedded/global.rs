//! What has changed for a user over all conversations, in the order of the changes.
//!
//! A conversation stands where its last change stands, so each part of a walk begins where the one before
//! it ended and nothing is skipped, whatever happens between them. What it is said to have changed about
//! is counted from where the walk began: it may stand late because of one change, and owe another.

use super::Embedded;
use super::index::WIDE;
use super::retention::times;
use super::unread::{resolve, unread};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::global::{ChangeKind, Changed, Changes, GlobalCursor, Known, WalkStart};
use im_domain::page::{Reset, ResetReason};
use im_domain::storage::Actor;
use im_domain::{ConversationId, MsgId, Result};

pub(super) fn changes<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    cursor: Option<&GlobalCursor>,
    limit: u32,
) -> Result<Changes> {
    let present = Present::find(store)?;
    let reset = cursor.and_then(|cursor| present.reset(cursor));
    let cursor = cursor.filter(|_| reset.is_none());
    let mut walk = Walk::from(cursor);
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        walk.reached,
        times(store, &actor.tenant),
        i64::from(limit) + 1,
        cursor.is_some(),
    ];
    let mut rows = store.db.execute(&statement(), parameters)?;
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let mut changed = Vec::with_capacity(rows.len());
    for mut row in rows {
        walk.reached = row.count()?;
        changed.push(read(store, actor, &mut row, walk.since)?);
    }
    Ok(Changes { cursor: walk.cursor(present.epoch, has_more).to_string(), changed, has_more, reset })
}

/// The store as it stands.
struct Present {
    epoch: String,
    version: u64,
}

impl Present {
    fn find<P: Sqlite>(store: &Embedded<P>) -> Result<Self, SqlError> {
        let mut rows = store.db.execute("SELECT epoch, version FROM store WHERE id = 1", Vec::new())?;
        let row = rows.first_mut().ok_or_else(|| SqlError::Failed("the table store is empty".to_owned()))?;
        Ok(Self { epoch: row.text()?, version: row.count()? })
    }

    /// Why a cursor cannot be gone on from. None is ever too old: the index forgets nothing.
    fn reset(&self, cursor: &GlobalCursor) -> Option<Reset> {
        let reason = match () {
            () if cursor.epoch != self.epoch => ResetReason::EpochChanged,
            () if cursor.known.noted > self.version => ResetReason::PositionAhead,
            () => return None,
        };
        Some(Reset { reason, oldest: MsgId::NONE })
    }
}

/// A walk over the changes, in one or several parts.
struct Walk {
    /// The last change that was given before the walk began.
    since: u64,
    /// The last one given so far.
    reached: u64,
}

impl Walk {
    fn from(cursor: Option<&GlobalCursor>) -> Self {
        let reached = cursor.map_or(0, |cursor| cursor.known.noted);
        let since = cursor.and_then(|cursor| cursor.walk.as_ref()).map_or(reached, |walk| walk.known.noted);
        Self { since: since.min(reached), reached }
    }

    /// There is one order of all changes here, so a cursor needs no numbers for wide conversations.
    fn cursor(self, epoch: String, has_more: bool) -> GlobalCursor {
        let known = |noted| Known { noted, looked_up: Vec::new() };
        let walk = has_more.then_some(WalkStart { last: 0, known: known(self.since) });
        GlobalCursor { epoch, known: known(self.reached), walk }
    }
}

/// Each conversation once, at its last change: narrow ones from the indexes, wide ones looked up, and
/// those the user has left. A revision brings a control message, so something was said then, too. ?3: after this
/// version. ?6: whether the walk has begun before; who begins knows of none that could have been left.
fn statement() -> String {
    format!(
        "SELECT f.version, f.has_left, c.name, c.head_msg_id, c.head_seq, c.cid, {}, coalesce(m.read_msg_id, 0),
            max(iif(m.recency < {WIDE}, m.recency, max(c.version, coalesce(m.joined, 0))), c.revision_version),
            max(c.revision_version, coalesce(m.hidden_version, 0)), max(c.membership_version, coalesce(m.muted_version, 0)),
            coalesce(m.read_version, 0)
        FROM (
            SELECT * FROM (
                SELECT cid, recency AS version, 0 AS has_left FROM member
                WHERE tenant = ?1 AND user = ?2 AND recency > ?3 AND recency < {WIDE} AND other <= recency
                ORDER BY recency LIMIT ?5)
            UNION ALL
            SELECT * FROM (
                SELECT cid, other, 0 FROM member
                WHERE tenant = ?1 AND user = ?2 AND other > ?3 AND other > 0 AND other > recency
                ORDER BY other LIMIT ?5)
            UNION ALL
            SELECT * FROM (
                SELECT m.cid, max(m.other, c.version, c.membership_version, c.revision_version) AS version, 0
                FROM member m JOIN conversation c ON c.cid = m.cid
                WHERE m.tenant = ?1 AND m.user = ?2 AND m.recency = {WIDE})
            WHERE version > ?3
            UNION ALL
            SELECT * FROM (
                SELECT cid, version, 1 FROM departed
                WHERE tenant = ?1 AND user = ?2 AND version > ?3 AND ?6
                ORDER BY version LIMIT ?5)
            ORDER BY 2 LIMIT ?5) f
        JOIN conversation c ON c.cid = f.cid LEFT JOIN member m ON m.cid = f.cid AND m.user = ?2
        ORDER BY f.version",
        unread()
    )
}

fn read<P: Sqlite>(store: &Embedded<P>, actor: &Actor, row: &mut Row, since: u64) -> Result<Changed> {
    let left = row.flag()?;
    let mut changed = Changed {
        conversation: ConversationId::parse(row.text()?)?,
        head_msg_id: row.msg_id()?,
        head_seq: row.count()?,
        unread: resolve(store, actor, row.int()?, row.opt_int()?)?,
        read_msg_id: row.msg_id()?,
        kinds: Vec::new(),
        left,
    };
    if left {
        changed.kinds.push(ChangeKind::Membership);
        (changed.head_msg_id, changed.head_seq) = (MsgId::NONE, 0);
        return Ok(changed);
    }
    for kind in ChangeKind::ALL {
        if row.count()? > since {
            changed.kinds.push(*kind);
        }
    }
    Ok(changed)
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use crate::embedded::testing::{assert_searches, plan};

    #[test]
    fn a_call_costs_what_has_changed() {
        let plan = plan(&super::statement(), 6);
        assert_searches(&plan, &["f", "(subquery"]);
        for index in ["member_recency", "member_other", "departed_user"] {
            assert!(plan.iter().any(|step| step.contains(index)), "{index}: {plan:#?}");
        }
    }
}
