//! What the black-box tests share: a server to test, tokens for it, an HTTP client that checks on
//! every answer what the contract promises of all of them, and walks over pages.
//!
//! With `IM_URL` set the suite tests the server found there and starts none; without it, it starts
//! one `im up` on a free port and a scratch folder ([`server`]).

pub mod client;
pub mod command;
pub mod document;
pub mod keys;
pub mod manifest;
pub mod process;
pub mod raw;
pub mod routes;
pub mod samples;
pub mod scratch;
pub mod seed;
pub mod server;
pub mod shape;
pub mod stalled;
pub mod talk;
pub mod tenant;
pub mod token;
pub mod walk;
