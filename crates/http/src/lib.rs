//! What the functions share at their HTTP edge: routes, tokens, JSON bodies, problem documents, the
//! OpenAPI document. Everything but [`wasi`] is plain Rust and runs in native tests.

pub mod actor;
pub mod archive;
pub mod auth;
pub mod batch;
pub mod exchange;
pub mod json;
pub mod keys;
pub mod log;
pub mod openapi;
pub mod problem;
pub mod pull;
pub mod push;
pub mod router;
pub mod routes;
pub mod send;
pub mod sync;
#[cfg(target_arch = "wasm32")]
pub mod wasi;

pub use archive::ArchiveApi;
pub use exchange::{Head, Request, Response};
pub use keys::Keys;
pub use problem::{Code, Problem};
pub use pull::PullApi;
pub use router::{Api, handle};
pub use send::SendApi;
pub use sync::SyncApi;
