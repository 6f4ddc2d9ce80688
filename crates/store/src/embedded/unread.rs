//! What is unread, in SQL: derived from how much had been said in a conversation, and how much of it by
//! the member, at any place of its history. Each takes one search of an index.
//!
//! The fragments speak of a conversation `c` and its member `m`.

/// The place up to which nothing is unread though it was never read: it has expired (`?4`: the newest id
/// that has) or is gone.
const GONE: &str = "max(?4, c.purged_msg_id)";

/// How many messages that count had been said up to the id `at`.
pub(super) fn countable_at(at: &str) -> String {
    format!(
        "coalesce((SELECT o.countable FROM message o WHERE o.cid = c.cid AND o.msg_id <= {at}
            ORDER BY o.msg_id DESC LIMIT 1), c.purged_countable)"
    )
}

/// How many of them by the member, since joining; `at` is not before that.
pub(super) fn own_at(at: &str) -> String {
    format!(
        "coalesce((SELECT o.own FROM message o WHERE o.cid = c.cid AND o.sender = m.user AND o.msg_id > {at}
            AND o.own IS NOT NULL ORDER BY o.msg_id LIMIT 1), m.own)"
    )
}

/// How many by others after `at`, a place that the member has read or that is gone.
pub(super) fn others_after(at: &str) -> String {
    format!("max(0, c.head_countable - {} - (m.own - {}))", countable_at(at), own_at(at))
}

/// How many the member has not read; none when there is no member. `?4`: the newest id that has expired.
pub(super) fn unread() -> String {
    format!(
        "CASE WHEN m.user IS NULL THEN 0
            WHEN m.read_msg_id >= {GONE}
                THEN max(0, c.head_countable - m.read_countable - (m.own - m.read_own))
            ELSE {} END",
        others_after(GONE)
    )
}

/// The place after which the member's messages are unread, as far as they are kept.
pub(super) fn read_or_gone() -> String {
    format!("max(m.read_msg_id, {GONE})")
}
