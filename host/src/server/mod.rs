//! The HTTP edge: from a connection to a component and back.

mod access_log;
mod body;
mod listen;
mod problem;
mod request;
mod room;
mod router;
mod service;

pub use access_log::AccessLog;
pub use listen::{bind, serve};
pub use router::Router;
pub use service::Service;
