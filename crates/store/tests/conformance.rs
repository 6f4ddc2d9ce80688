//! Proves that a store keeps the contract of `wit/`: one suite, written against the storage port,
//! run on every back end. Here the back ends are the engines on native ports: the embedded one, and
//! the tiered one on a Redis and a PostgreSQL that the tests start for themselves (see
//! `conformance/tiered.rs` for its modes). Through components and HTTP the black-box suite shows the
//! same.

// The engine's futures are deep when several are polled at once.
#![recursion_limit = "256"]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod conformance {
    pub mod adopted;
    pub mod append;
    pub mod asking;
    pub mod backend;
    pub mod bounded;
    pub mod conversations;
    pub mod dead;
    pub mod devices;
    pub mod devices_model;
    pub mod embedded;
    pub mod erase;
    pub mod erase_cold;
    pub mod erase_held;
    pub mod erase_secrets;
    pub mod erase_traces;
    pub mod export;
    pub mod export_hidden;
    pub mod feed;
    pub mod feed_cold;
    pub mod feed_expired;
    pub mod feed_index;
    pub mod feed_late;
    pub mod feed_random;
    pub mod forgotten;
    pub mod global;
    pub mod hidden;
    pub mod hidden_tiered;
    pub mod killed;
    pub mod lost;
    pub mod mortal;
    pub mod move_parts;
    pub mod moved;
    pub mod packed;
    pub mod pages;
    pub mod positions;
    pub mod purged;
    pub mod push;
    pub mod push_leases;
    pub mod random;
    pub mod read_far;
    pub mod read_positions;
    pub mod rebalanced;
    pub mod recall;
    pub mod retention;
    pub mod revise;
    pub mod settings;
    pub mod settled;
    pub mod site;
    pub mod talk;
    pub mod tier;
    pub mod tier_tiered;
    pub mod tiered;
    pub mod untold;
    pub mod upkeep;
    pub mod versions;
    pub mod watched;
    pub mod wide;
    pub mod woken;
    pub mod woken_own;
}

mod servers;
