//! `spin:postgres`: sessions from a pool for each component and address.
//!
//! As in Spin a session is the guest's until it drops it, and goes back into the pool then. Unlike
//! there, one that may be in the middle of something never does: see [`session`].

#![allow(clippy::result_large_err, reason = "what the server said is told whole, as the interface has it")]

mod address;
mod error;
mod host;
mod pool;
mod session;
mod statement;
mod values;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use wasmtime::component::{HasData, Linker, ResourceTable};

use super::bindings::spin::postgres::postgres as wit;
use super::outbound::{Outbound, Slots};
use crate::runtime::GuestState;
pub use pool::Pools;
pub use session::Connection;

/// Ties the interface to the store's data.
pub struct Postgres;

impl HasData for Postgres {
    type Data<'a> = PostgresView<'a>;
}

/// What the interface needs of the store's data.
pub struct PostgresView<'a> {
    outbound: &'a Arc<Outbound>,
    pools: &'a Arc<Pools>,
    table: &'a mut ResourceTable,
    slots: &'a Slots,
}

pub fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, Postgres>(linker, |state| PostgresView {
        outbound: &state.grants.outbound,
        pools: &state.grants.postgres,
        table: &mut state.table,
        slots: &state.postgres_slots,
    })
}
