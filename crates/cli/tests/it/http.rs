//! HTTP behaviour that changes what is counted: redirects, authentication, cookies, connections, streams.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::support::{
    PATIENCE, Target, assert_books, assert_witnessed, errors, run, run_plan, step, workflow,
};

/// One workflow of 3 virtual users and 12 iterations with these steps.
fn plan(steps: &str) -> String {
    format!(
        "vars: {{ base: \"\" }}\nworkflows:\n  W:\n    vus: 3\n    iterations_per_vu: 4\n    ramp: 10ms\n    steps:\n{steps}"
    )
}

#[test]
fn every_redirect_hop_is_a_request() {
    let target = Target::start(&[]);
    let result = run_plan(&target, &plan("      go: { http: \"{{ base }}/redirect/3\" }\n"), &[]).result(0);
    assert_books(&result);
    let (seen, go) = (target.seen(), step(workflow(&result, "W"), "go"));
    assert_eq!((go.count, go.ok, go.requests), (12, 12, 48));
    assert_eq!(seen.requests, 48);
    for path in ["/redirect/3", "/redirect/2", "/redirect/1", "/"] {
        assert_eq!(seen.at(path), 12, "{path}");
    }
}

#[test]
fn redirects_beyond_the_limit_fail_and_their_hops_count() {
    let target = Target::start(&[]);
    let steps = "      go: { http: { url: \"{{ base }}/redirect/5\", redirects: 2 } }\n";
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    assert_books(&result);
    let go = step(workflow(&result, "W"), "go");
    assert_eq!((go.failed, go.requests), (12, 36), "{:?}", go.errors);
    assert_eq!(target.seen().requests, 36);
}

#[test]
fn redirects_that_are_not_followed_are_plain_answers() {
    let target = Target::start(&[]);
    let steps = "      go: { http: { url: \"{{ base }}/redirect/5\", redirects: 0 } }\n";
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("go", "/redirect/5")]);
    assert_eq!(step(workflow(&result, "W"), "go").status["302"], 12);
}

#[test]
fn digest_challenges_are_requests_of_the_call() {
    let target = Target::start(&[]);
    let steps = "      secret: { http: { url: \"{{ base }}/digest-auth/ada/pw\", auth: { digest: { user: ada, password: pw } } } }\n";
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("secret", "/digest-auth/ada/pw")]);
    let secret = step(workflow(&result, "W"), "secret");
    assert_eq!((secret.ok, secret.requests), (12, 12 + 3), "one challenge per virtual user");
}

#[test]
fn a_wrong_password_is_an_unexpected_status() {
    let target = Target::start(&[]);
    let steps = "      secret: { http: { url: \"{{ base }}/basic-auth/ada/pw\", auth: { basic: { user: ada, password: no } } } }\n";
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("secret", "/basic-auth/ada/pw")]);
    assert_eq!(errors(step(workflow(&result, "W"), "secret"), "status"), 12);
}

#[test]
fn oauth_tokens_are_fetched_outside_of_the_measured_calls() {
    let target = Target::start(&[]);
    let steps = r#"      api:
        http:
          url: "{{ base }}/bearer"
          auth: { oauth2: { token_url: "{{ base }}/oauth/token", client_id: me, client_secret: secret } }
"#;
    let result = run_plan(&target, &plan(steps), &["--cores", "1"]).result(0);
    assert_books(&result);
    let (seen, api) = (target.seen(), step(workflow(&result, "W"), "api"));
    assert_eq!((api.ok, api.requests, seen.at("/bearer")), (12, 12, 12), "{:?}", result.errors);
    assert!(seen.at("/oauth/token") >= 1);
    assert_eq!(seen.requests, seen.at("/bearer") + seen.at("/oauth/token"));
}

#[test]
fn cookies_live_as_long_as_their_virtual_user() {
    let target = Target::start(&[]);
    let steps = r#"      set: { when: vu.iteration == 0, http: "{{ base }}/cookies/set?who=vu{{ vu.id }}" }
      show:
        http: "{{ base }}/cookies"
        check: { expr: "show.json.who == 'vu' ~ vu.id" }
"#;
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("set", "/cookies/set"), ("show", "/cookies")]);
    let w = workflow(&result, "W");
    assert_eq!((w.checks[0].passed, w.checks[0].failed), (12, 0), "{:?}", result.errors);
    assert_eq!(step(w, "set").count, 3);
}

#[test]
fn connections_live_as_long_as_the_plan_says() {
    for (reuse, opened) in [("vu", 3), ("iteration", 12), ("call", 24)] {
        let target = Target::start(&[]);
        let steps = format!(
            "      a: {{ http: {{ url: \"{{{{ base }}}}/a\", reuse: {reuse} }} }}\n      b: {{ http: {{ url: \"{{{{ base }}}}/b\", reuse: {reuse} }} }}\n"
        );
        let result = run_plan(&target, &plan(&steps), &[]).result(0);
        assert_witnessed(&result, &target.seen(), &[("a", "/a"), ("b", "/b")]);
        assert_eq!(target.seen().connections.opened, opened, "reuse: {reuse}");
    }
}

#[test]
fn compressed_bodies_are_read_where_somebody_looks_at_them() {
    let target = Target::start(&[]);
    let steps = r#"      gzip: { http: { url: "{{ base }}/gzip", compression: true }, check: { expr: "gzip.json.total > 0" } }
      br: { http: { url: "{{ base }}/br", compression: true }, check: { expr: "br.json.total > 0" } }
      zstd: { http: { url: "{{ base }}/zstd", compression: true }, check: { expr: "zstd.json.total > 0" } }
"#;
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("gzip", "/gzip"), ("br", "/br"), ("zstd", "/zstd")]);
    for check in &workflow(&result, "W").checks {
        assert_eq!((check.passed, check.failed), (12, 0), "{:?}", result.errors);
    }
}

#[test]
fn events_of_a_stream_are_counted_and_timed() {
    let target = Target::start(&[]);
    let steps = "      feed: { http: { url: \"{{ base }}/sse?events=5&interval=2\", stream: sse } }\n";
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("feed", "/sse")]);
    let stream = step(workflow(&result, "W"), "feed").stream.expect("stream statistics");
    assert_eq!((stream.events, stream.first_event_us.count, stream.between_events_us.count), (60, 12, 48));
}

#[test]
fn a_unix_socket_stands_in_for_host_and_port() {
    let target = Target::start(&[]);
    let steps = "      a: { http: { url: \"http://nowhere.invalid/a\" } }\n";
    let steps = steps.replace("/a\"", &format!("/a\", unix: {}", target.socket().display()));
    let result = run_plan(&target, &plan(&steps), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("a", "/a")]);
}

/// Takes one request, answers it and returns its body.
fn take_one(listener: &TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = Vec::new();
    loop {
        let mut some = [0; 4_096];
        let read = stream.read(&mut some).unwrap();
        assert!(read > 0, "the request ends early");
        request.extend_from_slice(&some[..read]);
        let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if request.len() == end + 4 + length.parse::<usize>().unwrap() {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            return request.split_off(end + 4);
        }
    }
}

#[test]
fn file_of_any_bytes_is_sent_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body");
    // Neither text in any encoding nor without the marks of a template.
    let bytes: Vec<u8> = (0..=255).chain(*b"{{ nobody }}\xff\xfe\0").collect();
    std::fs::write(&path, &bytes).unwrap();
    let body = format!("@{}", path.display());
    for command in [&["run", "-c", "1", "-n", "1"][..], &["ping", "http"]] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let witness = thread::spawn(move || take_one(&listener));
        let outcome = run(&[command, &[&url, "-b", &body]].concat());
        assert_eq!(outcome.code, 0, "{outcome}");
        assert_eq!(witness.join().unwrap(), bytes, "{command:?}");
    }
    let target = Target::start(&[]);
    let echo = format!("{}/echo", target.base);
    let result = run(&["run", &echo, "-c", "2", "-n", "10", "-b", &body, "--json"]).result(0);
    assert!(result.totals.bytes.received > 10 * bytes.len() as u64, "{:?}", result.totals);
}

#[test]
fn a_host_and_a_path_from_variables_reach_what_they_name() {
    let target = Target::start(&[]);
    let steps =
        "      users: { http: \"http://{{ host }}/{{ prefix }}/users/{{ name }}?like={{ name }}\" }\n";
    let vars = format!("vars: {{ base: \"\", host: \"{}\", prefix: api/v1, name: a b }}", target.listen);
    let result = run_plan(&target, &plan(steps).replace("vars: { base: \"\" }", &vars), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("users", "/api/v1/users/a%20b")]);
}

#[test]
fn cookies_of_header_plan_and_jar_stand_in_one_field() {
    let target = Target::start(&[]);
    let steps = r#"      set: { http: "{{ base }}/cookies/set?jar=1" }
      get:
        http: { url: "{{ base }}/echo", headers: { cookie: header=2 }, cookies: { plan: "3" } }
        check: { body: { contains: "header=2; plan=3; jar=1" } }
"#;
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    let check = &workflow(&result, "W").checks[0];
    assert_eq!((check.passed, check.failed), (12, 0), "{:?}", result.errors);
}

#[test]
fn events_that_come_compressed_are_no_success() {
    let target = Target::start(&[]);
    let steps = "      events: { http: { url: \"{{ base }}/gzip\", stream: lines } }\n";
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    let events = step(workflow(&result, "W"), "events");
    assert_eq!((events.ok, errors(events, "protocol")), (0, 12));
    let message = &result.errors[0].message;
    assert!(message.contains("compressed (gzip)"), "{message}");
}

#[test]
fn flags_of_a_url_say_what_plans_can_say() {
    let target = Target::start(&["--tls"]);
    let url = |path: &str| format!("{}{path}", target.base);
    let ca = target.ca().to_str().unwrap().to_owned();
    let result = |path: &str, flags: &[&str]| {
        let url = url(path);
        run(&[&["run", &url, "-n", "3", "-c", "1", "--json", "--ca", &ca], flags].concat()).result(0)
    };
    let plain = result("/", &[]);
    assert_eq!((plain.totals.ok, plain.totals.failed), (3, 0), "{:?}", plain.errors);
    assert_eq!(result("/redirect/2", &["--max-redirects", "2"]).totals.ok, 3);
    let cut = result("/redirect/2", &["--max-redirects", "1"]);
    assert_eq!(errors(&cut.workflows[0].steps[0], "protocol"), 3, "{:?}", cut.errors);
    let size = 11 << 20;
    let large = format!("/bytes/{size}");
    assert_eq!(result(&large, &[]).totals.ok, 3, "nobody needs the body: any size");
    let limited = result(&large, &["--max-body", "1MiB"]);
    assert_eq!(errors(&limited.workflows[0].steps[0], "too_large"), 3, "{:?}", limited.errors);
    run(&["run", &url("/"), "--ca", "none.pem"]).assert_told(2, &["the authorities", "none.pem"]);
    run(&["run", &url("/"), "--cert", &ca]).assert_told(2, &["--key"]);
}
