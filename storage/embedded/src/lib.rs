//! The embedded storage component: `im:storage` over Spin's SQLite alone.

#![cfg(target_arch = "wasm32")]

mod bindings;
mod exports;
mod instance;
mod sqlite;
