//! "Copy as cURL (cmd)": browsers on Windows escape everything with circumflexes. Here it becomes what a shell takes.

/// The text for a shell, if it is one for the Windows command prompt.
pub(super) fn posix(text: &str) -> Option<String> {
    if !text.contains("^\"") {
        return None;
    }
    let text = text.replace("\r\n", "\n");
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let c = match c {
            '^' => match chars.next() {
                // The end of a line is escaped, and what comes after it with it: another end of a line is meant.
                Some('\n') => match chars.next_if_eq(&'\n') {
                    Some(end) => end,
                    None => continue,
                },
                Some(escaped) => escaped,
                None => break,
            },
            c => c,
        };
        // They mean something to a shell, and nothing here.
        if matches!(c, '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::posix;

    #[test]
    fn circumflexes_are_taken_away() {
        let text = "curl ^\"http://h/?a=1^&b=^%^20^\" ^\r\n  -H ^\"x: ^{^\\^\"a^\\^\"^}^\"";
        assert_eq!(posix(text).unwrap(), "curl \"http://h/?a=1&b=%20\"   -H \"x: {\\\"a\\\"}\"");
        assert_eq!(
            posix("curl ^\"http://h^\" -d ^\"a^\n\nb ^$x^\"").unwrap(),
            "curl \"http://h\" -d \"a\nb \\$x\""
        );
    }

    #[test]
    fn other_texts_are_left_alone() {
        assert_eq!(posix("curl http://h/ -H 'x: ^'"), None);
    }
}
