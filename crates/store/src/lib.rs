//! The storage engines. They know the domain and the small ports below them, and neither HTTP, nor
//! WIT, nor the platform: components and native programs bring the ports.

mod audit;
mod cold;
mod digest;
pub mod embedded;
mod erase;
mod expiry;
mod export;
mod feed;
mod message_row;
#[cfg(feature = "native")]
pub mod native;
pub mod postgres;
pub mod redis;
pub mod sql;
pub mod sqlite;
pub mod tiered;
mod version_row;
