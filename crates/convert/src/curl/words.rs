//! A shell's words: quotes, escapes, continued lines, comments, and where one command ends and the next begins.

use std::iter::Peekable;
use std::str::Chars;

use crate::plan::Draft;
use crate::text::hole;

/// A word, in which variables are still marked by [`VAR`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
}

/// Words up to the end of a command, and the line it begins in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) words: Vec<Word>,
    pub(super) line: usize,
}

/// Stand around the name of a variable. Control characters: a shell's text has none of them.
const VAR: char = '\u{1}';
const VAR_END: char = '\u{2}';
/// Stands before a command whose output would stand there.
const COMMAND: char = '\u{3}';

impl Word {
    /// The text with variables of the plan in the place of those of the shell.
    pub(super) fn raw(&self, place: &str, draft: &mut Draft) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut parts = self.text.split(VAR);
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (name, rest) = part.split_once(VAR_END).unwrap_or(("", part));
            let var = match name.strip_prefix(COMMAND) {
                Some(command) => draft.shell_command(place, command),
                None => draft.shell_var(place, name),
            };
            out.push_str(&hole(&var));
            out.push_str(rest);
        }
        out
    }
}

impl Draft {
    /// The variable of the plan that stands for one of the shell.
    fn shell_var(&mut self, place: &str, name: &str) -> String {
        let is_new = !self.has_shared(name);
        let var = self.shared_var(name, format!("${{env:{name}}}").into());
        if is_new {
            self.note(
                place,
                format!("the shell's ${name} is the variable `{var}`, read from the environment"),
            );
        }
        var
    }

    /// The variable of the plan that stands for what a command would print.
    fn shell_command(&mut self, place: &str, command: &str) -> String {
        let is_new = !self.has_shared(command);
        let (var, variable) = self.command_var(command);
        if is_new {
            self.note(
                place,
                format!("the shell would run `{command}`: set {variable}, or give --var {var}=…"),
            );
        }
        var
    }
}

/// Cuts a text into commands.
pub(super) fn commands(text: &str) -> Result<Vec<Line>, String> {
    let text = without_documents(&text.replace("\r\n", "\n").replace([VAR, VAR_END, COMMAND], ""));
    Lexer { chars: text.chars().peekable(), line: 1, lines: Vec::new(), current: Line::default(), word: None }
        .run()
}

/// The text without the lines of here-documents (`<<EOF … EOF`), which are no commands. Lines keep their numbers.
fn without_documents(text: &str) -> String {
    let mut end: Option<String> = None;
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        match &end {
            Some(word) if line.trim() == word => end = None,
            Some(_) => {}
            None => {
                let after = line.split_once("<<").map(|(_, after)| after.trim_start_matches(['-', ' ']));
                let word = after.map(|after| after.split_whitespace().next().unwrap_or_default());
                let word = word.map(|word| word.trim_matches(['\'', '"']).to_owned());
                end = word.filter(|word| {
                    !word.is_empty() && !word.starts_with('<') && text.contains(&format!("\n{word}"))
                });
                out.push_str(line);
            }
        }
        out.push('\n');
    }
    out
}

struct Lexer<'t> {
    chars: Peekable<Chars<'t>>,
    line: usize,
    lines: Vec<Line>,
    current: Line,
    /// `None` between words; an empty word is a word.
    word: Option<String>,
}

impl Lexer<'_> {
    fn run(mut self) -> Result<Vec<Line>, String> {
        while let Some(c) = self.next() {
            match c {
                '\n' | ';' | '&' | '|' => self.end_command(),
                ' ' | '\t' => self.end_word(),
                '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
                // The end of a line may be escaped; Windows does it with a circumflex.
                '\\' | '^' if self.chars.peek() == Some(&'\n') => drop(self.next()),
                '\\' => {
                    let escaped = self.next().unwrap_or('\\');
                    self.push(escaped);
                }
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' if self.chars.peek() == Some(&'\'') => self.ansi()?,
                '$' if self.chars.peek() == Some(&'(') => self.substitution()?,
                '`' => self.backticks()?,
                '$' => self.variable(),
                c => self.push(c),
            }
        }
        self.end_command();
        Ok(self.lines)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn push(&mut self, c: char) {
        if self.word.is_none() && self.current.words.is_empty() {
            self.current.line = self.line;
        }
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.current.words.extend(self.word.take().map(|text| Word { text }));
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.current.words.is_empty() {
            self.lines.push(std::mem::take(&mut self.current));
        }
    }

    fn unclosed(line: usize, what: &str) -> String {
        format!("{what} that begins in line {line} is never closed")
    }

    fn single(&mut self) -> Result<(), String> {
        let line = self.line;
        self.word.get_or_insert_default();
        loop {
            match self.next().ok_or_else(|| Self::unclosed(line, "a single quote"))? {
                '\'' => return Ok(()),
                c => self.push(c),
            }
        }
    }

    fn double(&mut self) -> Result<(), String> {
        let line = self.line;
        self.word.get_or_insert_default();
        loop {
            match self.next().ok_or_else(|| Self::unclosed(line, "a double quote"))? {
                '"' => return Ok(()),
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                    None => return Err(Self::unclosed(line, "a double quote")),
                },
                '$' if self.chars.peek() == Some(&'(') => self.substitution()?,
                '`' => self.backticks()?,
                '$' => self.variable(),
                c => self.push(c),
            }
        }
    }

    /// `$(command)`.
    fn substitution(&mut self) -> Result<(), String> {
        let line = self.line;
        let (mut depth, mut command) = (0, String::new());
        loop {
            let c = self.next().ok_or_else(|| Self::unclosed(line, "`$(`"))?;
            depth += i32::from(c == '(') - i32::from(c == ')');
            if depth == 0 {
                self.command(&command[1..]);
                return Ok(());
            }
            command.push(c);
        }
    }

    /// The same as people wrote it before.
    fn backticks(&mut self) -> Result<(), String> {
        let line = self.line;
        let mut command = String::new();
        loop {
            match self.next().ok_or_else(|| Self::unclosed(line, "a backtick"))? {
                '`' => break,
                c => command.push(c),
            }
        }
        self.command(&command);
        Ok(())
    }

    fn command(&mut self, command: &str) {
        let command: String = command.trim().chars().take(200).collect();
        [VAR, COMMAND].into_iter().chain(command.chars()).chain([VAR_END]).for_each(|c| self.push(c));
    }

    /// `$'…'`, which browsers write for anything beyond ASCII.
    fn ansi(&mut self) -> Result<(), String> {
        let line = self.line;
        self.next();
        self.word.get_or_insert_default();
        loop {
            let c = match self.next().ok_or_else(|| Self::unclosed(line, "a quote"))? {
                '\'' => return Ok(()),
                '\\' => match self.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('r') => '\r',
                    Some('x') => self.code(2),
                    Some('u') => self.code(4),
                    Some('U') => self.code(8),
                    Some(c) => c,
                    None => return Err(Self::unclosed(line, "a quote")),
                },
                c => c,
            };
            self.push(c);
        }
    }

    fn code(&mut self, digits_max: usize) -> char {
        let mut code = 0;
        for _ in 0..digits_max {
            let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(16)) else { break };
            code = code * 16 + digit;
            self.next();
        }
        char::from_u32(code).filter(|c| !matches!(*c, '\0' | VAR | VAR_END)).unwrap_or('\u{fffd}')
    }

    /// `$NAME` or `${NAME}`; any other `$` is a character.
    fn variable(&mut self) {
        let braced = self.chars.peek() == Some(&'{');
        let rest: String = self.chars.clone().skip(usize::from(braced)).take(200).collect();
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let closes = !braced || rest[name.len()..].starts_with('}');
        if !is_name || !closes {
            self.push('$');
            return;
        }
        for _ in 0..name.len() + 2 * usize::from(braced) {
            self.next();
        }
        self.push(VAR);
        name.chars().for_each(|c| self.push(c));
        self.push(VAR_END);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let lines = commands(text).unwrap();
        lines.into_iter().map(|line| line.words.into_iter().map(|word| word.text).collect()).collect()
    }

    #[test]
    fn quotes_and_escapes_are_those_of_a_shell() {
        assert_eq!(
            words(r#"curl 'a b' "c \"d\" \n" e\ f $'g\'\u00e9\n' '' x'y'"z""#),
            [["curl", "a b", "c \"d\" \\n", "e f", "g'é\n", "", "xyz"]]
        );
    }

    #[test]
    fn lines_can_be_continued_and_commands_end() {
        let text = "curl a \\\n  b # not c\n\n# nor this\ncurl d; curl e && curl f | jq .\n";
        let lines = commands(text).unwrap();
        assert_eq!(lines.iter().map(|line| line.line).collect::<Vec<_>>(), [1, 5, 5, 5, 5]);
        assert_eq!(
            words(text),
            [
                vec!["curl", "a", "b"],
                vec!["curl", "d"],
                vec!["curl", "e"],
                vec!["curl", "f"],
                vec!["jq", "."]
            ]
        );
        assert_eq!(words("curl a ^\r\n b"), [["curl", "a", "b"]]);
    }

    #[test]
    fn variables_are_marked_outside_of_single_quotes() {
        assert_eq!(
            words("curl $A \"x${B_1}y\" '$C' $1 \\$D"),
            [["curl", "\u{1}A\u{2}", "x\u{1}B_1\u{2}y", "$C", "$1", "$D"]]
        );
    }

    #[test]
    fn commands_inside_of_words_are_marked() {
        let marked = "\u{1}\u{3}cat (a)\u{2}";
        assert_eq!(
            words("curl $(cat (a)) \"x$(cat (a))\" `cat (a)` '$(b)'"),
            [["curl", marked, &format!("x{marked}"), marked, "$(b)"]]
        );
        assert!(commands("curl $(cat").is_err() && commands("curl `cat").is_err());
    }

    #[test]
    fn here_documents_are_no_commands() {
        let text = "curl http://h/ -d @- <<'EOF'\n{ \"it's\": 1 }\nEOF\ncurl http://i/";
        let lines = commands(text).unwrap();
        assert_eq!(lines.iter().map(|line| line.line).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(words("curl <<EOF")[0], ["curl", "<<EOF"]);
    }

    #[test]
    fn quotes_that_never_close_say_where_they_begin() {
        assert_eq!(
            commands("curl\n 'abc").unwrap_err(),
            "a single quote that begins in line 2 is never closed"
        );
        assert!(commands("curl \"abc\\").is_err());
        assert!(commands("curl $'abc").is_err());
    }
}
