//! What statements about conversations have in common.

use super::OWN_AMONG_MAX;
use crate::tiered::rows::{SHOWN, is_hidden};
use im_domain::limits::LAST_LOOK_MAX;

/// Countable messages up to an id at which, or below which, the cold part ends.
pub(in super::super) fn countable_up_to(cid: &str, id: &str) -> String {
    format!(
        "greatest((SELECT countable FROM message WHERE cid = {cid} AND msg_id <= {id}
            ORDER BY msg_id DESC LIMIT 1), (SELECT last_countable FROM segment WHERE cid = {cid} AND last_id <= {id}
            ORDER BY last_id DESC LIMIT 1), 0)"
    )
}

/// Selects, of a conversation's messages above and below an id: the oldest, the first place among those that count
/// from it on, and how many of a user's count and were not taken back (among the newest ones); nothing unless
/// `condition`. A message counts if it raises the number of those that do.
pub(super) fn kept(cid: &str, above: &str, below: &str, user: &str, condition: &str) -> String {
    let before = countable_up_to(cid, above);
    let range =
        format!("FROM message WHERE {condition} AND cid = {cid} AND msg_id > {above} AND msg_id < {below}");
    format!(
        "SELECT o.msg_id, o.countable + (o.countable = {before})::int AS place, (
            SELECT count(*) FROM (
                SELECT sender, status, countable - lag(countable, 1, {before}) OVER (ORDER BY msg_id) AS counts
                FROM (SELECT msg_id, sender, status, countable {range} ORDER BY msg_id DESC LIMIT {OWN_AMONG_MAX}) x) m
            WHERE m.sender = {user} AND m.status = 0 AND m.counts > 0) AS own
        FROM (SELECT msg_id, countable {range} ORDER BY msg_id LIMIT 1) o"
    )
}

/// Selects the newest message of a conversation that a user has not hidden, among the newest few of those for which
/// `condition` holds; control messages are none.
pub(super) fn newest_left(cid: &str, condition: &str, user: &str) -> String {
    format!(
        "SELECT m.* FROM (SELECT * FROM message WHERE cid = {cid} AND {condition} AND {SHOWN}
                ORDER BY msg_id DESC LIMIT {LAST_LOOK_MAX}) m
            WHERE m.control_msg_id IS NULL AND NOT {} ORDER BY m.msg_id DESC LIMIT 1",
        is_hidden("m", user)
    )
}
