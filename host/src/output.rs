//! What a person reads: plain lines on stdout (results) and stderr (everything else).

use std::io::Write;

/// One line on stdout. A reader that has gone away is no error of ours.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// One line on stderr, for progress and warnings.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// One line that says what went wrong, or what the host does about it. The text of an error may span
/// lines; here it must not.
pub fn error_line(text: &str) {
    let flat: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    note(&format!("im: {}", flat.join(" ")));
}
