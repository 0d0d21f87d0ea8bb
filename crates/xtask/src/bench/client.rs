//! The clients that are compared, and how each is told to do the same work.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::process::Invocation;

/// Core of every client with one thread; the server has the other.
pub(super) const CLIENT_CPU: &str = "1";
pub(super) const SERVER_CPU: &str = "0";

/// Command lines are text.
pub(super) const PATH_IS_NO_TEXT: &str = "the path of the target folder is no text";

/// A client of a contest.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) invocation: Invocation,
}

impl Client {
    fn new(name: &str, words: &str) -> Self {
        Self { name: name.to_owned(), invocation: Invocation::new(CLIENT_CPU, words.split(' ')) }
    }

    pub(super) fn is_ours(&self) -> bool {
        self.name.starts_with(OURS)
    }
}

/// What our own rows begin with.
pub(super) const OURS: &str = "hyperscale";

/// Work that most clients can be told on their command line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) url: &'a str,
    pub(super) connections: u32,
    pub(super) seconds: u64,
}

pub(super) fn wrk(work: Work<'_>) -> Client {
    let Work { url, connections, seconds } = work;
    Client::new("wrk", &format!("wrk -t1 -c{connections} -d{seconds}s {url}"))
}

/// wrk with one body for all requests.
pub(super) fn wrk_upload(folder: &Path, work: Work<'_>, bytes: usize) -> Result<Client> {
    let Work { url, connections, seconds } = work;
    let script = folder.join("wrk-upload.lua");
    fs::write(&script, format!("wrk.method = 'POST'\nwrk.body = string.rep('x', {bytes})\n"))?;
    let script = script.to_str().context(PATH_IS_NO_TEXT)?;
    Ok(Client::new("wrk", &format!("wrk -t1 -c{connections} -d{seconds}s -s {script} {url}")))
}

pub(super) fn h2load_h1(work: Work<'_>) -> Client {
    let Work { url, connections, seconds } = work;
    Client::new("h2load --h1", &format!("h2load --h1 -t1 -c{connections} -D{seconds} {url}"))
}

pub(super) fn h2load(work: Work<'_>, streams: u32) -> Client {
    let Work { url, connections, seconds } = work;
    Client::new("h2load", &format!("h2load -t1 -c{connections} -m{streams} -D{seconds} {url}"))
}

/// h2load with the bytes of a file as body of every request.
pub(super) fn h2load_upload(work: Work<'_>, streams: u32, body: &str) -> Client {
    let Work { url, connections, seconds } = work;
    Client::new("h2load", &format!("h2load -t1 -c{connections} -m{streams} -D{seconds} -d {body} {url}"))
}

pub(super) fn oha(program: &str, work: Work<'_>) -> Client {
    let Work { url, connections, seconds } = work;
    let words = format!("{program} --no-tui --worker-threads 1 -z {seconds}s -c {connections} {url}");
    Client::new("oha", &words)
}

/// k6 with the check and the body that its users write.
pub(super) fn k6(program: &str, folder: &Path, work: Work<'_>) -> Result<Client> {
    let Work { url, connections, seconds } = work;
    let script = folder.join("k6.js");
    let text = format!(
        "import http from 'k6/http';\nimport {{ check }} from 'k6';\nexport default function () {{\n  \
         const answer = http.get('{url}');\n  check(answer, {{ ok: (a) => a.status === 200 && a.body.length > 0 }});\n}}\n"
    );
    fs::write(&script, text)?;
    let script = script.to_str().context(PATH_IS_NO_TEXT)?;
    Ok(Client::new(
        "k6",
        &format!("{program} run -q --no-usage-report --vus {connections} --duration {seconds}s {script}"),
    ))
}

/// Our own client with a URL or a plan, and flags besides.
pub(super) fn hyperscale(program: &Path, name: &str, what: &str, flags: &str) -> Result<Client> {
    let program = program.to_str().context(PATH_IS_NO_TEXT)?;
    let words = format!("{program} run {what} --cores 1 --no-ui --quiet --json {flags}");
    Ok(Client::new(name, words.trim_end()))
}

/// Flags for a number of virtual users and a time.
pub(super) fn closed(vus: u32, seconds: u64) -> String {
    format!("-c {vus} -d {seconds}s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_get_the_same_work() {
        let work = Work { url: "http://h/", connections: 64, seconds: 6 };
        let line = |client: Client| client.invocation.words.join(" ");
        assert_eq!(line(wrk(work)), "wrk -t1 -c64 -d6s http://h/");
        assert_eq!(line(h2load_h1(work)), "h2load --h1 -t1 -c64 -D6 http://h/");
        assert_eq!(line(oha("oha", work)), "oha --no-tui --worker-threads 1 -z 6s -c 64 http://h/");
        let ours = hyperscale(Path::new("hyperscale"), OURS, work.url, &closed(64, 6)).unwrap();
        assert!(ours.is_ours());
        assert_eq!(line(ours), "hyperscale run http://h/ --cores 1 --no-ui --quiet --json -c 64 -d 6s");
    }
}
