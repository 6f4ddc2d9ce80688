//! Which storage the app runs on: `IM_PROFILE` names a profile of `spin.toml`, `redis` for Redis and
//! PostgreSQL; absent: the embedded one. With `IM_URL` it says what the server found there runs on.

use std::env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Embedded,
    Redis,
}

impl Profile {
    pub fn current() -> Self {
        match env::var("IM_PROFILE").as_deref() {
            Err(_) | Ok("") => Self::Embedded,
            Ok("redis") => Self::Redis,
            Ok(other) => panic!("IM_PROFILE={other}: there is `redis`, and without it the embedded storage"),
        }
    }

    /// Whether this is the storage; says so where it is not.
    pub fn is_current(self, why: &str) -> bool {
        let current = Self::current();
        if current != self {
            println!("skipped: the storage is {current:?}, and this test {why}");
        }
        current == self
    }
}
