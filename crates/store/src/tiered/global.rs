//! What has changed for a user over all conversations.

use super::Tiered;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::global::{Changes, GlobalCursor};
use im_domain::storage::Actor;
use im_domain::{Error, Result};

pub(super) async fn changes<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _actor: &Actor,
    _cursor: Option<&GlobalCursor>,
    _limit: u32,
) -> Result<Changes> {
    Err(Error::internal("not made yet"))
}
