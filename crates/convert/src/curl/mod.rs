//! `curl` commands as a shell takes them, for example from a browser's "Copy as cURL" or from documentation.

mod cmd;
mod flags;
mod translate;
mod words;

use flags::{Effect, Flag};
use words::Word;

use crate::ConvertError;
use crate::plan::Draft;
use crate::text::clean;

/// Commands of one text.
const COMMANDS_MAX: usize = crate::REQUESTS_MAX;

/// Whether the first command of a text is curl, prompts, comments and assignments aside.
pub(crate) fn looks_like(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    let mut words = lines.flat_map(str::split_whitespace).filter(|word| !is_prefix(word));
    words.next().is_some_and(is_curl)
}

fn is_curl(word: &str) -> bool {
    let program = word.rsplit(['/', '\\']).next().unwrap_or(word);
    matches!(program, "curl" | "curl.exe")
}

/// Adds a step for every URL of every command.
pub(crate) fn decode(text: &str, draft: &mut Draft) -> Result<(), ConvertError> {
    draft.name("Imported curl commands");
    let text = clean(text);
    let commands = words::commands(&cmd::posix(&text).unwrap_or(text)).map_err(ConvertError::Shell)?;
    if commands.len() > COMMANDS_MAX {
        return Err(ConvertError::TooMany);
    }
    let mut number = 0;
    for command in commands {
        let place = format!("line {}", command.line);
        let at = command.words.iter().position(|word| is_curl(&word.text));
        let Some(at) = at.filter(|at| command.words[..*at].iter().all(|word| is_prefix(&word.text))) else {
            draft.note(&place, format!("`{}` is not curl and left out", shown(&command.words)));
            continue;
        };
        for request in split(&command.words[at + 1..]) {
            number += 1;
            let place = format!("command {number} (line {})", command.line);
            translate::translate(&place, &read(request, &place, draft), draft)?;
        }
    }
    Ok(())
}

/// What may stand before `curl`: a prompt, `time`, `sudo`, assignments.
fn is_prefix(word: &str) -> bool {
    matches!(word, "$" | "time" | "sudo" | "exec" | "command")
        || word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
}

fn shown(words: &[Word]) -> String {
    let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    text.join(" ").chars().take(40).collect()
}

/// The operator that a word begins with, where a shell would read or write a file. No URL and no flag begins like that.
fn redirection(word: &str) -> Option<&'static str> {
    ["<<<", "<<-", "<<", "<", "2>>", "2>", "1>", ">>", ">"]
        .into_iter()
        .find(|operator| word.starts_with(operator))
}

/// `--next` begins another request.
fn split(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    words.split(|word| matches!(word.text.as_str(), "--next" | "-:"))
}

/// One request: its URLs, and flags with their values.
#[derive(Debug, Default)]
struct Command {
    urls: Vec<String>,
    flags: Vec<(Effect, String)>,
}

impl Command {
    /// The last value of a flag: later ones win.
    fn last(&self, effect: Effect) -> Option<&str> {
        self.flags.iter().rev().find(|(known, _)| *known == effect).map(|(_, value)| value.as_str())
    }

    fn has(&self, effect: Effect) -> bool {
        self.last(effect).is_some()
    }

    fn all(&self, effect: Effect) -> impl Iterator<Item = &str> {
        self.flags.iter().filter(move |(known, _)| *known == effect).map(|(_, value)| value.as_str())
    }
}

/// Sorts words into URLs and flags. Variables become holes here, because now it is known that they are needed.
fn read(words: &[Word], place: &str, draft: &mut Draft) -> Command {
    let mut command = Command::default();
    let mut ignored: Vec<String> = Vec::new();
    let mut rest = words.iter();
    let mut only_urls = false;
    while let Some(word) = rest.next() {
        let text = word.raw(place, draft);
        if let Some(operator) = redirection(&text) {
            draft.note(place, format!("the shell's redirection `{text}` is left out"));
            if text == operator {
                rest.next();
            }
            continue;
        }
        if only_urls || !text.starts_with('-') || text == "-" {
            command.urls.push(text);
            continue;
        }
        if text == "--" {
            only_urls = true;
            continue;
        }
        for Flag { name, effect, value } in flags::parse(&text) {
            let value = match value {
                flags::Value::None => String::new(),
                flags::Value::Attached(value) => value,
                flags::Value::Next => {
                    let Some(word) = rest.next() else {
                        draft.note(place, format!("`{name}` has no value"));
                        continue;
                    };
                    word.raw(place, draft)
                }
            };
            match effect {
                Effect::Output => ignored.push(name),
                Effect::Unsupported => draft.note(place, format!("`{name}` is not translated")),
                Effect::Unknown => draft.note(place, format!("`{name}` is not known and left out")),
                Effect::Url => command.urls.push(value),
                effect => command.flags.push((effect, value)),
            }
        }
    }
    if !ignored.is_empty() {
        draft.note(place, format!("flags about output mean nothing in a plan: {}", ignored.join(" ")));
    }
    command
}
