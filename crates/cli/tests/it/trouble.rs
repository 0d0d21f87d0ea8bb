//! A machine or a network that is in the way: each a clear message and the right exit code.

use std::process::Command;

use hyperscale_stats::saturation::Measure;

use crate::support::{
    PlanFile, Process, Target, assert_books, errors, hyperscale, run, run_plan, step, workflow,
};

#[test]
fn a_name_that_does_not_resolve_is_unreachable() {
    let outcome = run(&["run", "http://no-such-host.invalid/", "-c", "2", "-d", "200ms", "--json"]);
    let result = outcome.result(4);
    assert_eq!(result.reason.as_deref(), Some("unreachable"));
    assert!(
        result.errors.iter().any(|error| error.message.contains("no-such-host.invalid")),
        "the message names the host: {:?}",
        result.errors
    );
}

#[test]
fn a_run_that_sent_nothing_is_not_unreachable() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Local:
    vus: 1
    iterations: 3
    steps:
      v: { set: { a: { b: 1 } } }
      get: { http: "{{ base }}/x/{{ v.a.nothing }}" }
"#;
    let result = run_plan(&target, plan, &[]).result(0);
    let get = step(workflow(&result, "Local"), "get");
    assert_eq!((get.requests, errors(get, "template"), target.seen().requests), (0, 3, 0));
    assert_eq!(result.reason, None);
}

#[test]
fn a_refused_port_is_unreachable() {
    let mut target = Target::start(&[]);
    target.kill();
    let outcome = run(&["run", &target.base, "-c", "2", "-d", "200ms"]);
    assert_eq!(outcome.code, 4, "{outcome}");
    assert!(outcome.stdout.contains("unreachable"), "{outcome}");
    assert!(outcome.stdout.contains("refused"), "{outcome}");
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_named() {
    let target = Target::start(&["--tls"]);
    let outcome = run(&["run", &target.base, "-c", "2", "-d", "200ms", "--json"]);
    let result = outcome.result(4);
    let request = step(workflow(&result, "main"), "request");
    assert_eq!(errors(request, "tls"), request.count);
    assert_eq!((request.requests, target.seen().requests), (0, 0));
    assert!(result.errors.iter().any(|error| error.message.contains("certificate")), "{:?}", result.errors);
    let trusting = run(&["run", &target.base, "-c", "2", "-n", "10", "--insecure", "--json"]).result(0);
    assert_eq!(trusting.totals.ok, 10);
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let target = Target::start(&["--tls"]);
    let plan = format!(
        "vars: {{ base: \"\" }}\nworkflows:\n  W:\n    vus: 1\n    iterations: 2\n    steps:\n      get: {{ http: {{ url: \"{{{{ base }}}}/x\", tls: {{ ca: {}, sni: other.example }} }} }}\n",
        target.ca().display()
    );
    let result = run_plan(&target, &plan, &[]).result(4);
    let get = step(workflow(&result, "W"), "get");
    assert_eq!((errors(get, "tls"), get.requests), (2, 0));
    assert!(result.errors.iter().any(|error| error.message.contains("another name")), "{:?}", result.errors);
}

#[test]
fn plain_http_against_tls_and_tls_against_plain_http_are_told_apart_from_silence() {
    let plain = Target::start(&[]);
    let url = plain.base.replace("http://", "https://");
    let result = run(&["run", &url, "-c", "1", "-n", "3", "--json"]).result(4);
    let request = step(workflow(&result, "main"), "request");
    assert_eq!(errors(request, "tls"), 3, "{:?}", request.errors);
}

#[test]
fn running_out_of_files_is_named_with_the_limit() {
    let target = Target::start(&[]);
    let script = "ulimit -n 40 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_hyperscale")]);
    command.args([
        "run",
        &format!("{}/x", target.base),
        "-c",
        "200",
        "-d",
        "500ms",
        "--json",
        "--cores",
        "1",
    ]);
    let outcome = Process::spawn(&mut command).wait();
    outcome.assert_told(0, &["warning:", "open files", "ulimit -n"]);
    let result = outcome.result(0);
    assert_books(&result);
    let request = step(workflow(&result, "main"), "request");
    assert!(request.failed > 0 && request.ok > 0, "{:?}", request.errors);
    assert_eq!(request.requests, target.seen().at("/x"));
    assert!(
        result.errors.iter().any(|error| error.message.contains("open files")),
        "the message says which limit: {:?}",
        result.errors
    );
}

#[test]
fn no_files_at_all_is_an_error_and_not_a_panic() {
    let target = Target::start(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 8 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hyperscale")]);
    command.args(["run", &target.base, "-c", "2", "-d", "200ms"]);
    let outcome = Process::spawn(&mut command).wait();
    assert!(outcome.code == 1 || outcome.code == 98 || outcome.code == 4, "{outcome}");
    assert!(!outcome.stderr.contains("panicked"), "{outcome}");
    assert!(outcome.stderr.contains("files") || outcome.stdout.contains("files"), "{outcome}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let target = Target::start(&[]);
    let file = PlanFile::new(
        "vars: { base: \"\" }\nworkflows:\n  W: { vus: 1, iterations: 5, steps: { get: { http: \"{{ base }}/x\" } } }\n",
    );
    let mut command = hyperscale();
    let (path, base) = (file.path(), format!("base={}", target.base));
    // The reading end is closed before anything is written.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = command.args(["run", &path, "--var", &base]).stdout(writer).spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_full_disk_is_an_error() {
    let target = Target::start(&[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let url = format!("{}/x", target.base);
    let mut command = hyperscale();
    let output = command.args(["run", &url, "-c", "1", "-n", "2", "--json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be printed"));
}

#[test]
fn running_out_of_files_is_a_limit_of_this_machine() {
    let target = Target::start(&[]);
    let run = format!("ulimit -n 60; exec \"$0\" run {}/ -c 100 -d 300ms --cores 1 --json", target.base);
    let binary = hyperscale();
    let mut command = Command::new("sh");
    command.arg("-c").arg(run).arg(binary.get_program());
    let result = Process::spawn(&mut command).wait().result(0);
    let request = &result.workflows[0].steps[0];
    assert!(
        errors(request, "local_limit") > 0 && errors(request, "connect_timeout") == 0,
        "{:?}",
        request.errors
    );
    assert_eq!(errors(request, "local_limit"), request.failed);
    assert!(result.validity.generator_saturated);
    let intervals = &result.validity.saturation;
    assert!(intervals.iter().any(|interval| interval.measure == Measure::LocalLimit), "{intervals:?}");
}

/// Processes that do nothing but use one CPU.
struct Rivals(Vec<std::process::Child>);

impl Rivals {
    fn on(cpu: &str, count: usize) -> Self {
        let rival = || Command::new("taskset").args(["-c", cpu, "sh", "-c", "while :; do :; done"]).spawn();
        Rivals((0..count).map(|_| rival().expect("taskset")).collect())
    }
}

impl Drop for Rivals {
    fn drop(&mut self) {
        for rival in &mut self.0 {
            let _ = rival.kill();
            let _ = rival.wait();
        }
    }
}

#[test]
fn a_generator_whose_cpu_others_use_says_so() {
    let target = Target::start(&[]);
    let allowed = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let cpu = allowed.trim().split([',', '-']).next().unwrap();
    let _rivals = Rivals::on(cpu, 2);
    let binary = hyperscale();
    for load in [["-c", "8"], ["--rate", "500/s"]] {
        let mut command = Command::new("taskset");
        command.args(["-c", cpu]).arg(binary.get_program()).args(["run", &target.base, "-d", "2s"]);
        command.args(load).args(["--cores", "1", "--json"]);
        let outcome = Process::spawn(&mut command).wait();
        let result = outcome.result(0);
        let validity = &result.validity;
        let interval = validity.saturation.iter().find(|interval| interval.measure == Measure::RunQueue);
        let interval = interval.unwrap_or_else(|| panic!("{load:?}: {:?}", validity.saturation));
        let ends_in_run = interval.to_s as f64 <= result.elapsed_s + 1.0;
        assert!(interval.from_s < interval.to_s && ends_in_run, "{interval:?}");
        assert!(validity.generator_saturated && result.workflows[0].generator.run_queue > Some(0.05));
        assert!(outcome.stderr.contains("something else uses this machine"), "{}", outcome.stderr);
    }
}
