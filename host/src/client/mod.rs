//! A client of the message store: what the commands that talk to a server are made of.

mod fault;
mod http;
mod identity;
pub mod limits;
mod random;
pub mod replay;
mod retry;
pub mod show;
mod text;
mod url;
pub mod wire;

pub use fault::CallError;
pub use http::{Client, Effort};
pub use identity::Identity;
pub use random::uuid;
pub use url::ServerUrl;
