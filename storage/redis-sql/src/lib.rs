//! The tiered storage component: `im:storage` over Redis and PostgreSQL.

#![cfg(target_arch = "wasm32")]

mod bindings;
mod exports;
mod instance;
mod kept;
mod log;
mod postgres;
mod redis;
mod time;
mod variables;
