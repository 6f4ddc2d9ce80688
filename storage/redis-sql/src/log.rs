//! What operators are told on stderr; clients are told no more than that a store is away.

use std::cell::RefCell;
use std::fmt::Display;
use std::io::Write;
use std::time::{Duration, Instant};

/// How long the same about the same server is not told again: every request meets a server that is
/// away.
const QUIET: Duration = Duration::from_secs(10);

struct Told {
    line: String,
    at: Instant,
}

thread_local! {
    static TOLD: RefCell<Vec<Told>> = const { RefCell::new(Vec::new()) };
}

pub fn error(server: &str, why: impl Display) {
    let line = format!("{server}: {why}");
    if TOLD.with_borrow_mut(|told| is_news(told, &line)) {
        let _written = writeln!(std::io::stderr(), "error: {line}");
    }
}

/// Whether a line has not been told for a while; it is taken for told then.
fn is_news(told: &mut Vec<Told>, line: &str) -> bool {
    told.retain(|told| told.at.elapsed() < QUIET);
    let news = told.iter().all(|told| told.line != line);
    if news {
        told.push(Told { line: line.to_owned(), at: Instant::now() });
    }
    news
}
