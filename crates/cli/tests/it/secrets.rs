//! Secrets of a URL are sent, and stand nowhere else.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::support::{PlanFile, run};

const SECRET: &str = "s3cretpw";

/// Answers one request and says what it was.
fn witness() -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = listener.local_addr().unwrap().to_string();
    let seen = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(format!("\r\n\r\n{SECRET}").as_bytes()) {
            let mut some = [0; 1024];
            let n = socket.read(&mut some).unwrap();
            assert!(n > 0, "{}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&some[..n]);
        }
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        String::from_utf8(bytes).unwrap()
    });
    (listen, seen)
}

#[test]
fn secrets_of_a_url_are_sent_and_reach_no_file_and_no_screen() {
    let (listen, seen) = witness();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://me:{SECRET}@{listen}/x?api_key={SECRET}&page=2");
    let field = format!("x-own-key: {SECRET}");
    let mut args = vec!["run", &url, "-n", "1", "-c", "1", "-H", &field, "-b", SECRET];
    let files = ["html", "json", "md", "csv", "xml", "txt"].map(|end| format!("out.{end}"));
    let paths = files.map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    for path in &paths {
        args.extend(["--report", path]);
    }
    let recording = folder.path().join("run.jsonl").to_str().unwrap().to_owned();
    args.extend(["--record", &recording]);
    let outcome = run(&args);
    assert_eq!(outcome.code, 0, "{outcome}");
    let sent = seen.join().unwrap();
    assert!(sent.contains(&format!("/x?api_key={SECRET}&page=2")) && sent.contains(&field), "{sent}");
    assert!(!outcome.stdout.contains(SECRET) && !outcome.stderr.contains(SECRET), "{outcome}");
    for path in paths.iter().chain([&recording]) {
        let text = fs::read_to_string(path).unwrap();
        assert!(!text.contains(SECRET), "{path}: {text}");
    }
    let report = fs::read_to_string(&paths[1]).unwrap();
    for said in ["api_key=***", "page=2", "x-own-key", "What the command line stands for"] {
        assert!(report.contains(said), "{said}: {report}");
    }
}

#[test]
fn urls_in_the_text_of_a_plan_are_shown_without_their_secrets() {
    let plan =
        format!("workflows: {{ A: {{ steps: {{ a: {{ http: \"http://me:{SECRET}@127.0.0.1:1/\" }} }} }} }}");
    let file = PlanFile::new(&plan);
    let outcome = run(&["run", &file.path(), "--json"]);
    assert_eq!(outcome.code, 4, "{outcome}");
    assert!(
        !outcome.stdout.contains(SECRET) && outcome.stdout.contains("http://***@127.0.0.1:1/"),
        "{outcome}"
    );
}

#[test]
fn headers_in_the_text_of_a_plan_are_sent_and_shown_without_their_secrets() {
    let (listen, seen) = witness();
    let plan = "
vars: { password: SECRET }
workflows:
  A:
    vus: 1
    iterations: 1
    steps:
      a:
        http:
          url: http://LISTEN/
          method: POST
          headers: { Authorization: Bearer SECRET, accept: text/html }
          body: '{{ password }}'
";
    let file = PlanFile::new(&plan.replace("SECRET", SECRET).replace("LISTEN", &listen));
    let folder = tempfile::tempdir().unwrap();
    let paths = ["out.html", "run.jsonl"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let outcome = run(&["run", &file.path(), "--json", "--report", &paths[0], "--record", &paths[1]]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(seen.join().unwrap().contains(&format!("Bearer {SECRET}")));
    let files = paths.map(|path| fs::read_to_string(path).unwrap());
    for text in files.iter().chain([&outcome.stdout, &outcome.stderr]) {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(outcome.stdout.contains("Authorization: \\\"***\\\", accept: text/html"), "{outcome}");
}
