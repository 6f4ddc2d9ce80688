//! Settings of a conversation, and of a member in it.

use super::Tiered;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::conversation::{Conversation, ConversationChange};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result};

pub(super) async fn update<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _actor: &Actor,
    _conversation: &ConversationId,
    _change: &ConversationChange,
) -> Result<Conversation> {
    Err(Error::internal("not made yet"))
}
