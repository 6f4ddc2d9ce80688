//! What components may use beside WASI, one module for each capability.
//!
//! Every capability has a state per instance, made from what the manifest allows the component.

mod bindings;
pub mod outbound;
pub mod postgres;
pub mod redis;
pub mod sqlite;
pub mod variables;

use std::sync::Arc;

use wasmtime::component::Linker;

use crate::runtime::GuestState;

/// What one component may use; shared by all its instances.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    pub variables: Arc<variables::Values>,
    pub sqlite: Arc<sqlite::Databases>,
    pub outbound: Arc<outbound::Outbound>,
    pub postgres: Arc<postgres::Pools>,
}

/// Offers every capability to components; their grants decide what they get through it.
pub fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    variables::add_to_linker(linker)?;
    sqlite::add_to_linker(linker)?;
    redis::add_to_linker(linker)?;
    postgres::add_to_linker(linker)
}
