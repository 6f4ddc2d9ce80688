//! Proves that a store keeps the contract of `wit/`: one suite, written against the storage port,
//! run on every back end. Here the back ends are the engines on native ports; through components
//! and HTTP the black-box suite shows the same.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod conformance {
    pub mod append;
    pub mod backend;
    pub mod conversations;
    pub mod pages;
    pub mod positions;
    pub mod random;
    pub mod talk;
    pub mod upkeep;
}
