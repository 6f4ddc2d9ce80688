//! Proves that what goes into a segment comes out of it, and that bytes which are not those that were
//! written are told: random messages of every shape, both chat samples whole, bits turned and ends cut
//! off, bytes that were made to deceive, and a file that the first version wrote.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod segment {
    pub mod damage;
    pub mod golden;
    pub mod limits;
    pub mod random;
    pub mod range;
    pub mod round_trip;
    pub mod sample;
    pub mod samples;
}
