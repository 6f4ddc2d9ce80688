//! The move of one partition.
//!
//! Conversations and messages are copied first, while the old database goes on; what is left is what has come
//! since, what has moved into segments, and what was revised, which the trace of revisions tells. Then the old database
//! lets go of the partition: it takes nothing more for it, and its rows stay as they are for readers. What changes is
//! copied whole, messages are compared conversation by conversation and levelled, those that were revised are copied
//! once more, and the new database takes the partition over, with the clock that the old one has got to. Redis is
//! told last.

use super::super::Tiered;
use super::super::home::{Move, note};
use super::super::limits::{ATTEMPTS_MAX, MOVE_ROWS_MAX};
use super::copy::{
    ALIASES, AUDIT, CONVERSATIONS, DEVICES, HIDDEN, LATE, MEMBERS, MESSAGES, POSITIONS, REVISED, REVISIONS,
    USER_SETTINGS, Way, copy, copy_all,
};
use super::{clear, segments};
use crate::params;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::Row;
use im_domain::{Error, MsgId, Result};
use std::collections::HashMap;

/// Moves a partition; false when somebody else has called the move off or made it.
pub(super) async fn move_one<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partition: u8,
    from: usize,
    to: usize,
) -> Result<bool> {
    let way = Way { partition, from: store.database(from)?, to: store.database(to)? };
    copy_all(&way, &CONVERSATIONS).await?;
    copy(&way, &MESSAGES, last_copied(&way).await?, MsgId::MAX).await?;
    level(&way).await?;
    segments::level(&way).await?;
    let this = Move::new(to, store.random_name(), store.now_ms());
    if !let_go(&way, &this).await? {
        return Ok(false);
    }
    copy_all(&way, &CONVERSATIONS).await?;
    clear::clear_changing(way.to, partition).await?;
    for table in [MEMBERS, POSITIONS, REVISIONS, HIDDEN, ALIASES, DEVICES, USER_SETTINGS, AUDIT, LATE] {
        copy_all(&way, &table).await?;
    }
    level(&way).await?;
    segments::level(&way).await?;
    copy_all(&way, &REVISED).await?;
    verify(&way).await?;
    if !take_over(&way, &this).await? {
        return Ok(false);
    }
    note(store, &[(partition, to)], "").await?;
    Ok(true)
}

/// The last message that a move which was killed has copied.
async fn last_copied<P: Postgres>(way: &Way<'_, P>) -> Result<(MsgId, String)> {
    const STATEMENT: &str = "
        SELECT c.cid, m.last FROM conversation c
        CROSS JOIN LATERAL (SELECT max(msg_id) AS last FROM message WHERE cid = c.cid) m
        WHERE (c.cid >> 14) & 255 = $1::bigint AND m.last IS NOT NULL ORDER BY c.cid DESC LIMIT 1";
    let mut rows = way.to.query(STATEMENT, params![u64::from(way.partition)]).await?;
    match rows.first_mut() {
        Some(row) => Ok((row.msg_id()?, row.int()?.to_string())),
        None => Ok((MsgId::NONE, "0".to_owned())),
    }
}

/// The messages of a conversation: how many, the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    cid: MsgId,
    count: u64,
    first: MsgId,
    last: MsgId,
}

async fn extents<P: Postgres>(db: &P, partition: u8, after: MsgId, limit: u64) -> Result<Vec<Extent>> {
    const STATEMENT: &str = "
        SELECT c.cid, m.count, coalesce(m.first, 0), coalesce(m.last, 0) FROM (
            SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint AND cid > $2::bigint
            ORDER BY cid LIMIT $3::bigint) c
        CROSS JOIN LATERAL (SELECT count(*), min(msg_id) AS first, max(msg_id) AS last FROM message
            WHERE cid = c.cid) m
        ORDER BY c.cid";
    let extent = |mut row: Row| {
        let (cid, count) = (row.msg_id()?, row.count()?);
        Ok(Extent { cid, count, first: row.msg_id()?, last: row.msg_id()? })
    };
    let rows = db.query(STATEMENT, params![u64::from(partition), after, limit]).await?;
    rows.into_iter().map(extent).collect()
}

/// Makes the messages of every conversation the same in both databases, as far as the old one stands
/// still.
async fn level<P: Postgres>(way: &Way<'_, P>) -> Result<()> {
    let mut after = MsgId::NONE;
    loop {
        let old = extents(way.from, way.partition, after, MOVE_ROWS_MAX).await?;
        let new = extents(way.to, way.partition, after, MOVE_ROWS_MAX).await?;
        let Some(last) = old.last() else { return Ok(()) };
        after = last.cid;
        let new: HashMap<MsgId, Extent> = new.into_iter().map(|found| (found.cid, found)).collect();
        for wanted in &old {
            if let Some(found) = new.get(&wanted.cid).filter(|found| *found != wanted) {
                level_one(way, wanted, found).await?;
            }
        }
    }
}

/// What is missing is the end, and what is too much is the beginning, which has expired. Where that is
/// not all, the conversation is copied again.
async fn level_one<P: Postgres>(way: &Way<'_, P>, wanted: &Extent, found: &Extent) -> Result<()> {
    let one = MsgId::new(wanted.cid.number().saturating_sub(1)).unwrap_or_default();
    let below = if wanted.count == 0 { MsgId::MAX } else { wanted.first };
    delete_below(way.to, wanted.cid, below).await?;
    copy(way, &MESSAGES, (wanted.cid, found.last.number().to_string()), wanted.cid).await?;
    let again = extents(way.to, way.partition, one, 1).await?;
    if again.first() != Some(wanted) {
        delete_below(way.to, wanted.cid, MsgId::MAX).await?;
        copy(way, &MESSAGES, (wanted.cid, "0".to_owned()), wanted.cid).await?;
    }
    Ok(())
}

async fn delete_below<P: Postgres>(db: &P, cid: MsgId, below: MsgId) -> Result<()> {
    const STATEMENT: &str = "
        DELETE FROM message WHERE cid = $1::bigint AND msg_id IN (SELECT msg_id FROM message
            WHERE cid = $1::bigint AND msg_id < $2::bigint ORDER BY msg_id LIMIT $3::bigint) RETURNING 1";
    while !db.query(STATEMENT, params![cid, below, MOVE_ROWS_MAX]).await?.is_empty() {}
    Ok(())
}

/// Makes the old database let go of the partition; false when it does not have it.
async fn let_go<P: Postgres>(way: &Way<'_, P>, this: &Move) -> Result<bool> {
    const EXPECT: &str = "
        INSERT INTO partition_state (partition, clock, epoch, since, base, adoption, home, moving)
        VALUES ($1::bigint, 0, '', 0, '', '', 2, $2::text)
        ON CONFLICT (partition) DO UPDATE SET home = 2, moving = excluded.moving
            WHERE partition_state.home <> 1 RETURNING 1";
    const LET_GO: &str = "
        WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true) AS is_on)
        UPDATE partition_state SET home = 0, moving = $2::text FROM durable
        WHERE partition = $1::bigint AND home = 1 RETURNING 1";
    let parameters = || params![u64::from(way.partition), this.text()];
    if way.to.query(EXPECT, parameters()).await?.is_empty() {
        return Ok(false);
    }
    Ok(!way.from.query(LET_GO, parameters()).await?.is_empty())
}

/// Both databases have the same; the old one takes nothing more, but may purge what has expired.
async fn verify<P: Postgres>(way: &Way<'_, P>) -> Result<()> {
    for _ in 0..ATTEMPTS_MAX {
        if counts(way.from, way.partition).await? != counts(way.to, way.partition).await? {
            return Err(differ(way.partition));
        }
        if messages_are_equal(way).await? && segments::are_equal(way).await? {
            return Ok(());
        }
        level(way).await?;
        segments::level(way).await?;
    }
    Err(differ(way.partition))
}

async fn messages_are_equal<P: Postgres>(way: &Way<'_, P>) -> Result<bool> {
    let mut after = MsgId::NONE;
    loop {
        let old = extents(way.from, way.partition, after, MOVE_ROWS_MAX).await?;
        if old != extents(way.to, way.partition, after, MOVE_ROWS_MAX).await? {
            return Ok(false);
        }
        let Some(last) = old.last() else { return Ok(true) };
        after = last.cid;
    }
}

fn differ(partition: u8) -> Error {
    Error::internal(format!("partition {partition} is not the same in both databases; it has not moved"))
}

/// Conversations, members, positions, revisions, what is hidden, aliases, devices and settings of users, the audit,
/// and what came late.
async fn counts<P: Postgres>(db: &P, partition: u8) -> Result<[u64; 10]> {
    const STATEMENT: &str = "
        WITH part AS MATERIALIZED (SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint)
        SELECT (SELECT count(*) FROM part), (SELECT count(*) FROM part JOIN member USING (cid)),
            (SELECT count(*) FROM part JOIN position USING (cid)),
            (SELECT count(*) FROM part JOIN revision USING (cid)),
            (SELECT count(*) FROM part JOIN hidden USING (cid)),
            (SELECT count(*) FROM alias WHERE partition = $1::bigint),
            (SELECT count(*) FROM device WHERE partition = $1::bigint),
            (SELECT count(*) FROM user_setting WHERE partition = $1::bigint),
            (SELECT count(*) FROM audit WHERE partition = $1::bigint),
            (SELECT count(*) FROM late WHERE (stamp >> 14) & 255 = $1::bigint)";
    let mut rows = db.query(STATEMENT, params![u64::from(partition)]).await?;
    let Some(row) = rows.first_mut() else { return Err(differ(partition)) };
    let mut counts = [0; 10];
    for count in &mut counts {
        *count = row.count()?;
    }
    Ok(counts)
}

/// Gives the partition to the new database, with the state it has in the old one; false when the move was
/// called off.
async fn take_over<P: Postgres>(way: &Way<'_, P>, this: &Move) -> Result<bool> {
    const STATE: &str = "
        SELECT clock, epoch, since, base, adoption FROM partition_state
        WHERE partition = $1::bigint AND home = 0 AND moving = $2::text";
    const TAKE_OVER: &str = "
        WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true) AS is_on)
        UPDATE partition_state SET home = 1, clock = $3::bigint, epoch = $4::text, since = $5::bigint,
            base = $6::text, adoption = $7::text
        FROM durable WHERE partition = $1::bigint AND home = 2 AND moving = $2::text RETURNING 1";
    let mut parameters = params![u64::from(way.partition), this.text()];
    let mut rows = way.from.query(STATE, parameters.clone()).await?;
    let Some(row) = rows.first_mut() else { return Ok(false) };
    parameters.extend(params![row.msg_id()?, row.text()?, row.count()?, row.text()?, row.text()?]);
    Ok(!way.to.query(TAKE_OVER, parameters).await?.is_empty())
}
