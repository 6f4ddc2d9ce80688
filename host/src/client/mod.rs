//! A client of the message store: what the commands that talk to a server are made of.

mod call;
mod fault;
mod identity;
pub mod limits;
mod random;
pub mod replay;
mod retry;
pub mod show;
mod text;
mod url;
pub mod wire;

pub use call::{Client, Effort};
pub use fault::{CallError, Refusal};
pub use identity::Identity;
pub use random::{chance, uuid};
pub use url::ServerUrl;
