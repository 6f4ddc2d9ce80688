//! Devices follow a conversation.

use super::cold::Cold;
use super::pages::{oldest, read_range};
use super::retention::times;
use super::{Embedded, access, devices};
use crate::params;
use crate::sql::Row;
use crate::sqlite::Sqlite;
use im_domain::limits::PAGE_CONTENT_BYTES_MAX;
use im_domain::message::Message;
use im_domain::page::{Direction, Page, Range, Reset, ResetReason, SyncPage, SyncQuery, cut};
use im_domain::storage::Actor;
use im_domain::{DeviceId, Error, MsgId, Result};

pub(super) fn sync<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    device: &DeviceId,
    query: &SyncQuery,
) -> Result<SyncPage> {
    let place = Place::find(store, actor, device, query)?;
    devices::seen(store, actor, Some(device))?;
    if let Some(reason) = place.lost(query) {
        return place.restart(store, actor, query, reason);
    }
    let range = Range {
        above: place.start,
        below: MsgId::MAX,
        direction: Direction::Down,
        kinds: Vec::new(),
        limit: query.limit,
    };
    let (head, mut messages) = read_range(store, actor, &query.conversation, &range)?;
    let has_more = cut(&mut messages, query.limit, &mut { PAGE_CONTENT_BYTES_MAX });
    let cursor = messages.last().map_or(place.start, |message| message.msg_id);
    let reached = if query.auto_advance { cursor } else { query.last_msg_id.unwrap_or_default() };
    let position = place.advance(store, actor, device, reached)?;
    let page = Page {
        conversation: query.conversation.clone(),
        reset: place.gap(store, actor, &head, &messages)?,
        messages,
        has_more,
        cursor,
        epoch: head.epoch,
        head_seq: head.head_seq,
    };
    Ok(SyncPage { page, position })
}

/// `seq` of the oldest message that is kept, even if it is hidden from the user.
fn first_kept<P: Sqlite>(store: &Embedded<P>, head: &access::Head) -> Result<Option<u64>> {
    const STATEMENT: &str = "SELECT seq FROM message WHERE cid = ?1 AND msg_id > ?2 ORDER BY msg_id LIMIT 1";
    if head.floor < head.cold
        && let Some(record) = (Cold { store, cid: head.cid }).oldest_after(head.floor)?
    {
        return Ok(Some(record.seq));
    }
    let mut rows = store.db.execute(STATEMENT, params![head.cid, head.floor])?;
    Ok(rows.first_mut().map(Row::count).transpose()?)
}

/// Where a device stands before the call.
struct Place {
    head: access::Head,
    position: MsgId,
    /// Where it wants to read on.
    start: MsgId,
    /// `seq` of the newest message up to `start`; none when `start` is 0 or nothing is known.
    start_seq: Option<u64>,
}

impl Place {
    fn find<P: Sqlite>(
        store: &Embedded<P>,
        actor: &Actor,
        device: &DeviceId,
        query: &SyncQuery,
    ) -> Result<Self> {
        let statement = format!(
            "WITH {}, place AS MATERIALIZED (
                SELECT coalesce(p.msg_id, 0) AS msg_id, coalesce(p.seq, 0) AS seq
                FROM head h LEFT JOIN position p ON p.cid = h.cid AND p.user = ?3 AND p.device = ?5)
            SELECT cid, head_msg_id, head_seq, epoch, is_member, floor, cold_msg_id,
                place.msg_id, place.seq, coalesce(?6, place.msg_id),
                (SELECT seq FROM message WHERE cid = head.cid AND msg_id <= coalesce(?6, place.msg_id)
                    ORDER BY msg_id DESC LIMIT 1)
            FROM head, place",
            access::HEAD
        );
        let parameters = params![
            actor.tenant.as_str(),
            query.conversation.as_str(),
            actor.user.as_str(),
            times(store, &actor.tenant),
            device.as_str(),
            query.last_msg_id,
        ];
        let mut rows = store.db.execute(&statement, parameters)?;
        let mut row = rows.pop();
        let head = access::Head::take(row.as_mut())?;
        let mut row = row.ok_or(Error::ConversationNotFound)?;
        let position = row.msg_id()?;
        let position_seq = row.count()?;
        let start = row.msg_id()?;
        let found = row.opt_int()?.and_then(|seq| u64::try_from(seq).ok());
        let known = (start == position && position_seq > 0).then_some(position_seq);
        Ok(Self { head, position, start, start_seq: found.or(known) })
    }

    /// Why the device cannot go on from where it stands.
    fn lost(&self, query: &SyncQuery) -> Option<ResetReason> {
        if query.epoch.as_ref().is_some_and(|epoch| *epoch != self.head.epoch) {
            return Some(ResetReason::EpochChanged);
        }
        (self.start > self.head.head_msg_id && !self.start.is_none()).then_some(ResetReason::PositionAhead)
    }

    /// No messages and no move: the device has to decide to start again.
    fn restart<P: Sqlite>(
        self,
        store: &Embedded<P>,
        actor: &Actor,
        query: &SyncQuery,
        reason: ResetReason,
    ) -> Result<SyncPage> {
        let oldest = oldest(store, actor, &self.head)?;
        let page = Page {
            conversation: query.conversation.clone(),
            messages: Vec::new(),
            has_more: false,
            cursor: self.start,
            epoch: self.head.epoch,
            head_seq: self.head.head_seq,
            reset: Some(Reset { reason, oldest }),
        };
        Ok(SyncPage { page, position: self.position })
    }

    /// Whether messages after the device's place have expired before it read them: the next one it
    /// is given does not follow the last one it has. `head` is that of the page: messages may have
    /// come and expired since the place was looked up.
    fn gap<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        actor: &Actor,
        head: &access::Head,
        messages: &[Message],
    ) -> Result<Option<Reset>> {
        if self.start.is_none() || self.start >= head.floor {
            return Ok(None);
        }
        let is_packed = self.start_seq.is_none() && self.start <= self.head.cold;
        let start_seq = if is_packed { self.seq_up_to(store, self.start)? } else { self.start_seq };
        let follows = |next: u64| start_seq.is_some_and(|seq| seq + 1 == next);
        let given = messages.first().map_or(head.head_seq + 1, |message| message.seq);
        if follows(given) || first_kept(store, head)?.is_some_and(follows) {
            return Ok(None);
        }
        Ok(Some(Reset { reason: ResetReason::Expired, oldest: oldest(store, actor, head)? }))
    }

    /// `seq` of the newest message up to `id` that is in a segment.
    fn seq_up_to<P: Sqlite>(&self, store: &Embedded<P>, id: MsgId) -> Result<Option<u64>> {
        Ok(Cold { store, cid: self.head.cid }.newest_up_to(id)?.map(|record| record.seq))
    }

    /// Moves the position up to `reached`; never back, whatever else moves it meanwhile. Who has been
    /// removed meanwhile leaves none behind.
    fn advance<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        actor: &Actor,
        device: &DeviceId,
        reached: MsgId,
    ) -> Result<MsgId> {
        const STATEMENT: &str = "
            INSERT INTO position (cid, user, device, msg_id, seq, update_time)
            SELECT ?1, ?2, ?3, ?4, coalesce(?6, (SELECT seq FROM message WHERE cid = ?1 AND msg_id <= ?4
                ORDER BY msg_id DESC LIMIT 1), 0), ?5
            FROM member WHERE cid = ?1 AND user = ?2 ON CONFLICT (cid, user, device) DO UPDATE SET
                seq = iif(excluded.msg_id > msg_id, excluded.seq, seq),
                msg_id = max(msg_id, excluded.msg_id), update_time = excluded.update_time
            RETURNING msg_id";
        if reached <= self.position {
            return Ok(self.position);
        }
        let packed_seq = if reached <= self.head.cold { self.seq_up_to(store, reached)? } else { None };
        let (cid, user) = (self.head.cid, actor.user.as_str());
        let parameters = params![cid, user, device.as_str(), reached, store.now_ms(), packed_seq];
        let mut rows = store.db.execute(STATEMENT, parameters)?;
        Ok(rows.first_mut().ok_or(Error::NotMember)?.msg_id()?)
    }
}
