//! The log: one line on standard error per event, never with content or tokens.

use std::io::Write;

/// Writes one line. A log that cannot be written must not fail a request.
pub fn error(text: &str) {
    let line = format!("error: {}\n", text.replace(['\n', '\r'], " "));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
