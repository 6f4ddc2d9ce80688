//! `spin:redis`: one TCP connection for each `open`, closed when the guest drops it.

mod address;
mod connection;
mod host;
mod reply;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use wasmtime::component::{HasData, Linker, ResourceTable};

use super::bindings::spin::redis::redis as wit;
use super::outbound::{Outbound, Slots};
use crate::runtime::GuestState;
pub use connection::Connection;

/// Ties the interface to the store's data.
pub struct Redis;

impl HasData for Redis {
    type Data<'a> = RedisView<'a>;
}

/// What the interface needs of the store's data.
pub struct RedisView<'a> {
    outbound: &'a Arc<Outbound>,
    table: &'a mut ResourceTable,
    slots: &'a Slots,
}

pub fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, Redis>(linker, |state| RedisView {
        outbound: &state.grants.outbound,
        table: &mut state.table,
        slots: &state.redis_slots,
    })
}
