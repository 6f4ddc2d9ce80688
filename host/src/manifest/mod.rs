//! `spin.toml`, version 2: the subset of Spin's manifest that this host runs.
//!
//! Whatever is not understood is refused by name: an app that starts here means the same under Spin.

mod app;
mod dependency;
mod duration;
pub mod outbound;
mod raw;
mod read;
mod route;
mod schedule;
mod template;

pub use app::{App, Component};
pub use dependency::{Capability, Dependency};
pub use read::{ManifestError, load};
pub use route::{Route, RouteKind};
pub use schedule::ScheduleLine;

#[cfg(test)]
mod tests;
