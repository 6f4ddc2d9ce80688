//! What has changed for a user over all conversations.

use super::Embedded;
use crate::sqlite::Sqlite;
use im_domain::global::{Changes, GlobalCursor};
use im_domain::storage::Actor;
use im_domain::{Error, Result};

pub(super) fn changes<P: Sqlite>(
    _store: &Embedded<P>,
    _actor: &Actor,
    _cursor: Option<&GlobalCursor>,
    _limit: u32,
) -> Result<Changes> {
    Err(Error::internal("not made yet"))
}
