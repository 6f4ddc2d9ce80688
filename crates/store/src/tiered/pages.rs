//! Pages of a conversation's history, and messages by id.

use super::keys::Place;
use super::{Tiered, history, read};
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::limits::PAGE_CONTENT_BYTES_MAX;
use im_domain::page::{Direction, Found, Page, PageQuery, Range, Reset, ResetReason, cut};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};

pub(super) async fn pages<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    queries: Vec<PageQuery>,
) -> Result<Vec<Result<Page>>> {
    let mut answers = Vec::with_capacity(queries.len());
    let mut room = PAGE_CONTENT_BYTES_MAX;
    for query in queries {
        match page(store, actor, query, &mut room).await {
            Err(error) if error.is_systemic() => return Err(error),
            answer => answers.push(answer),
        }
    }
    Ok(answers)
}

/// `room`: bytes of content that the pages of the call may still have.
async fn page<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    query: PageQuery,
    room: &mut usize,
) -> Result<Page> {
    let cursor = query.cursor;
    let place = Place::of(&actor.tenant, &query.conversation);
    let range = Range::of(&query);
    let (head, mut messages) = match read::range(store, actor, &place, &range).await {
        Err(Error::HotUnavailable { .. }) => history::range(store, actor, &place, &range).await?,
        read => read?,
    };
    let has_more = cut(&mut messages, query.limit, room);
    let reset = match query.direction == Direction::Down && cursor > head.last {
        // The reader would never see another message.
        true => Some(Reset {
            reason: ResetReason::PositionAhead,
            oldest: read::oldest(store, actor, &place).await?,
        }),
        false => None,
    };
    Ok(Page {
        conversation: query.conversation,
        has_more,
        cursor: messages.last().map_or(cursor, |message| message.msg_id),
        messages,
        epoch: head.epoch,
        head_seq: head.seq,
        reset,
    })
}

pub(super) async fn get<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    conversation: &ConversationId,
    ids: &[MsgId],
) -> Result<Found> {
    let place = Place::of(&actor.tenant, conversation);
    let found = match read::by_id(store, actor, &place, ids).await {
        Err(Error::HotUnavailable { .. }) => history::by_id(store, actor, &place, ids).await?,
        found => found?,
    };
    Found::gather(ids, found)
}
