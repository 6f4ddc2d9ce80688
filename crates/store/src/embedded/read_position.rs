//! What a user has read.

use super::Embedded;
use crate::sqlite::Sqlite;
use im_domain::device::ReadState;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};

pub(super) fn read<P: Sqlite>(
    _store: &Embedded<P>,
    _actor: &Actor,
    _conversation: &ConversationId,
    _up_to: MsgId,
) -> Result<ReadState> {
    Err(Error::internal("not made yet"))
}
