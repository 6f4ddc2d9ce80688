//! A user's devices.

use super::Embedded;
use crate::sqlite::Sqlite;
use im_domain::device::Device;
use im_domain::storage::Actor;
use im_domain::{DeviceId, Error, Result};

pub(super) fn seen<P: Sqlite>(
    _store: &Embedded<P>,
    _actor: &Actor,
    _device: Option<&DeviceId>,
) -> Result<()> {
    Ok(())
}

pub(super) fn devices<P: Sqlite>(
    _store: &Embedded<P>,
    _actor: &Actor,
    _forget: Option<&DeviceId>,
) -> Result<Vec<Device>> {
    Err(Error::internal("not made yet"))
}
