//! The exports: the contract over this instance's engine.

use crate::bindings::exports::im::storage::{
    conversations, feed, messages, positions, push, types, upkeep, users,
};
use crate::instance::with_engine;

im_contract::conversions!();

struct Component;

im_contract::exports!(Component, with_engine);

/// The generated glue; it follows rules of its own.
#[allow(unsafe_code)]
mod glue {
    use super::Component;
    crate::bindings::export!(Component with_types_in crate::bindings);
}
