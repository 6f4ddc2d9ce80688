//! Messages are taken back.

use super::Tiered;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::revision::{Recall, Revised};
use im_domain::storage::Actor;
use im_domain::{Error, Result};

pub(super) async fn recall<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _actor: &Actor,
    _recall: &Recall,
) -> Result<Revised> {
    Err(Error::internal("not made yet"))
}
