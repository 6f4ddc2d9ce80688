//! Running components: the engine, their instances, and the requests they work on.

mod component;
mod engine;
mod expiration;
mod lane;
mod load;
mod state;
mod worker;

pub use component::{CallError, RunningComponent};
pub use engine::new_engine;
pub use load::load_all;
pub use state::GuestState;
pub use worker::stopping;

/// The body of a request on its way to a guest, and of an answer on its way back.
pub type Body = wasmtime_wasi_http::WasiBody;
