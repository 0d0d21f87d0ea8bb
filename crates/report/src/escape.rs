//! Texts from outside made harmless for the format they are written into. Nothing reaches a report without one of these.

use std::fmt::Write as _;

/// For XML and HTML, as text and inside of double-quoted attributes. What XML cannot say at all becomes U+FFFD.
pub(crate) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // An attribute would lose them otherwise.
            '\t' | '\n' | '\r' => drop(write!(out, "&#{};", c as u32)),
            c if is_xml(c) => out.push(c),
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    out
}

/// The production `Char` of XML 1.0, without control characters of the second block.
fn is_xml(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// For a cell of a Markdown table or running text: no markup, no line end, nobody mentioned.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// JSON inside of a `script` element: no tag can begin or end in it.
pub(crate) fn script(json: &str) -> String {
    // Inside of JSON these stand only in strings, where they may be written as escapes.
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_cannot_begin_in_a_text() {
        assert_eq!(markup("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
        assert_eq!(markup("a\nb\u{1b}[2J\u{0}"), "a&#10;b\u{fffd}[2J\u{fffd}");
        assert_eq!(markup("Füße 🚀"), "Füße 🚀");
    }

    #[test]
    fn markdown_stays_in_its_cell() {
        assert_eq!(markdown("a|b\n*c* <x> @you"), "a\\|b \\*c\\* &lt;x&gt; &#64;you");
    }

    #[test]
    fn scripts_cannot_be_left() {
        let text = script(r#"{"a":"</script><!-- &"}"#);
        assert!(!text.contains(['<', '>', '&']));
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["a"], "</script><!-- &");
    }
}
