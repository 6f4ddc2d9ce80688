//! The store as the functions see it: the imports of `wit/` behind the domain's storage port.
//! Empty outside components, where there is nothing to import from.

#[cfg(target_arch = "wasm32")]
mod bindings;
#[cfg(target_arch = "wasm32")]
mod storage;

#[cfg(target_arch = "wasm32")]
pub use storage::WitStorage;
