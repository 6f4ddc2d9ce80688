//! Generated from `wit/`, world `storage`.

// Generated code follows rules of its own.
#![allow(unsafe_code, unused_qualifications, clippy::all, clippy::restriction)]

spin_sdk::wit_bindgen::generate!({
    path: "../../wit",
    world: "storage",
    runtime_path: "::spin_sdk::wit_bindgen::rt",
    pub_export_macro: true,
    default_bindings_module: "crate::bindings",
    generate_all,
});
