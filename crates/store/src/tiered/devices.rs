//! A user's devices.

use super::Tiered;
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::device::Device;
use im_domain::storage::Actor;
use im_domain::{DeviceId, Error, Result};

pub(super) async fn seen<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _actor: &Actor,
    _device: Option<&DeviceId>,
) -> Result<()> {
    Ok(())
}

pub(super) async fn devices<R: Redis, P: Postgres>(
    _store: &Tiered<R, P>,
    _actor: &Actor,
    _forget: Option<&DeviceId>,
) -> Result<Vec<Device>> {
    Err(Error::internal("not made yet"))
}
