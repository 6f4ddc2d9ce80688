//! Generated from `wit/`, world `functions`.

// Generated code follows rules of its own.
#![allow(unsafe_code, unused_qualifications, clippy::all, clippy::restriction)]

spin_sdk::wit_bindgen::generate!({
    path: "../../wit",
    world: "functions",
    runtime_path: "::spin_sdk::wit_bindgen::rt",
    generate_all,
});

pub use self::im::storage::{conversations, feed, messages, positions, push, types, upkeep, users};
