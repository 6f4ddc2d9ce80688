//! Proves that every route does what the contract says when used rightly, by calling each as a
//! client would and comparing fields, types and order. What is refused is in `refusals`.

mod around;
mod conversations;
mod delete;
mod devices;
mod digest;
mod edit;
mod global;
mod hide;
mod members;
mod pull;
mod pull_filters;
mod read;
mod recall;
mod send;
mod send_fields;
mod settings;
mod single;
mod sync;
mod upkeep;
mod versions;
