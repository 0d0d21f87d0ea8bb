//! Reading plans: files, stdin and URLs become a validated plan. The only place that hands files and variables of this
//! machine to the plan reader.

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use hyperscale_api::method::Submit;
use hyperscale_plan::{Environment, Loaded, Problem, Source, load};
use hyperscale_types::limits::PLAN_BYTES_MAX;

use crate::cluster::submission::Noting;
use crate::errors::CommandError;

/// What stands for stdin where something is read, and for stdout where something is written.
pub(crate) const STDIN_OR_STDOUT: &str = "-";

/// Whether a text names something to send requests to and not a file: it has a scheme, or begins like `localhost`,
/// `host:port` or an address.
pub(crate) fn is_url(text: &str) -> bool {
    let authority = text.split(['/', '?']).next().unwrap_or_default();
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = authority.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && is_port(port));
    let is_address = authority.parse::<IpAddr>().is_ok() || authority.starts_with('[');
    text.contains("://") || authority == "localhost" || has_port || is_address
}

/// Reads and checks a plan file, or stdin.
pub(crate) fn read(path: &str, vars: Vec<(String, String)>) -> Result<Loaded, CommandError> {
    let world = Here { overrides: vars };
    if path == STDIN_OR_STDOUT {
        let bytes = limited(io::stdin().lock(), "stdin")?;
        let source = Source { name: "stdin", bytes: &bytes, format: None, folder: Path::new("") };
        return load(&source, &world).map_err(CommandError::Plan);
    }
    let path = PathBuf::from(path);
    let unreadable = |source| CommandError::Unreadable { what: "the plan", path: path.clone(), source };
    let file = File::open(&path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(unreadable(io::Error::other("it is a folder")));
    }
    let bytes = limited(file, &path.to_string_lossy())?;
    load(&Source::file(&path, &bytes), &world).map_err(CommandError::Plan)
}

/// Reads and checks a plan file, or stdin, to be submitted with everything it names. Warnings are handed back.
pub(crate) fn submission(
    path: &str,
    vars: Vec<(String, String)>,
) -> Result<(Submit, Vec<Problem>), CommandError> {
    let world = Here { overrides: vars };
    let noting = Noting::new(&world);
    let (name, bytes) = if path == STDIN_OR_STDOUT {
        ("stdin.yaml", limited(io::stdin().lock(), "stdin")?)
    } else {
        let unreadable = |source| CommandError::Unreadable { what: "the plan", path: path.into(), source };
        (path, limited(File::open(path).map_err(unreadable)?, path)?)
    };
    let loaded = load(&Source::file(Path::new(name), &bytes), &noting).map_err(CommandError::Plan)?;
    let submit = noting
        .into_submit(name, bytes.into())
        .map_err(|(path, source)| CommandError::Unreadable { what: "a file of the plan", path, source })?;
    Ok((submit, loaded.warnings))
}

/// Checks a plan that is part of this program.
pub(crate) fn built_in(name: &str, text: &str, vars: Vec<(String, String)>) -> Result<Loaded, CommandError> {
    let source = Source { name, bytes: text.as_bytes(), format: None, folder: Path::new("") };
    load(&source, &Here { overrides: vars }).map_err(CommandError::Plan)
}

/// All bytes, unless there are more than a plan may have.
pub(crate) fn limited(from: impl Read, name: &str) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = from.take(PLAN_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|source| CommandError::Unreadable { what: "the plan", path: name.into(), source })?;
    if bytes.len() as u64 > PLAN_BYTES_MAX {
        let problem = Problem::general(name, "the plan is larger than 1 MiB");
        return Err(CommandError::Plan(vec![
            problem.with_hint("put large data into files and name them under `data`"),
        ]));
    }
    Ok(bytes)
}

/// This process and this machine.
struct Here {
    overrides: Vec<(String, String)>,
}

impl Environment for Here {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn overrides(&self) -> &[(String, String)] {
        &self.overrides
    }

    fn head(&self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(bytes_max as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_scheme_or_begin_like_a_host() {
        for url in ["http://localhost/", "https://example.com", "localhost", "localhost:8080/x?y"] {
            assert!(is_url(url), "{url}");
        }
        for url in ["shop.example:80", "127.0.0.1/x", "[::1]:8080", "me:pw@host:80"] {
            assert!(is_url(url), "{url}");
        }
        for file in ["plan.yaml", "dir/http", "localhost.yaml", "dir/a:80", "-", "shop.example", "c:x"] {
            assert!(!is_url(file), "{file}");
        }
    }

    #[test]
    fn plans_beyond_the_limit_are_refused_without_reading_on() {
        let endless = io::repeat(b' ');
        assert!(
            matches!(limited(endless, "big.yaml"), Err(CommandError::Plan(problems)) if problems.len() == 1)
        );
    }
}
