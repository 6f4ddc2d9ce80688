//! Tokens of the store, and the keys that sign them.

mod jwk;
mod key_file;
mod mint;

pub use jwk::{KeyError, SigningKey};
pub use key_file::load_or_create;
pub use mint::{Grant, Scope, mint};
