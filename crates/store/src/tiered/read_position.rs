//! What a user has read.

use super::Tiered;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::device::ReadState;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};

pub(super) async fn read<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _actor: &Actor,
    _conversation: &ConversationId,
    _up_to: MsgId,
) -> Result<ReadState> {
    Err(Error::internal("not made yet"))
}
