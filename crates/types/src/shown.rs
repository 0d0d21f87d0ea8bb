//! Texts from outside where people read them.

/// The character as it may stand in a line that people read: control characters, ends of lines and characters that turn
/// the direction of writing become a space. The last ones could make a line look like another one.
pub fn shown(c: char) -> char {
    match c {
        '\u{2028}' | '\u{2029}' => ' ',
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        c if c.is_control() => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_turns_the_text_becomes_a_space() {
        let line: String =
            "a\u{1b}[2J\r\nb\u{202e}txt.exe\u{2066}\u{200f}\u{2029}é 🚀".chars().map(shown).collect();
        assert_eq!(line, "a [2J  b txt.exe   é 🚀");
    }
}
