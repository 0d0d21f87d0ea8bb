//! What commands print, as snapshots; times, ports and rates are masked.

use insta::assert_snapshot;

use crate::support::{Outcome, PlanFile, Process, Target, hyperscale, run, run_plan, start};

/// Masks what differs from run to run.
pub(crate) fn masked() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (pattern, mask) in [
        (r"127\.0\.0\.1:[1-9]\d*", "127.0.0.1:PORT"),
        (r"target-\d+", "target-PORT"),
        (r"/tmp/\.tmp\w+", "FOLDER"),
        (r"run-\d{8}T\d{6}-[0-9a-f]{8}", "run-JOB"),
    ] {
        settings.add_filter(pattern, mask);
    }
    settings
}

/// Masks measured numbers too, and the columns they shift. A busy machine may be the bottleneck; that is not the point.
pub(crate) fn measured() -> insta::Settings {
    let mut settings = masked();
    for (pattern, mask) in [
        (r"(?s)\n\n! warning.*?\n--- stderr", "\n--- stderr"),
        (r"\d{4}-\d{2}-\d{2}T[\d:.]+Z", "WHEN"),
        (r"\d[\d.,]*/s\b", "RATE"),
        (r"\d[\d.,]* ?(ns|µs|ms|s)\b", "TIME"),
        (r"\d[\d.,]* ?[kM]?B\b", "SIZE"),
        (r" {2,}", "  "),
    ] {
        settings.add_filter(pattern, mask);
    }
    settings
}

pub(crate) fn shown(outcome: &Outcome) -> String {
    format!("exit code {}\n--- stdout\n{}--- stderr\n{}", outcome.code, outcome.stdout, outcome.stderr)
}

/// What a command left behind, compared with what is written down.
macro_rules! snapshot {
    ($name:literal, $outcome:expr) => {
        $crate::commands::masked().bind(|| insta::assert_snapshot!($name, $crate::commands::shown(&$outcome)))
    };
}
pub(crate) use snapshot;

#[test]
fn help_is_complete() {
    snapshot!("help", run(&["--help"]));
    snapshot!("help_run", run(&["run", "--help"]));
    snapshot!("help_validate", run(&["validate", "--help"]));
    snapshot!("help_target", run(&["target", "--help"]));
    snapshot!("help_compare", run(&["compare", "--help"]));
    snapshot!("help_schema", run(&["schema", "--help"]));
    snapshot!("help_demo", run(&["demo", "--help"]));
    snapshot!("help_replay", run(&["replay", "--help"]));
}

#[test]
fn usage_errors_are_exit_code_2() {
    snapshot!("usage_unknown_flag", run(&["run", "http://h/", "--vuss", "3"]));
    snapshot!("usage_bad_duration", run(&["run", "http://h/", "-d", "10"]));
    snapshot!("usage_bad_rate", run(&["run", "http://h/", "-r", "fast"]));
    snapshot!("usage_no_command", run(&[]));
    snapshot!("usage_report_format", run(&["run", "http://h/", "--report", "out.pdf"]));
    snapshot!("usage_report_without_extension", run(&["run", "http://h/", "--report", "out"]));
    snapshot!("usage_report_folder", run(&["run", "http://h/", "--report", "no/such/folder/out.json"]));
    snapshot!("usage_plan_missing", run(&["run", "missing.yaml"]));
    snapshot!("usage_host_without_scheme", run(&["run", "shop.example"]));
    snapshot!("usage_plan_is_a_folder", run(&["validate", "examples"]));
    snapshot!("usage_request_flag_with_plan", run(&["run", "examples/quick.yaml", "-X", "POST"]));
    snapshot!("usage_var_with_url", run(&["run", "http://h/", "--var", "a=b"]));
    snapshot!("usage_body_missing", run(&["run", "http://h/", "-b", "@missing.json"]));
}

#[test]
fn settings_that_nobody_knows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hyperscale.toml");
    for (name, text) in [("unknown", "core = 2"), ("value", "cores = \"all\""), ("syntax", "cores = = 2")] {
        std::fs::write(&file, text).unwrap();
        let outcome = run(&["validate", "examples/quick.yaml", "--config", file.to_str().unwrap()]);
        masked().bind(|| assert_snapshot!(format!("settings_{name}"), shown(&outcome)));
    }
    let mut command = hyperscale();
    command.env("HYPERSCALE_SED", "1").args(["validate", "examples/quick.yaml"]);
    snapshot!("settings_environment", Process::spawn(&mut command).wait());
}

#[test]
fn settings_come_from_file_environment_and_flags_in_this_order() {
    let target = Target::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hyperscale.toml");
    std::fs::write(&file, "seed = 1\ncores = 1\njson = true\nquiet = true\n").unwrap();
    let url = format!("{}/x", target.base);
    let mut command = hyperscale();
    command
        .env("HYPERSCALE_CONFIG", &file)
        .env("HYPERSCALE_SEED", "2")
        .args(["run", &url, "-n", "2", "--cores", "2"]);
    let outcome = Process::spawn(&mut command).wait();
    let result = outcome.result(0);
    assert_eq!(
        (result.provenance.options["seed"].as_str(), result.provenance.options["cores"].as_str()),
        ("2", "2")
    );
    assert_eq!(outcome.stderr, "", "quiet");
}

#[test]
fn validate_shows_what_a_plan_does() {
    let on_four_cores = |args: &[&str]| {
        let mut command = hyperscale();
        Process::spawn(command.env("HYPERSCALE_CORES", "4").arg("validate").args(args)).wait()
    };
    snapshot!("validate_ok", on_four_cores(&["examples/shop.yaml"]));
    snapshot!("validate_explain", on_four_cores(&["examples/shop.yaml", "--explain"]));
    snapshot!("validate_json", on_four_cores(&["examples/quick.yaml", "--json"]));
    let plan = PlanFile::new(
        "workflows:\n  A: { vus: 9, duration: 1s, steps: { a: { http: http://x/ } } }\n  B: { vus: 9, duration: 1s, steps: { a: { http: http://x/ } } }\n  C: { vus: 9, duration: 1s, priority: exclusive, steps: { a: { http: http://x/ } } }\n",
    );
    let shared = run(&["validate", &plan.path(), "--cores", "1"]);
    let batches = [
        "batch 1 of 1 cores: C on 1 core; A ready, waiting_for_cores (at least 1)",
        "batch 2 of 1 cores: A + B share 1 core",
    ];
    assert!(batches.iter().all(|batch| shared.stdout.contains(batch)), "{shared}");
}

#[test]
fn validate_tells_all_problems_at_once() {
    let plan = PlanFile::new(
        "workflows:\n  W:\n    vus: many\n    duration: 10\n    steps:\n      get: { htp: x }\n      two: { http: \"{{ nobody }}/x\" }\nthresholds: [ \"V.latency.p99 < 1s\" ]\n",
    );
    snapshot!("validate_problems", run(&["validate", &plan.path()]));
    snapshot!("run_problems", run(&["run", &plan.path()]));
    snapshot!("validate_problems_json", run(&["validate", &plan.path(), "--json"]));
    snapshot!("validate_unknown_var", run(&["validate", "examples/quick.yaml", "--var", "bse=x"]));
}

#[test]
fn plans_come_from_stdin_too() {
    use std::io::Write;
    let mut child = hyperscale()
        .args(["validate", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let plan = b"workflows: { W: { vus: 1, iterations: 1, steps: { a: { http: \"http://h/\" } } } }";
    child.stdin.take().unwrap().write_all(plan).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("ok"));
}

#[test]
fn overrides_that_do_not_fit_are_refused() {
    snapshot!("override_rate_of_closed", run(&["run", "examples/quick.yaml", "--rate", "5/s"]));
    snapshot!("url_header_without_colon", run(&["run", "http://h/", "-H", "nonsense"]));
    snapshot!("url_of_another_scheme", run(&["run", "ftp://h/"]));
    snapshot!("override_duration_of_stages", run(&["run", "examples/open-ramp.toml", "--duration", "5s"]));
}

#[test]
fn overrides_replace_the_numbers_of_the_plan() {
    let target = Target::start(&[]);
    let base = format!("base={}", target.base);
    let result =
        run(&["run", "examples/quick.yaml", "--var", &base, "-c", "3", "-d", "200ms", "--json"]).result(0);
    assert_eq!(result.workflows[0].vus, 3);
    assert!(result.elapsed_s < 1.9, "{}", result.elapsed_s);
    assert_eq!(target.seen().connections.opened, 3);
}

const TEN: &str = "vars: { base: \"\" }\nworkflows:\n  W:\n    vus: 1\n    iterations: 10\n    steps:\n      get: { http: \"{{ base }}/x\", check: { status: 200 } }\nthresholds: [ W.completed == 10 ]\n";

#[test]
fn run_prints_progress_on_stderr_and_the_summary_on_stdout() {
    let target = Target::start(&[]);
    let plan = PlanFile::new(TEN);
    let base = format!("base={}", target.base);
    let outcome = run(&["run", &plan.path(), "--var", &base, "--cores", "1", "--seed", "7"]);
    measured().bind(|| assert_snapshot!("run_summary", shown(&outcome)));
    let quiet = run(&["run", &plan.path(), "--var", &base, "--quiet"]);
    assert_eq!(quiet.stderr, "");
    assert!(quiet.stdout.contains("completed"), "{quiet}");
}

#[test]
fn a_line_of_progress_comes_after_the_first_second() {
    let target = Target::start(&[]);
    let plan = TEN.replace("iterations: 10", "duration: 1500ms").replace("/x\"", "/x\", think: 10ms");
    let outcome = run_plan(&target, &plan.replace("W.completed == 10", "W.completed > 10"), &[]);
    assert_eq!(outcome.stderr.matches("p99").count(), 1, "{outcome}");
}

#[test]
fn reports_are_written_beside_the_output() {
    let target = Target::start(&[]);
    let plan = PlanFile::new(TEN);
    let folder = plan.folder().to_owned();
    let (json, text) = (folder.join("out.json"), folder.join("out.txt"));
    let base = format!("base={}", target.base);
    let outcome = run(&[
        "run",
        &plan.path(),
        "--var",
        &base,
        "--json",
        "--report",
        json.to_str().unwrap(),
        "--report",
        text.to_str().unwrap(),
    ]);
    let printed = outcome.result(0);
    let written = hyperscale_report::read_result(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(printed, written);
    assert!(std::fs::read_to_string(text).unwrap().contains("completed"));
    for key in ["version", "os", "kernel", "cpus"] {
        assert!(printed.provenance.environment.contains_key(key), "{key}");
    }
    assert!(
        printed.provenance.options.contains_key("seed") && printed.provenance.options.contains_key("cores")
    );
}

#[test]
fn two_runs_have_different_ids_and_seeds() {
    let target = Target::start(&[]);
    let url = format!("{}/x", target.base);
    let [one, two] = [(), ()].map(|()| run(&["run", &url, "-n", "1", "--json"]).result(0));
    assert_ne!(one.identity.job, two.identity.job);
    assert_ne!(one.provenance.options["seed"], two.provenance.options["seed"]);
}

#[test]
fn target_announces_itself_and_ends_on_signals() {
    for signal in ["INT", "TERM"] {
        let process = start(&["target", "--listen", "127.0.0.1:0"]);
        process.wait_for_note("target serves");
        process.signal(signal);
        snapshot!("target_ready", process.wait());
    }
}

#[test]
fn target_tells_why_it_cannot_listen() {
    let taken = Target::start(&[]);
    snapshot!("target_port_in_use", run(&["target", "--listen", &taken.listen]));
    snapshot!("target_bad_address", run(&["target", "--listen", "nonsense"]));
    snapshot!("target_foreign_address", run(&["target", "--listen", "192.0.2.1:0"]));
    snapshot!("target_bad_latency", run(&["target", "--latency", "fast"]));
    snapshot!("target_key_missing", run(&["target", "--cert", "a.pem"]));
    snapshot!("target_cert_unreadable", run(&["target", "--cert", "a.pem", "--key", "b.pem"]));
    snapshot!("target_ca_without_tls", run(&["target", "--ca-out", "a.pem"]));
}

#[test]
fn variables_of_other_commands_break_nothing() {
    let mut command = hyperscale();
    command.args(["schema", "--plan"]);
    for name in ["SERVER", "API_TOKEN", "AUTH_SECRET", "DATABASE_URL", "NODE_ROLE"] {
        command.env(format!("HYPERSCALE_{name}"), "x");
    }
    assert_eq!(Process::spawn(&mut command).wait().code, 0);
    Process::spawn(command.env("HYPERSCALE_SERVR", "x"))
        .wait()
        .assert_told(2, &["unknown setting", "server"]);
}
