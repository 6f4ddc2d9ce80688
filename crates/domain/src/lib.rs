//! The message store's domain, pure: it knows neither HTTP, nor WIT, nor SQL, nor a clock.
//! Time and randomness are handed in.

pub mod clock;
pub mod conversation;
pub mod device;
pub mod erase;
pub mod error;
pub mod export;
pub mod ext;
pub mod feed;
pub mod global;
pub mod hide;
pub mod limits;
pub mod message;
pub mod msg_id;
pub mod name;
pub mod page;
pub mod pair;
pub mod partition;
pub mod per_tenant;
pub mod plan;
pub mod push;
pub mod retention;
pub mod revision;
pub mod storage;
pub mod tier;
pub mod upkeep;

pub use error::{Error, Result};
pub use msg_id::MsgId;
pub use name::{ClientMsgId, ConversationId, DeviceId, Tenant, UserId};
