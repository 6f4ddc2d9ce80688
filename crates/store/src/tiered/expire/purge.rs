//! The statement that purges.

use crate::postgres::Postgres;
use crate::sql::Value;
use im_domain::limits::EXPIRE_ROWS_MAX;
use im_domain::{MsgId, Result};
use std::collections::BTreeSet;

/// A conversation that is to be purged.
pub(super) struct Doomed {
    pub cid: MsgId,
    pub up_to: MsgId,
    /// The retention of its own under which that was found; another one by now: it is passed over.
    pub retention_ms: Option<u64>,
}

/// Former versions that still hold something; an index has them.
const KEPT: &str = "(length(v.content) > 0 OR v.ext IS NOT NULL OR v.kept IS NOT NULL OR v.countable > 0)";

/// Purges some of the rows of conversations: each the same number, and no more than [`EXPIRE_ROWS_MAX`] messages
/// together, nor former versions. Gives how many messages have gone, and which conversations have more.
pub(super) async fn step<P: Postgres>(db: &P, doomed: &[Doomed]) -> Result<(u64, BTreeSet<MsgId>)> {
    if doomed.is_empty() {
        return Ok((0, BTreeSet::new()));
    }
    let numbers =
        |number: &dyn Fn(&Doomed) -> Option<i64>| Value::Integers(doomed.iter().map(number).collect());
    let parameters = vec![
        numbers(&|one| Some(one.cid.to_sql())),
        numbers(&|one| Some(one.up_to.to_sql())),
        numbers(&|one| one.retention_ms.and_then(|ms| i64::try_from(ms).ok())),
        Value::from((EXPIRE_ROWS_MAX / doomed.len()).max(1) as u64),
    ];
    let (mut purged, mut left) = (0, BTreeSet::new());
    for mut row in db.query(&statement(), parameters).await? {
        let cid = row.msg_id()?;
        purged += row.count()?;
        if !row.flag()? {
            left.insert(cid);
        }
    }
    Ok((purged, left))
}

/// What was said goes first, and then what it was before: a message that is kept after all has all of its trace.
/// When nothing is left, the conversation is let be until the next of it expires. What came meanwhile is not seen
/// by this statement, but counted in the row that it has locked.
fn statement() -> String {
    format!(
        "WITH locked AS MATERIALIZED (
            SELECT c.cid, a.up_to FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS a(cid, up_to, own)
            JOIN conversation c ON c.cid = a.cid
            JOIN partition_state s ON s.partition = (c.cid >> 14) & 255 AND s.home = 1
            WHERE c.legal_hold = 0 AND c.retention_ms IS NOT DISTINCT FROM a.own
            FOR UPDATE OF c SKIP LOCKED),
        doomed AS MATERIALIZED (
            SELECT x.cid, x.msg_id FROM locked l CROSS JOIN LATERAL (
                SELECT cid, msg_id FROM message m WHERE m.cid = l.cid AND m.msg_id <= l.up_to
                ORDER BY m.msg_id LIMIT $4::bigint) x),
        gone AS (DELETE FROM message m USING doomed d WHERE m.cid = d.cid AND m.msg_id = d.msg_id
            RETURNING m.cid, m.copy_of),
        unhidden AS (DELETE FROM hidden h USING doomed d WHERE h.cid = d.cid AND h.msg_id = d.msg_id),
        untold AS (DELETE FROM late l USING doomed d WHERE l.cid = d.cid AND l.msg_id = d.msg_id),
        counted AS MATERIALIZED (
            SELECT l.cid, l.up_to, (SELECT count(*) FROM doomed d WHERE d.cid = l.cid) AS messages FROM locked l),
        traced AS MATERIALIZED (
            SELECT x.cid, x.msg_id, x.number FROM counted l CROSS JOIN LATERAL (
                SELECT v.cid, v.msg_id, v.number FROM revision v
                WHERE v.cid = l.cid AND v.msg_id <= l.up_to AND {KEPT}
                ORDER BY v.msg_id LIMIT $4::bigint) x
            WHERE l.messages < $4::bigint),
        emptied AS (
            UPDATE revision v SET content = ''::bytea, ext = NULL, kept = NULL, countable = 0 FROM traced t
            WHERE v.cid = t.cid AND v.msg_id = t.msg_id AND v.number = t.number),
        done AS MATERIALIZED (
            SELECT l.cid, l.up_to, l.messages, l.messages < $4::bigint
                AND (SELECT count(*) FROM traced t WHERE t.cid = l.cid) < $4::bigint AS is_done,
                (SELECT count(*) FROM gone g WHERE g.cid = l.cid AND coalesce(g.copy_of, 0) = 0) AS shown
            FROM counted l),
        let_be AS (
            UPDATE conversation c SET stored = c.stored - d.shown,
                oldest_msg_id = CASE WHEN d.is_done THEN coalesce(
                    least(
                        (SELECT s.first_id / 2 + s.last_id / 2 FROM segment s WHERE s.cid = d.cid
                            ORDER BY s.last_id LIMIT 1),
                        (SELECT m.msg_id FROM message m WHERE m.cid = d.cid AND m.msg_id > d.up_to
                            ORDER BY m.msg_id LIMIT 1),
                        (SELECT v.msg_id FROM revision v WHERE v.cid = d.cid AND v.msg_id > d.up_to AND {KEPT}
                            ORDER BY v.msg_id LIMIT 1)),
                    CASE WHEN c.stored > d.shown THEN d.up_to + 1 END) ELSE c.oldest_msg_id END
            FROM done d WHERE c.cid = d.cid)
        SELECT cid, messages, is_done::int FROM done"
    )
}
