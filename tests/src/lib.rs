//! What the black-box tests share: a server to test, tokens for it, an HTTP client that checks on
//! every answer what the contract promises of all of them, and walks over pages.
//!
//! With `IM_URL` set the suite tests the server found there and starts none; without it, it starts
//! one `im up` on a free port and a scratch folder ([`server`]), on the storage that `IM_PROFILE`
//! names ([`profile`]); the servers a storage needs are started as well.

pub mod client;
pub mod command;
pub mod document;
pub mod feed;
pub mod follow;
pub mod keys;
pub mod manifest;
pub mod model;
pub mod ports;
pub mod postgres_server;
pub mod process;
pub mod profile;
pub mod proxy;
pub mod push;
pub mod raw;
pub mod recall;
pub mod redis_server;
pub mod routes;
pub mod samples;
pub mod scratch;
pub mod seed;
pub mod server;
pub mod shape;
pub mod sql;
pub mod stalled;
pub mod talk;
pub mod tenant;
pub mod token;
pub mod walk;
