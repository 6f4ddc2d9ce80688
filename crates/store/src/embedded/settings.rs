//! Settings of a conversation, and of a member in it.

use super::Embedded;
use crate::sqlite::Sqlite;
use im_domain::conversation::{Conversation, ConversationChange};
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result};

pub(super) fn update<P: Sqlite>(
    _store: &Embedded<P>,
    _actor: &Actor,
    _conversation: &ConversationId,
    _change: &ConversationChange,
) -> Result<Conversation> {
    Err(Error::internal("not made yet"))
}
