//! Text from elsewhere, made fit for a terminal: what others wrote must not move the cursor, change
//! colours or fake lines.

/// What stands for a character that is not shown.
const STAND_IN: char = '\u{fffd}';
/// What a line that goes on begins with.
const CONTINUED: &str = "    ";

/// Text over several lines; tabs stay, and all lines but the first are set in.
pub fn set_in(text: &str) -> String {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => {
                shown.push('\n');
                shown.push_str(CONTINUED);
            }
            '\t' => shown.push('\t'),
            other => shown.push(visible(other)),
        }
    }
    shown
}

/// Text on one line, cut to `chars_max` characters.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut shown: String = text
        .trim()
        .chars()
        .take(chars_max)
        .map(|character| if character.is_whitespace() { ' ' } else { visible(character) })
        .collect();
    if text.trim().chars().nth(chars_max).is_some() {
        shown.push('…');
    }
    shown
}

/// Control characters, and those that turn the direction of the text round, are not shown.
fn visible(character: char) -> char {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if character.is_control() || turns { STAND_IN } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_set_in_and_controls_are_not_shown() {
        assert_eq!(set_in("a\n\tb\r\x1b[2J\u{9b}é😀\n"), "a\n    \tb\u{fffd}\u{fffd}[2J\u{fffd}é😀");
        assert_eq!(set_in("\u{202e}cba"), "\u{fffd}cba");
        assert_eq!(set_in(""), "");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line(" a\r\nb ", 10), "a  b");
        assert_eq!(one_line("äöü", 2), "äö…");
        assert_eq!(one_line("äöü", 3), "äöü");
    }
}
