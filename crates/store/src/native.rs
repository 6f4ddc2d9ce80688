//! The ports over native client libraries, for tests and programs.

mod postgres;
mod redis;
mod sqlite;

pub use postgres::NativePostgres;
pub use redis::NativeRedis;
pub use sqlite::NativeSqlite;
