//! What the feed finds in cold segments, within the transaction that is open: whoever has read rows finds there what is
//! none.

use super::NOBODY;
use crate::cold::{after, message};
use crate::embedded::Embedded;
use crate::embedded::cold::{Cold, is_open};
use crate::embedded::retention::{expired_up_to, times};
use crate::feed::{Home, Kept, Key};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::message::Message;
use im_domain::page::Range;
use im_domain::{MsgId, Result, Tenant};
use std::collections::{BTreeMap, HashMap};

/// Puts what is packed before the rows of a range, up to one more than its limit.
pub(super) fn range<P: Sqlite>(
    store: &Embedded<P>,
    kept: &Kept,
    range: &Range,
    rows: Vec<Message>,
) -> Result<Vec<Message>> {
    const END: &str = "SELECT cold_msg_id FROM conversation WHERE cid = ?1";
    let cold = Cold { store, cid: kept.home.cid.to_sql() };
    let mut end = store.db.execute(END, params![cold.cid])?;
    let end = end.first_mut().map_or(Ok(MsgId::NONE), |row| row.msg_id())?;
    let mut messages = Vec::new();
    if range.above < end {
        let part = Range { below: range.below.min(after(end)), ..range.clone() };
        messages = cold.range(&part, NOBODY)?.into_iter().map(message).collect::<Result<_>>()?;
    }
    messages.extend(rows);
    messages.truncate(range.limit as usize + 1);
    cold.fill_quotes(&mut messages, NOBODY, kept.expired, end)?;
    Ok(messages)
}

/// Adds to messages that were looked for those that are packed, and the quotes that are.
pub(super) fn fill<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    keys: &[Key],
    found: &mut HashMap<Key, Message>,
) -> Result<()> {
    let mut wanted: BTreeMap<Home, Vec<MsgId>> = BTreeMap::new();
    for (home, id) in keys {
        wanted.entry(*home).or_default().push(*id);
    }
    for (home, mut ids) in wanted {
        ids.dedup();
        let is_there = |id: &MsgId| {
            let quote = |message: &Message| message.reply_to.clone();
            let open = |message: &Message| {
                quote(message).is_some_and(|quote| is_open(&quote, MsgId::NONE, MsgId::MAX))
            };
            found.get(&(home, *id)).is_some_and(|message| !open(message))
        };
        if ids.iter().all(is_there) {
            continue;
        }
        let Some((floor, end)) = bounds(store, tenant, home.cid)?.filter(|(_, end)| !end.is_none()) else {
            continue;
        };
        let cold = Cold { store, cid: home.cid.to_sql() };
        ids.retain(|id| *id <= end && !found.contains_key(&(home, *id)));
        let packed = cold.messages(&ids, floor)?;
        found.extend(packed.into_iter().map(|message| ((home, message.msg_id), message)));
        let here = found.iter_mut().filter(|((at, _), _)| *at == home).map(|(_, message)| message);
        cold.fill_quotes(here, NOBODY, floor, end)?;
    }
    Ok(())
}

/// Up to where messages of a conversation have expired, and up to where they may be packed.
fn bounds<P: Sqlite>(store: &Embedded<P>, tenant: &Tenant, cid: MsgId) -> Result<Option<(MsgId, MsgId)>> {
    const STATEMENT: &str =
        concat!("SELECT ", expired_up_to!("?2"), ", c.cold_msg_id FROM conversation c WHERE c.cid = ?1");
    let mut rows = store.db.execute(STATEMENT, params![cid, times(store, tenant)])?;
    Ok(rows
        .first_mut()
        .map(|row| Ok::<_, crate::sql::SqlError>((row.msg_id()?, row.msg_id()?)))
        .transpose()?)
}
