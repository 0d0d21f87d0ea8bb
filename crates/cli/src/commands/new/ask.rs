//! Questions on a terminal, one line each; an empty answer takes the default in brackets.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use super::URL;
use super::templates::{DEFAULT, TEMPLATES, Template, base, find};

/// Questions asked again before giving up.
const TRIES_MAX: usize = 3;

/// What is known without asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) template: Option<String>,
    pub(super) url: Option<String>,
    pub(super) file: Option<PathBuf>,
}

/// Asks for everything that is not given.
pub(super) fn missing(given: Given, from: &mut impl BufRead, to: &mut impl Write) -> io::Result<Given> {
    let template = match given.template {
        Some(name) => name,
        None => template(from, to)?,
    };
    let url = match given.url {
        Some(url) => url,
        None => url(from, to)?,
    };
    let file = match given.file {
        Some(file) => file,
        None => question("Where does the plan go?", "plan.yaml", from, to)?.into(),
    };
    Ok(Given { template: Some(template), url: Some(url), file: Some(file) })
}

fn template(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<String> {
    writeln!(to, "What kind of test?")?;
    for (at, Template { name, about, .. }) in TEMPLATES.iter().enumerate() {
        writeln!(to, "  {}  {name:<8} {about}", at + 1)?;
    }
    for _ in 0..TRIES_MAX {
        let answer = question("Number or name", DEFAULT, from, to)?;
        let by_number = answer.parse::<usize>().ok().and_then(|n| TEMPLATES.get(n.checked_sub(1)?));
        if let Some(template) = by_number.or_else(|| find(&answer).ok()) {
            return Ok(template.name.to_owned());
        }
        writeln!(to, "There is no template `{answer}`.")?;
    }
    Err(io::Error::other("no template of the list was chosen"))
}

/// Asked again while nothing can be tested there: the answers before it are not lost.
fn url(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<String> {
    for _ in 0..TRIES_MAX {
        let answer = question("What is tested?", URL, from, to)?;
        match base(&answer) {
            Ok(base) => return Ok(base),
            Err(wrong) => writeln!(to, "{wrong}: {}", wrong.why())?,
        }
    }
    Err(io::Error::other("nothing that can be tested was named"))
}

fn question(text: &str, default: &str, from: &mut impl BufRead, to: &mut impl Write) -> io::Result<String> {
    write!(to, "{text} [{default}]: ")?;
    to.flush()?;
    let mut answer = String::new();
    if from.read_line(&mut answer)? == 0 {
        writeln!(to)?;
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let answer = answer.trim();
    Ok(if answer.is_empty() { default } else { answer }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(given: Given, answers: &str) -> (io::Result<Given>, String) {
        let mut shown = Vec::new();
        let answered = missing(given, &mut answers.as_bytes(), &mut shown);
        (answered, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn only_what_is_missing_is_asked_for() {
        let given = Given { template: Some("load".into()), url: None, file: Some("p.toml".into()) };
        let (answered, shown) = ask(given, "https://example.com\n");
        let answered = answered.unwrap();
        assert_eq!(answered.url.as_deref(), Some("https://example.com"));
        assert_eq!(shown, format!("What is tested? [{URL}]: "));
    }

    #[test]
    fn empty_answers_take_the_default() {
        let answered = ask(Given::default(), "\n\n\n").0.unwrap();
        assert_eq!(answered.template.as_deref(), Some(DEFAULT));
        assert_eq!(answered.file, Some("plan.yaml".into()));
    }

    #[test]
    fn templates_are_chosen_by_number_or_name() {
        assert_eq!(ask(Given::default(), "2\n\n\n").0.unwrap().template.as_deref(), Some(TEMPLATES[1].name));
        let (answered, shown) = ask(Given::default(), "0\nnonsense\nsoak\n\n\n");
        assert_eq!(answered.unwrap().template.as_deref(), Some("soak"));
        assert!(shown.contains("There is no template `nonsense`."), "{shown}");
        assert!(ask(Given::default(), "x\ny\nz\n").0.is_err(), "not for ever");
    }

    #[test]
    fn a_wrong_url_is_asked_for_again_before_the_file() {
        let (answered, shown) = ask(Given::default(), "load\nftp://h\nlocalhost:8080\nmine.yaml\n");
        let answered = answered.unwrap();
        assert_eq!(answered.url.as_deref(), Some("http://localhost:8080"));
        assert_eq!((answered.template.as_deref(), answered.file), (Some("load"), Some("mine.yaml".into())));
        assert!(shown.contains("`ftp://h` cannot be tested: "), "{shown}");
        assert!(ask(Given::default(), "\nftp://a\nftp://b\nftp://c\n").0.is_err(), "not for ever");
    }

    #[test]
    fn silence_is_an_error() {
        assert_eq!(ask(Given::default(), "").0.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
