//! Why a run stopped, in one line.

use std::error::Error;

pub struct Failure(pub String);

pub type Outcome<T = ()> = Result<T, Failure>;

/// With its causes: some libraries say nothing but "db error" themselves.
impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(deeper) = cause {
            text = format!("{text}: {deeper}");
            cause = deeper.source();
        }
        Self(text)
    }
}

pub fn fail<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Failure(reason.into()))
}

/// Says what was being done.
pub trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: Into<Failure>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| Failure(format!("{}: {}", what(), error.into().0)))
    }
}
