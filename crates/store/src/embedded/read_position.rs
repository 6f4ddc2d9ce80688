//! What a user has read. The read position is the user's, whatever the device, and never goes back.

use super::clock::Counters;
use super::cold::{Cold, Spoken};
use super::retention::times;
use super::unread::{countable_at, own_at, resolve, unread};
use super::{Embedded, transaction};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::device::ReadState;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};

pub(super) fn read<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    up_to: MsgId,
) -> Result<ReadState> {
    let place = Place::find(store, actor, conversation)?;
    if up_to > place.head {
        return Err(Error::MessageNotFound { field: "msgId".into() });
    }
    if up_to <= place.state.read_msg_id {
        return Ok(place.state);
    }
    transaction::write(store, || place.advance(store, actor, up_to))?;
    Ok(Place::find(store, actor, conversation)?.state)
}

/// Where a member stands in a conversation.
struct Place {
    cid: i64,
    head: MsgId,
    state: ReadState,
}

impl Place {
    fn find<P: Sqlite>(store: &Embedded<P>, actor: &Actor, conversation: &ConversationId) -> Result<Self> {
        let statement = format!(
            "SELECT c.cid, c.head_msg_id, m.read_msg_id, {}
            FROM conversation c LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
            WHERE c.tenant = ?1 AND c.name = ?2",
            unread()
        );
        let parameters = params![
            actor.tenant.as_str(),
            conversation.as_str(),
            actor.user.as_str(),
            times(store, &actor.tenant),
        ];
        let mut rows = store.db.execute(&statement, parameters)?;
        let row = rows.first_mut().ok_or(Error::ConversationNotFound)?;
        let (cid, head) = (row.int()?, row.msg_id()?);
        let read_msg_id = row.opt_msg_id()?.ok_or(Error::NotMember)?;
        let unread = resolve(store, actor, cid, row.opt_int()?)?;
        Ok(Self { cid, head, state: ReadState { read_msg_id, unread } })
    }

    /// Unless another device was faster.
    fn advance<P: Sqlite>(&self, store: &Embedded<P>, actor: &Actor, up_to: MsgId) -> Result<()> {
        let statement = format!(
            "UPDATE member AS m SET read_msg_id = ?3, read_countable = coalesce(?5, {}),
                read_own = coalesce(?6, {}), read_version = ?4, other = ?4
            FROM conversation c
            WHERE c.cid = ?1 AND m.cid = ?1 AND m.user = ?2 AND m.read_msg_id < ?3 RETURNING 1",
            countable_at("?3"),
            own_at("?3")
        );
        let spoken = self.spoken_in_cold(store, actor, up_to)?;
        let mut counters = Counters::load(store)?;
        let version = counters.next_version(store.now_ms());
        let parameters = params![
            self.cid,
            actor.user.as_str(),
            up_to,
            version,
            spoken.map(|spoken| spoken.countable),
            spoken.map(|spoken| spoken.own),
        ];
        if !store.db.execute(&statement, parameters)?.is_empty() {
            counters.save(store)?;
        }
        Ok(())
    }

    /// How much had been said up to a place that lies in segments; none: it lies above them.
    fn spoken_in_cold<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        actor: &Actor,
        at: MsgId,
    ) -> Result<Option<Spoken>> {
        const STATEMENT: &str = "SELECT 1 FROM conversation WHERE cid = ?1 AND cold_msg_id > ?2";
        match store.db.execute(STATEMENT, params![self.cid, at])?.is_empty() {
            true => Ok(None),
            false => Cold { store, cid: self.cid }.spoken_up_to(at, actor.user.as_str()).map(Some),
        }
    }
}
