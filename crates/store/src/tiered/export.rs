//! What there is of one user, read from SQL once that has what was acknowledged before.

use super::cold::Cold;
use super::feed::{self, Feed};
use super::keys::UserPlace;
use super::{Tiered, audit, limits, persist, rows, upkeep};
use crate::audit::Deed;
use crate::export::{ColdPart, Own, OwnCold, Owned};
use crate::feed::Kept;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::{Row, Value};
use futures::{StreamExt, TryStreamExt};
use im_domain::conversation::Role;
use im_domain::export::{Export, ExportCursor, Member, Membership, Sent};
use im_domain::storage::Actor;
use im_domain::{DeviceId, MsgId, Result, UserId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// That it was asked is on disk before the answer leaves.
pub(super) async fn export<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    user: &UserId,
    cursor: ExportCursor,
    limit: u32,
) -> Result<Export> {
    crate::export::may_export(actor)?;
    let is_first = cursor == ExportCursor::START;
    if is_first {
        reach_all(store).await?;
    }
    let feed = feed::read(store, &actor.tenant).await?;
    let mut export = crate::export::part(&feed, user, cursor, limit).await?;
    if is_first {
        export.profile = Some(crate::export::profile(store, actor, user).await?);
    }
    let partition = UserPlace::of(&actor.tenant, user).partition;
    audit::note(store, actor, partition, Deed::export_of(user)).await?;
    Ok(export)
}

/// Waits until SQL has everything that waits in any log.
pub(super) async fn reach_all<R: Redis, P: Postgres>(store: &Tiered<R, P>) -> Result<()> {
    let waiting = upkeep::waiting(store).await?;
    futures::stream::iter(waiting)
        .map(|partition| persist::reach_now(store, partition))
        .buffer_unordered(limits::DRAIN_PARTITIONS_MAX)
        .try_collect()
        .await
}

impl<R: Redis, P: Postgres> Owned for Feed<'_, R, P> {
    async fn memberships(&self, user: &UserId, kept: &[Kept]) -> Result<Vec<Membership>> {
        let (mut members, mut positions, mut hiding) = (HashMap::new(), HashMap::new(), BTreeSet::new());
        for (database, part) in by_database(kept) {
            let db = self.store.database(database)?;
            let cids: Vec<MsgId> = part.iter().map(|(_, kept)| kept.home.cid).collect();
            members.extend(self::members(db, user, &cids).await?);
            hiding.extend(self::hiding(db, user, &cids).await?);
            for (cid, position) in self::positions(db, user, &cids).await? {
                positions.entry(cid).or_insert_with(Vec::new).push(position);
            }
        }
        let mut all = Vec::new();
        for one in kept {
            let member = members.get(&one.home.cid).copied();
            let positions = positions.remove(&one.home.cid).unwrap_or_default();
            if member.is_some() || !positions.is_empty() || hiding.contains(&one.home.cid) {
                let conversation = one.name.clone();
                all.push(Membership { conversation, member, positions, hidden: Vec::new() });
            }
        }
        Ok(all)
    }

    async fn hidden(&self, user: &UserId, kept: &[Kept], count: usize) -> Result<Vec<(usize, MsgId)>> {
        let mut all = Vec::new();
        for (database, part) in by_database(kept) {
            all.extend(hidden(self.store.database(database)?, user, &part, count).await?);
        }
        all.sort_unstable();
        all.truncate(count);
        Ok(all)
    }

    async fn own(
        &self,
        user: &UserId,
        kept: &[Kept],
        after: Option<&Sent>,
        count: usize,
    ) -> Result<Vec<Own>> {
        let mut all = Vec::new();
        for (database, part) in by_database(kept) {
            let db = self.store.database(database)?;
            all.extend(own(db, user, &part, after, count).await?);
        }
        all.sort_by(|a, b| (a.at, &a.sent).cmp(&(b.at, &b.sent)));
        all.truncate(count);
        Ok(all)
    }

    async fn own_cold(&self, user: &UserId, kept: &Kept, part: ColdPart) -> Result<OwnCold> {
        let db = self.store.database(kept.home.database)?;
        Cold { db, cid: kept.home.cid }.own(user.as_str(), part).await
    }
}

/// The conversations of each database, with their places among all.
fn by_database(kept: &[Kept]) -> BTreeMap<usize, Vec<(usize, &Kept)>> {
    let mut parts: BTreeMap<usize, Vec<(usize, &Kept)>> = BTreeMap::new();
    for (at, kept) in kept.iter().enumerate() {
        parts.entry(kept.home.database).or_default().push((at, kept));
    }
    parts
}

async fn members<P: Postgres>(db: &P, user: &UserId, cids: &[MsgId]) -> Result<Vec<(MsgId, Member)>> {
    const STATEMENT: &str = "
        SELECT cid, role::bigint, floor, read_msg_id, muted::bigint FROM member
        WHERE cid = ANY ($1::bigint[]) AND user_id = $2::text";
    let member = |mut row: Row| {
        let cid = row.msg_id()?;
        let role = row.case(Role::from_number)?;
        let (joined_after, read_msg_id) = (row.msg_id()?, row.msg_id()?);
        Ok((cid, Member { role, joined_after, read_msg_id, muted: row.flag()? }))
    };
    let rows = db.query(STATEMENT, vec![rows::list(cids), user.as_str().into()]).await?;
    rows.into_iter().map(member).collect()
}

async fn positions<P: Postgres>(
    db: &P,
    user: &UserId,
    cids: &[MsgId],
) -> Result<Vec<(MsgId, (DeviceId, MsgId))>> {
    const STATEMENT: &str = "
        SELECT cid, device, msg_id FROM position WHERE cid = ANY ($1::bigint[]) AND user_id = $2::text
        ORDER BY device";
    let position = |mut row: Row| Ok((row.msg_id()?, (DeviceId::parse(row.text()?)?, row.msg_id()?)));
    let rows = db.query(STATEMENT, vec![rows::list(cids), user.as_str().into()]).await?;
    rows.into_iter().map(position).collect()
}

/// The conversations in which a user has hidden something.
async fn hiding<P: Postgres>(db: &P, user: &UserId, cids: &[MsgId]) -> Result<Vec<MsgId>> {
    const STATEMENT: &str = "
        SELECT c.cid FROM unnest($1::bigint[]) AS c(cid)
        WHERE EXISTS (SELECT 1 FROM hidden h WHERE h.cid = c.cid AND h.user_id = $2::text)";
    let rows = db.query(STATEMENT, vec![rows::list(cids), user.as_str().into()]).await?;
    rows.into_iter().map(|mut row| Ok(row.msg_id()?)).collect()
}

/// What a user has hidden in conversations of a database.
async fn hidden<P: Postgres>(
    db: &P,
    user: &UserId,
    part: &[(usize, &Kept)],
    count: usize,
) -> Result<Vec<(usize, MsgId)>> {
    const STATEMENT: &str = "
        SELECT c.place, h.msg_id FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS c(cid, place, expired)
        CROSS JOIN LATERAL (
            SELECT msg_id FROM hidden WHERE cid = c.cid AND user_id = $4::text AND msg_id > c.expired
            ORDER BY msg_id LIMIT $5::bigint) h
        ORDER BY c.place, h.msg_id LIMIT $5::bigint";
    let (cids, places) = cids_and_places(part);
    let expired: Vec<MsgId> = part.iter().map(|(_, kept)| kept.expired).collect();
    let parameters = vec![
        cids,
        places,
        rows::list(&expired),
        user.as_str().into(),
        i64::try_from(count).unwrap_or(i64::MAX).into(),
    ];
    let one = |mut row: Row| Ok((place(&mut row)?, row.msg_id()?));
    db.query(STATEMENT, parameters).await?.into_iter().map(one).collect()
}

/// Numbers of conversations, and their places among all.
fn cids_and_places(part: &[(usize, &Kept)]) -> (Value, Value) {
    let cids: Vec<MsgId> = part.iter().map(|(_, kept)| kept.home.cid).collect();
    (rows::list(&cids), Value::Integers(part.iter().map(|(at, _)| i64::try_from(*at).ok()).collect()))
}

fn place(row: &mut Row) -> Result<usize> {
    Ok(usize::try_from(row.count()?).unwrap_or(usize::MAX))
}

/// What a user has sent in conversations of a database. A clientMsgId that was taken by another message is not in the
/// index of those that stand for theirs, and has one of its own.
async fn own<P: Postgres>(
    db: &P,
    user: &UserId,
    part: &[(usize, &Kept)],
    after: Option<&Sent>,
    count: usize,
) -> Result<Vec<Own>> {
    let one = |copies: &str| {
        format!(
            "(SELECT client_msg_id, msg_id FROM message WHERE cid = c.cid AND sender = $3::text AND {copies}
            AND control_msg_id IS NULL AND (c.place > 0 OR (client_msg_id, msg_id) > ($4::text, $5::bigint))
            ORDER BY client_msg_id, msg_id LIMIT $6::bigint)"
        )
    };
    let statement = format!(
        "SELECT c.place, x.client_msg_id, x.msg_id
        FROM unnest($1::bigint[], $2::bigint[]) AS c(cid, place) CROSS JOIN LATERAL ({} UNION ALL {}) x
        ORDER BY c.place, x.client_msg_id, x.msg_id LIMIT $6::bigint",
        one("copy_of IS NULL"),
        one("copy_of = 0")
    );
    let (cids, places) = cids_and_places(part);
    let start = Sent { client_msg_id: String::new(), msg_id: MsgId::NONE };
    let after = after.unwrap_or(&start);
    let parameters = vec![
        cids,
        places,
        user.as_str().into(),
        after.client_msg_id.as_str().into(),
        after.msg_id.into(),
        (count as u64).into(),
    ];
    let own = |mut row: Row| {
        let at = place(&mut row)?;
        Ok(Own::row(at, Sent { client_msg_id: row.text()?, msg_id: row.msg_id()? }))
    };
    db.query(&statement, parameters).await?.into_iter().map(own).collect()
}
