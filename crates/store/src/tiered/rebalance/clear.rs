//! Deleting what a partition has left behind, in bounded steps.

use super::super::home;
use super::super::limits::MOVE_ROWS_MAX;
use crate::params;
use crate::postgres::Postgres;
use im_domain::Result;

const MEMBERS: &str = "
    DELETE FROM member WHERE ctid = ANY (ARRAY(SELECT m.ctid FROM conversation c JOIN member m ON m.cid = c.cid
        WHERE (c.cid >> 14) & 255 = $1::bigint LIMIT $2::bigint)) RETURNING 1";
const POSITIONS: &str = "
    DELETE FROM position WHERE ctid = ANY (ARRAY(SELECT p.ctid FROM conversation c JOIN position p ON p.cid = c.cid
        WHERE (c.cid >> 14) & 255 = $1::bigint LIMIT $2::bigint)) RETURNING 1";
const REVISIONS: &str = "
    DELETE FROM revision WHERE ctid = ANY (ARRAY(SELECT v.ctid FROM conversation c JOIN revision v ON v.cid = c.cid
        WHERE (c.cid >> 14) & 255 = $1::bigint LIMIT $2::bigint)) RETURNING 1";
const HIDDEN: &str = "
    DELETE FROM hidden WHERE ctid = ANY (ARRAY(SELECT h.ctid FROM conversation c JOIN hidden h ON h.cid = c.cid
        WHERE (c.cid >> 14) & 255 = $1::bigint LIMIT $2::bigint)) RETURNING 1";
const ALIASES: &str = "
    DELETE FROM alias WHERE ctid = ANY (ARRAY(SELECT ctid FROM alias WHERE partition = $1::bigint
        LIMIT $2::bigint)) RETURNING 1";
const DEVICES: &str = "
    DELETE FROM device WHERE ctid = ANY (ARRAY(SELECT ctid FROM device WHERE partition = $1::bigint
        LIMIT $2::bigint)) RETURNING 1";
const USER_SETTINGS: &str = "
    DELETE FROM user_setting WHERE ctid = ANY (ARRAY(SELECT ctid FROM user_setting WHERE partition = $1::bigint
        LIMIT $2::bigint)) RETURNING 1";
const AUDIT: &str = "
    DELETE FROM audit WHERE ctid = ANY (ARRAY(SELECT ctid FROM audit WHERE partition = $1::bigint
        LIMIT $2::bigint)) RETURNING 1";
const LATE: &str = "
    DELETE FROM late WHERE ctid = ANY (ARRAY(SELECT ctid FROM late WHERE (stamp >> 14) & 255 = $1::bigint
        LIMIT $2::bigint)) RETURNING 1";
/// What changes: a move copies it anew.
const CHANGING: [&str; 9] =
    [MEMBERS, POSITIONS, REVISIONS, HIDDEN, ALIASES, DEVICES, USER_SETTINGS, AUDIT, LATE];
/// A message is found by its key: rows of several tables stand behind it.
const MESSAGES: &str = "
    DELETE FROM message m USING (SELECT x.cid, x.msg_id FROM conversation c CROSS JOIN LATERAL (
            SELECT cid, msg_id FROM message WHERE cid = c.cid LIMIT $2::bigint) x
        WHERE (c.cid >> 14) & 255 = $1::bigint LIMIT $2::bigint) d
    WHERE m.cid = d.cid AND m.msg_id = d.msg_id RETURNING 1";
const SEGMENTS: &str = "
    DELETE FROM segment WHERE ctid = ANY (ARRAY(SELECT s.ctid FROM conversation c JOIN segment s ON s.cid = c.cid
        WHERE (c.cid >> 14) & 255 = $1::bigint LIMIT $2::bigint)) RETURNING 1";
/// The last ones: the others are found by them.
const CONVERSATIONS: &str = "
    DELETE FROM conversation WHERE ctid = ANY (ARRAY(SELECT ctid FROM conversation
        WHERE (cid >> 14) & 255 = $1::bigint LIMIT $2::bigint)) RETURNING 1";

/// Deletes the rows of every partition that the database does not have: every one has a home elsewhere.
pub(super) async fn clear<P: Postgres>(db: &P) -> Result<()> {
    const LEFT: &str = "SELECT partition FROM partition_state WHERE home <> 1";
    const STATE: &str = "DELETE FROM partition_state WHERE partition = $1::bigint AND home <> 1";
    for mut row in db.query(LEFT, Vec::new()).await? {
        let partition = home::partition(&mut row)?;
        for statement in CHANGING.into_iter().chain([SEGMENTS, MESSAGES, CONVERSATIONS]) {
            repeat(db, partition, statement).await?;
        }
        db.query(STATE, params![u64::from(partition)]).await?;
    }
    Ok(())
}

/// Deletes what changes and is copied anew.
pub(super) async fn clear_changing<P: Postgres>(db: &P, partition: u8) -> Result<()> {
    for statement in CHANGING {
        repeat(db, partition, statement).await?;
    }
    Ok(())
}

async fn repeat<P: Postgres>(db: &P, partition: u8, statement: &str) -> Result<()> {
    while !db.query(statement, params![u64::from(partition), MOVE_ROWS_MAX]).await?.is_empty() {}
    Ok(())
}
