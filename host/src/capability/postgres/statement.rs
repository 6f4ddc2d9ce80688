//! What the text of a statement says about the session after it.

/// Whether a statement opens a transaction that is not over with it. One call runs one statement,
/// and only these two open one: procedures and `DO` cannot leave theirs open.
pub fn begins_transaction(statement: &str) -> bool {
    let word = first_word(statement);
    ["BEGIN", "START"].iter().any(|begin| begin.eq_ignore_ascii_case(word))
}

/// The first word, after blanks, comments and empty statements.
fn first_word(statement: &str) -> &str {
    let mut rest = statement;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once(['\n', '\r']).map_or("", |(_, after)| after);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = after_comment(comment);
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            return rest.get(..end).unwrap_or_default();
        }
    }
}

/// What follows a comment that has been opened. In PostgreSQL comments nest.
fn after_comment(mut rest: &str) -> &str {
    let mut depth = 1_u32;
    while depth > 0 {
        let (Some(close), open) = (rest.find("*/"), rest.find("/*")) else {
            return "";
        };
        let (at, opens) = match open {
            Some(open) if open < close => (open, true),
            _ => (close, false),
        };
        depth = if opens { depth.saturating_add(1) } else { depth - 1 };
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_however_it_is_written() {
        for text in [
            "BEGIN",
            "begin;",
            "Start Transaction ISOLATION LEVEL SERIALIZABLE",
            " \n\t; ;BEGIN",
            "-- a\r\n-- b\nBEGIN",
            "--\rBEGIN",
            "/**/BEGIN",
            "/* /* BEGIN */ -- */ /***/ BEGIN",
            "/*/*/**/*/*/BEGIN",
        ] {
            assert!(begins_transaction(text), "{text:?}");
        }
    }

    #[test]
    fn other_statements() {
        for text in [
            "",
            "SELECT 1",
            "COMMIT",
            "-- BEGIN",
            "/* BEGIN",
            "/* /* */ BEGIN",
            "BEGINNING",
            "WITH x AS (SELECT 1) SELECT 'BEGIN'",
        ] {
            assert!(!begins_transaction(text), "{text:?}");
        }
    }
}
