//! Messages that a user hides from oneself.

use super::access::{self, HEAD, Head};
use super::clock::Counters;
use super::cold::Cold;
use super::messages::list;
use super::retention::times;
use super::{Embedded, transaction};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::hide::Unhidable;
use im_domain::limits::HIDDEN_MAX;
use im_domain::message::Kind;
use im_domain::storage::Actor;
use im_domain::{ConversationId, MsgId, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a message `x` is hidden from the user in the parameter `user`.
pub(super) fn is_hidden(message: &str, user: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM hidden WHERE cid = {message}.cid AND user = {user} AND msg_id = {message}.msg_id)"
    )
}

/// The answer is flushed to disk, as that of a revision is.
pub(super) fn hide<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    ids: &[MsgId],
) -> Result<Vec<Result<()>>> {
    transaction::write_flushed(store, || {
        let state = State::find(store, actor, conversation, ids)?;
        let mut new = BTreeSet::new();
        let outcomes = ids.iter().map(|id| Ok(state.judge(*id, &mut new)?)).collect();
        if !new.is_empty() {
            state.carry_out(store, actor, &new)?;
        }
        Ok(outcomes)
    })
}

/// What the database knows before messages are hidden.
struct State {
    cid: i64,
    /// Messages of the conversation that are hidden from the user.
    hidden: u64,
    /// Those of the messages that the user may see.
    messages: BTreeMap<MsgId, Seen>,
    /// Those that are in segments, and whether they would be unread.
    packed: BTreeMap<MsgId, bool>,
}

struct Seen {
    is_control: bool,
    is_hidden: bool,
}

impl State {
    fn find<P: Sqlite>(
        store: &Embedded<P>,
        actor: &Actor,
        conversation: &ConversationId,
        ids: &[MsgId],
    ) -> Result<Self> {
        let parameters = params![
            actor.tenant.as_str(),
            conversation.as_str(),
            actor.user.as_str(),
            times(store, &actor.tenant),
            list(ids),
        ];
        let mut rows = store.db.execute(&statement(), parameters)?;
        let head = Head::take(rows.first_mut())?;
        let cid = head.cid;
        let hidden = rows.first_mut().map_or(Ok(0), Row::count)?;
        let mut messages = BTreeMap::new();
        for (index, mut row) in rows.into_iter().enumerate() {
            if index > 0 {
                (0..=access::COLUMNS).for_each(|_| row.skip());
            }
            let Some(msg_id) = row.opt_msg_id()? else { continue };
            let is_control = row.case(Kind::from_number)? == Kind::Recall;
            messages.insert(msg_id, Seen { is_control, is_hidden: row.flag()? });
        }
        let mut state = Self { cid, hidden, messages, packed: BTreeMap::new() };
        if ids.iter().any(|id| *id > head.floor && *id <= head.cold) {
            state.look_into_cold(&Cold { store, cid }, ids, &head, actor)?;
        }
        Ok(state)
    }

    /// Messages that are in segments.
    fn look_into_cold<P: Sqlite>(
        &mut self,
        cold: &Cold<'_, P>,
        ids: &[MsgId],
        head: &Head,
        actor: &Actor,
    ) -> Result<()> {
        let hidden = cold.hidden(actor.user.as_str())?;
        for (id, record) in cold.find(ids)?.into_iter().filter(|(id, _)| *id > head.floor) {
            let is_control = i64::from(record.kind) == Kind::Recall.number();
            self.messages.insert(id, Seen { is_control, is_hidden: hidden.contains(&id) });
            self.packed.insert(id, record.own.is_some() && record.sender != actor.user.as_str());
        }
        Ok(())
    }

    /// Adds the message to those that are to be hidden, unless it is.
    fn judge(&self, id: MsgId, new: &mut BTreeSet<MsgId>) -> Result<(), Unhidable> {
        let seen = self.messages.get(&id).ok_or(Unhidable::Missing)?;
        if seen.is_control {
            return Err(Unhidable::Control);
        }
        if seen.is_hidden || new.contains(&id) {
            return Ok(());
        }
        if self.hidden + new.len() as u64 >= HIDDEN_MAX {
            return Err(Unhidable::TooMany);
        }
        new.insert(id);
        Ok(())
    }

    fn carry_out<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        actor: &Actor,
        new: &BTreeSet<MsgId>,
    ) -> Result<(), SqlError> {
        const HIDE: &str = "
            INSERT INTO hidden (cid, user, msg_id, counts)
            SELECT cid, ?2, msg_id, own IS NOT NULL AND sender <> ?2 FROM message
            WHERE cid = ?1 AND msg_id IN (SELECT value FROM json_each(?3))";
        const HIDE_PACKED: &str = "INSERT INTO hidden (cid, user, msg_id, counts) VALUES (?1, ?2, ?3, ?4)";
        const TELL: &str = "UPDATE member SET hidden_version = ?3, other = ?3 WHERE cid = ?1 AND user = ?2";
        store.db.execute(HIDE, params![self.cid, actor.user.as_str(), list(new)])?;
        for (id, counts) in self.packed.iter().filter(|(id, _)| new.contains(id)) {
            store.db.execute(HIDE_PACKED, params![self.cid, actor.user.as_str(), *id, *counts])?;
        }
        let mut counters = Counters::load(store)?;
        let version = counters.next_version(store.now_ms());
        store.db.execute(TELL, params![self.cid, actor.user.as_str(), version])?;
        counters.save(store)
    }
}

/// ?5: the messages.
fn statement() -> String {
    format!(
        "WITH {HEAD}
        SELECT h.cid, h.head_msg_id, h.head_seq, h.epoch, h.is_member, h.floor, h.cold_msg_id,
            (SELECT count(*) FROM hidden WHERE cid = h.cid AND user = ?3), x.msg_id, x.kind, {}
        FROM head h LEFT JOIN message x ON x.cid = h.cid AND x.msg_id > h.floor
            AND x.msg_id IN (SELECT value FROM json_each(?5))",
        is_hidden("x", "?3")
    )
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use crate::embedded::testing::{assert_searches, plan};

    #[test]
    fn messages_are_found_by_searches() {
        assert_searches(&plan(&super::statement(), 5), &["h", "head", "json_each"]);
    }
}
