//! Devices follow a conversation.

use super::keys::Place;
use super::read::{self, Head};
use super::retention::times;
use super::{Tiered, devices, limits, rows, script, stamp, unknown_word};
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use crate::{arguments, params};
use im_domain::limits::PAGE_CONTENT_BYTES_MAX;
use im_domain::message::Message;
use im_domain::page::{Direction, Page, Range, Reset, ResetReason, SyncPage, SyncQuery, cut};
use im_domain::storage::Actor;
use im_domain::{DeviceId, Error, MsgId, Result};

pub(super) async fn sync<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    device: &DeviceId,
    query: &SyncQuery,
) -> Result<SyncPage> {
    let follower = Follower { store, actor, device, place: Place::of(&actor.tenant, &query.conversation) };
    let limit = u64::from(query.limit) + 1;
    let epoch = query.epoch.as_deref().unwrap_or_default();
    // First: what is said after the page was read has to wait for a push.
    devices::seen(store, actor, Some(device)).await?;
    let (place, hot) = follower.ask(epoch, query.last_msg_id, limit).await?;
    let start = query.last_msg_id.unwrap_or(place.before);
    if let Some(reason) = place.lost {
        return follower.restart(query, place, start, reason).await;
    }
    let range = Range {
        above: start,
        below: MsgId::MAX,
        direction: Direction::Down,
        kinds: Vec::new(),
        limit: query.limit,
    };
    let hot = read::hot_rest(store, actor, &follower.place, &range, place.head.scanned, hot).await?;
    let mut messages = read::with_cold(store, actor, &follower.place, &place.head, &range, hot).await?;
    let has_more = cut(&mut messages, query.limit, &mut { PAGE_CONTENT_BYTES_MAX });
    let cursor = messages.last().map_or(start, |message| message.msg_id);
    let position = match query.auto_advance && cursor > place.position {
        true => follower.ask("", Some(cursor), 0).await?.0.position,
        false => place.position,
    };
    let reset = follower.gap(&place, start, &messages).await?;
    let page = Page {
        conversation: query.conversation.clone(),
        messages,
        has_more,
        cursor,
        epoch: place.head.epoch,
        head_seq: place.head.seq,
        reset,
    };
    Ok(SyncPage { page, position })
}

struct Follower<'a, R, P> {
    store: &'a Tiered<R, P>,
    actor: &'a Actor,
    device: &'a DeviceId,
    place: Place,
}

/// Where a device stands.
struct Standing {
    head: Head,
    /// Why the device cannot go on from where it stands.
    lost: Option<ResetReason>,
    /// Its position after the call, and before.
    position: MsgId,
    before: MsgId,
    /// `seq` at `before`; 0: unknown.
    before_seq: u64,
    /// `seq` of the newest hot message up to where it reads on; 0: none is.
    start_seq: u64,
}

impl Standing {
    fn take(reply: &mut Reply) -> Result<Self> {
        let head = Head::take(reply)?;
        let lost = match reply.text()?.as_str() {
            "epoch" => Some(ResetReason::EpochChanged),
            "ahead" => Some(ResetReason::PositionAhead),
            _ => None,
        };
        Ok(Self {
            head,
            lost,
            position: read::id(reply)?,
            before: read::id(reply)?,
            before_seq: reply.number()?,
            start_seq: reply.number()?,
        })
    }
}

impl<R: Redis, P: Postgres> Follower<'_, R, P> {
    /// Reads up to `limit` hot messages and moves the position to `confirmed`.
    async fn ask(
        &self,
        epoch: &str,
        confirmed: Option<MsgId>,
        limit: u64,
    ) -> Result<(Standing, Vec<Message>)> {
        let place = &self.place;
        let arguments = arguments![
            u64::from(place.partition),
            self.store.settings.backlog_max,
            place.name.as_str(),
            self.actor.user.as_str(),
            self.device.as_str(),
            epoch,
            confirmed.map(stamp::text).unwrap_or_default(),
            times(self.store, &self.actor.tenant),
            limit
        ];
        let keys = place.written();
        for _ in 0..limits::ATTEMPTS_MAX {
            let (word, mut reply) =
                read::ask_hot(self.store, place, &script::SYNC, &keys, &arguments).await?;
            match word.as_str() {
                "unplaced" => self.recall().await?,
                "ok" => {
                    let standing = Standing::take(&mut reply)?;
                    let messages =
                        read::hot_messages(self.store, place, &standing.head, self.actor, &mut reply).await?;
                    return Ok((standing, messages));
                }
                word => return Err(unknown_word("sync", word)),
            }
        }
        Err(Error::internal("a device's position was looked up again and again"))
    }

    /// Makes the device's position hot as SQL has it.
    async fn recall(&self) -> Result<()> {
        let (position, seq) = self.stored().await?;
        let value = format!("{} {seq}", stamp::text(position));
        let arguments = arguments![self.actor.user.as_str(), self.device.as_str(), value];
        let place = &self.place;
        let keys = [place.clock(), place.head(), place.positions()];
        self.store.ask(place.partition, &script::PLACE_DEVICE, &keys, arguments).await?;
        Ok(())
    }

    /// The device's position as SQL has it, and its `seq`, 0 when unknown.
    async fn stored(&self) -> Result<(MsgId, u64)> {
        const STATEMENT: &str = "
            SELECT p.msg_id, p.seq FROM conversation c JOIN position p ON p.cid = c.cid
                AND p.user_id = $3::text AND p.device = $4::text
            WHERE c.tenant = $1::text AND c.name = $2::text";
        let place = &self.place;
        let parameters =
            params![place.tenant(), place.conversation(), self.actor.user.as_str(), self.device.as_str()];
        let mut rows = self.store.sql(place.partition).await?.query(STATEMENT, parameters).await?;
        Ok(match rows.first_mut() {
            Some(row) => (row.msg_id()?, row.count()?),
            None => (MsgId::NONE, 0),
        })
    }

    /// No messages and no move: the device has to decide to start again.
    async fn restart(
        &self,
        query: &SyncQuery,
        standing: Standing,
        start: MsgId,
        reason: ResetReason,
    ) -> Result<SyncPage> {
        let oldest = read::oldest(self.store, self.actor, &self.place).await?;
        let page = Page {
            conversation: query.conversation.clone(),
            messages: Vec::new(),
            has_more: false,
            cursor: start,
            epoch: standing.head.epoch,
            head_seq: standing.head.seq,
            reset: Some(Reset { reason, oldest }),
        };
        Ok(SyncPage { page, position: standing.position })
    }

    /// Whether messages after the device's place have expired before it read them: the next one it
    /// is given does not follow the last one it has.
    async fn gap(&self, standing: &Standing, start: MsgId, messages: &[Message]) -> Result<Option<Reset>> {
        let head = &standing.head;
        if start.is_none() || start >= head.floor {
            return Ok(None);
        }
        let given = messages.first().map_or(head.seq + 1, |message| message.seq);
        let before = self.seq_at(standing, start).await?;
        let follows = |next: u64| before.is_some_and(|seq| seq + 1 == next);
        if follows(given) || self.first_kept(head).await?.is_some_and(follows) {
            return Ok(None);
        }
        let oldest = read::oldest(self.store, self.actor, &self.place).await?;
        Ok(Some(Reset { reason: ResetReason::Expired, oldest }))
    }

    /// `seq` of the oldest message that is kept, even if it is hidden from the user.
    async fn first_kept(&self, head: &Head) -> Result<Option<u64>> {
        if head.floor.number() + 1 < head.hot.number() {
            let db = self.store.sql(self.place.partition).await?;
            let cold = rows::seq_after(db, head.cid, head.floor).await?;
            if cold.is_some() {
                return Ok(cold);
            }
        }
        let after = format!("({}", stamp::text(head.floor));
        let first = arguments![self.place.messages(), after, "+", "COUNT", 1_u64];
        let node = self.store.node(self.store.node_of(self.place.partition))?;
        let mut entry = Reply::new(node.redis.command("XRANGE", first).await?);
        if entry.left() == 0 {
            return Ok(None);
        }
        let (_id, _field) = (entry.text()?, entry.text()?);
        Ok(Some(read::start_of(&entry.bytes()?)?.1))
    }

    /// `seq` of the newest message up to `start`, as far as it is known.
    async fn seq_at(&self, standing: &Standing, start: MsgId) -> Result<Option<u64>> {
        if standing.start_seq > 0 {
            return Ok(Some(standing.start_seq));
        }
        let found =
            rows::seq_at(self.store.sql(self.place.partition).await?, standing.head.cid, start).await?;
        if found.is_some() || start != standing.before {
            return Ok(found);
        }
        if standing.before_seq > 0 {
            return Ok(Some(standing.before_seq));
        }
        // It was confirmed when the message was in SQL alone, which has looked it up.
        let (position, seq) = self.stored().await?;
        Ok((position == start && seq > 0).then_some(seq))
    }
}
