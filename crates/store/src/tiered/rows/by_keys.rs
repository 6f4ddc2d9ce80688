//! Messages of several conversations.

use super::{SHOWN, Sight, columns, fill_quotes, list, quoted};
use crate::message_row::read;
use crate::postgres::Postgres;
use crate::sql::{Row, Value};
use crate::tiered::cold::Cold;
use crate::tiered::retention::expired_up_to;
use im_domain::message::Message;
use im_domain::{MsgId, Result};
use std::collections::{BTreeMap, BTreeSet};

/// What was found of a conversation.
#[derive(Default)]
struct Found {
    /// Up to where messages have expired.
    floor: MsgId,
    /// Up to where they may be in segments.
    end: MsgId,
    messages: Vec<Message>,
    /// No rows.
    missing: Vec<MsgId>,
}

/// Messages of several conversations of a tenant, each by the conversation's number and its own, as far as they are in
/// SQL and have not expired; each with its conversation's number. `times`: the tenant's. Nothing is hidden from the
/// reader. What is packed takes further statements for its conversation.
pub(in super::super) async fn by_keys<P: Postgres>(
    db: &P,
    keys: &BTreeSet<(MsgId, MsgId)>,
    times: Value,
) -> Result<Vec<(MsgId, Message)>> {
    let (cids, ids): (Vec<_>, Vec<_>) = keys.iter().copied().unzip();
    let rows = db.query(&statement(), vec![list(&cids), list(&ids), times]).await?;
    let mut all = Vec::with_capacity(rows.len());
    for (cid, mut found) in by_conversation(rows)? {
        let sight = Sight { cid, floor: found.floor, user: "" };
        found.missing.retain(|id| *id > found.floor && *id <= found.end);
        if !found.missing.is_empty() {
            found.messages.extend(Cold { db, cid }.messages(&found.missing, sight).await?);
        }
        fill_quotes(db, sight, found.end, &mut found.messages).await?;
        all.extend(found.messages.into_iter().map(|message| (cid, message)));
    }
    Ok(all)
}

/// Of each key where its conversation stands, whether there is such a row, and the row.
fn statement() -> String {
    let expired = expired_up_to("$3");
    format!(
        "SELECT c.cid, {expired}, c.cold_msg_id, k.id, (x.msg_id IS NOT NULL)::int, {}
        FROM unnest($1::bigint[], $2::bigint[]) AS k(cid, id)
        JOIN conversation c ON c.cid = k.cid
        LEFT JOIN message x ON x.cid = k.cid AND x.msg_id = k.id AND x.msg_id > {expired} AND {SHOWN} {}",
        columns(),
        quoted(&expired, "''")
    )
}

fn by_conversation(rows: Vec<Row>) -> Result<BTreeMap<MsgId, Found>> {
    let mut all: BTreeMap<MsgId, Found> = BTreeMap::new();
    for mut row in rows {
        let found = all.entry(row.msg_id()?).or_default();
        (found.floor, found.end) = (row.msg_id()?, row.msg_id()?);
        let id = row.msg_id()?;
        match row.flag()? {
            true => found.messages.push(read(&mut row)?),
            false => found.missing.push(id),
        }
    }
    Ok(all)
}
