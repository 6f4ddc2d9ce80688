//! What is unread, in SQL: derived from how much had been said in a conversation, and how much of it by
//! the member, at any place of its history, and how much of it has been taken back since, or hidden by the member. The
//! former take one search of an index each, the latter what was taken back or hidden after the place.
//!
//! The fragments speak of a conversation `c` and its member `m`.

use super::Embedded;
use super::cold::Cold;
use super::retention::{expired_up_to, times};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::storage::Actor;
use im_domain::{MsgId, Result};

/// The place up to which nothing is unread though it was never read: it has expired (`?4`: the
/// [`super::retention::times`] of now) or is gone.
const GONE: &str = concat!("max(", expired_up_to!("?4"), ", c.purged_msg_id)");

/// How many messages that count had been said up to the id `at`; here and below segments do not reach beyond it.
pub(super) fn countable_at(at: &str) -> String {
    format!(
        "coalesce((SELECT o.countable FROM message o WHERE o.cid = c.cid AND o.msg_id <= {at}
            ORDER BY o.msg_id DESC LIMIT 1), max(c.purged_countable, c.cold_countable))"
    )
}

/// How many of them by the member, since joining; `at` is not before that.
pub(super) fn own_at(at: &str) -> String {
    format!(
        "coalesce((SELECT o.own FROM message o WHERE o.cid = c.cid AND o.sender = m.user AND o.msg_id > {at}
            AND o.own IS NOT NULL ORDER BY o.msg_id LIMIT 1), m.own)"
    )
}

/// How many of those that others said after `at` have been taken back. They keep their places among those
/// that count.
fn recalled_after(at: &str) -> String {
    format!(
        "(SELECT count(*) FROM revision r WHERE r.cid = c.cid AND r.msg_id > {at} AND r.uncounted = 1
            AND r.sender <> m.user)"
    )
}

/// How many of those that others said after `at` the member has hidden, and nobody has taken back.
fn hidden_after(at: &str) -> String {
    format!(
        "(SELECT count(*) FROM hidden h WHERE h.cid = c.cid AND h.user = m.user AND h.msg_id > {at}
            AND h.counts = 1 AND NOT EXISTS (SELECT 1 FROM revision r WHERE r.cid = h.cid
                AND r.msg_id = h.msg_id AND r.uncounted = 1))"
    )
}

/// How many by others after `at`, a place that the member has read or that is gone.
pub(super) fn others_after(at: &str) -> String {
    others(&countable_at(at), &own_at(at), at)
}

/// `countable` and `own` are how many had been said up to `at`.
fn others(countable: &str, own: &str, at: &str) -> String {
    let (recalled, hidden) = (recalled_after(at), hidden_after(at));
    format!("max(0, c.head_countable - {countable} - (m.own - {own}) - {recalled} - {hidden})")
}

/// How many the member has not read; none when there is no member; NULL when segments have to be asked (see
/// [`resolve`]). `?4`: the [`super::retention::times`] of now.
pub(super) fn unread() -> String {
    format!(
        "CASE WHEN m.user IS NULL THEN 0
            WHEN m.read_msg_id >= {GONE} THEN {}
            WHEN {GONE} >= c.cold_msg_id THEN {} END",
        others("m.read_countable", "m.read_own", "m.read_msg_id"),
        others_after(GONE)
    )
}

/// The place after which the member's messages are unread, as far as they are kept.
pub(super) fn read_or_gone() -> String {
    format!("max(m.read_msg_id, {GONE})")
}

/// What [`unread`] gives of a conversation of the user, or segments tell.
pub(super) fn resolve<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    cid: i64,
    unread: Option<i64>,
) -> Result<u64> {
    const STATEMENT: &str = concat!(
        "SELECT max(",
        expired_up_to!("?2"),
        ", c.purged_msg_id) FROM conversation c WHERE c.cid = ?1"
    );
    if let Some(unread) = unread {
        return Ok(unread.unsigned_abs());
    }
    let mut rows = store.db.execute(STATEMENT, params![cid, times(store, &actor.tenant)])?;
    let gone = rows.first_mut().map_or(Ok(MsgId::NONE), |row| row.msg_id())?;
    Cold { store, cid }.others_after(gone, actor.user.as_str())
}
