use super::Tiered;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};
pub(super) async fn hide<R: Redis, P: Postgres>(
    _: &Tiered<R, P>, _: &Actor, _: &ConversationId, _: &[MsgId],
) -> Result<Vec<Result<()>>> {
    Err(Error::internal("not yet"))
}
