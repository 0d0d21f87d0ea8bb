//! `new`, `completions` and `man`: every template in every format is valid and runs; shells and readers take the rest.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::commands::snapshot;
use crate::support::{Process, Target, assert_books, hyperscale, run};

const TEMPLATES: [&str; 7] = ["smoke", "load", "stress", "spike", "soak", "login", "ci"];
const FORMATS: [&str; 3] = ["yaml", "toml", "json"];

fn new_in(folder: &Path, args: &[&str]) -> crate::support::Outcome {
    let mut command = hyperscale();
    Process::spawn(command.current_dir(folder).arg("new").args(args)).wait()
}

#[test]
fn help_of_authors_is_complete() {
    snapshot!("help_new", run(&["new", "--help"]));
    snapshot!("help_completions", run(&["completions", "--help"]));
    snapshot!("help_man", run(&["man", "--help"]));
}

#[test]
fn templates_are_listed() {
    snapshot!("new_list", run(&["new", "--list"]));
    snapshot!("new_list_json", run(&["new", "--list", "--json"]));
    let listed: Value = serde_json::from_str(&run(&["new", "--list", "--json"]).stdout).unwrap();
    let names: Vec<&str> = listed["templates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|template| template["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TEMPLATES);
}

#[test]
fn plans_are_written_and_never_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    snapshot!("new_smoke", new_in(folder, &["plan.yaml", "--url", "https://shop.example.com/api/"]));
    assert!(
        fs::read_to_string(folder.join("plan.yaml")).unwrap().contains("base: https://shop.example.com/api ")
    );
    snapshot!("new_exists", new_in(folder, &["plan.yaml", "-t", "load"]));
    assert!(fs::read_to_string(folder.join("plan.yaml")).unwrap().contains("name: smoke"));
    snapshot!("new_force", new_in(folder, &["plan.yaml", "-t", "load", "--force"]));
    assert!(fs::read_to_string(folder.join("plan.yaml")).unwrap().contains("name: load"));
    fs::write(folder.join("users.csv"), "mine").unwrap();
    snapshot!("new_data_exists", new_in(folder, &["other.toml", "-t", "login"]));
    assert!(!folder.join("other.toml").exists(), "all or none");
    assert_eq!(fs::read_to_string(folder.join("users.csv")).unwrap(), "mine");
    snapshot!("new_json", new_in(folder, &["l.json", "-t", "login", "--force", "--json"]));
}

#[test]
fn wrong_orders_are_usage_errors() {
    snapshot!("new_no_file", run(&["new"]));
    snapshot!("new_unknown_template", run(&["new", "-", "-t", "smok"]));
    snapshot!("new_wrong_url", run(&["new", "-", "--url", "ftp://shop.example.com"]));
    snapshot!("new_wrong_host", run(&["new", "-", "--url", "http://:80"]));
    snapshot!("new_contradiction", run(&["new", "a.toml", "--format", "json"]));
    snapshot!("new_unwritable", run(&["new", "no/such/folder/a.toml"]));
    snapshot!("new_list_with_file", run(&["new", "--list", "a.yaml"]));
}

#[test]
fn plans_are_printed_for_a_dash() {
    for format in FORMATS {
        let outcome = run(&["new", "-", "-t", "ci", "--format", format]);
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("new_ci_{format}"), outcome.stdout);
        });
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    }
}

/// The same plan, so small that a test can wait for it.
pub(crate) fn shortened(plan: &mut Value) {
    let Value::Object(map) = plan else { return };
    for (key, value) in map {
        match (key.as_str(), &mut *value) {
            ("duration", value) => *value = "300ms".into(),
            ("over" | "hold", value) => *value = "60ms".into(),
            ("think", value) => *value = "1ms".into(),
            ("interval", value) => *value = "50ms".into(),
            ("to" | "rate", Value::String(rate)) if rate != "0/s" => "40/s".clone_into(rate),
            ("to" | "vus" | "start", Value::Number(_)) => *value = 3.into(),
            (_, Value::Array(items)) => items.iter_mut().for_each(shortened),
            (_, value) => shortened(value),
        }
    }
}

#[test]
fn every_template_in_every_format_is_valid_and_runs() {
    let target = Target::start(&[]);
    for template in TEMPLATES {
        for format in FORMATS {
            let folder = tempfile::tempdir().unwrap();
            let file = format!("plan.{format}");
            let written = new_in(folder.path(), &[&file, "-t", template, "--url", &target.base, "--quiet"]);
            assert_eq!((written.code, written.stderr.as_str()), (0, ""), "{template} {format}");
            let path = folder.path().join(&file);
            let valid = run(&["validate", path.to_str().unwrap(), "--json"]);
            assert_eq!((valid.code, valid.stderr.as_str()), (0, ""), "{template} {format}: {valid}");
            if format == "json" {
                runs(template, &path, &target);
            }
        }
    }
}

/// The JSON form can be changed by machine; that all forms are the same plan is shown by `validate` below.
fn runs(template: &str, path: &Path, target: &Target) {
    let mut plan: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    shortened(&mut plan);
    fs::write(path, plan.to_string()).unwrap();
    target.reset();
    let result = run(&["run", path.to_str().unwrap(), "--json"]).result(0);
    assert_books(&result);
    assert_eq!(result.totals.failed, 0, "{template}: {:?}", result.errors);
    assert!(result.totals.ok > 0 && result.thresholds_passed, "{template}: {:?}", result.thresholds);
    assert_eq!(result.totals.requests, target.seen().requests, "{template}");
}

#[test]
fn all_formats_of_a_template_are_the_same_plan() {
    for template in TEMPLATES {
        let folder = tempfile::tempdir().unwrap();
        let explained = FORMATS.map(|format| {
            let file = format!("plan.{format}");
            new_in(folder.path(), &[&file, "-t", template, "--force"]);
            let outcome =
                run(&["validate", folder.path().join(&file).to_str().unwrap(), "--json", "--explain"]);
            serde_json::from_str::<Value>(&outcome.stdout).unwrap()["explain"].clone()
        });
        assert!(explained[0].is_object());
        assert_eq!(explained[0], explained[1], "{template}: yaml and toml");
        assert_eq!(explained[0], explained[2], "{template}: yaml and json");
    }
}

#[test]
fn questions_are_asked_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_hyperscale");
    let mut child = Command::new("script")
        .args(["-qec", &format!("{binary} new"), "/dev/null"])
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"load\nhttp://h:1\nasked.toml\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("What kind of test?") && shown.contains("What is tested?"), "{shown}");
    let plan = fs::read_to_string(folder.path().join("asked.toml")).unwrap();
    assert!(plan.contains("base = \"http://h:1\"") && plan.contains("[workflows.Visit"), "{plan}");
}

fn subcommands() -> Vec<String> {
    let help = run(&["--help"]).stdout;
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> = names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    assert!(names.len() > 6, "{names:?}");
    names.into_iter().filter(|name| name != "help").collect()
}

#[test]
fn completions_of_every_shell_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).stdout;
        for command in subcommands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
    }
    snapshot!("completions_unknown_shell", run(&["completions", "cmd"]));
}

/// What a real bash offers behind `hyperscale …`.
fn completed(words: &str) -> Vec<String> {
    let binary = env!("CARGO_BIN_EXE_hyperscale");
    let program = format!(
        "source <({binary} completions bash); COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); \
         _hyperscale hyperscale \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash").args(["--norc", "-c", &program]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_flags() {
    let commands = completed("hyperscale ''");
    for command in subcommands() {
        assert!(commands.contains(&command), "{command}: {commands:?}");
    }
    assert_eq!(completed("hyperscale val"), ["validate"]);
    assert!(completed("hyperscale run --du").contains(&"--duration".to_owned()));
    assert_eq!(completed("hyperscale new --format t"), ["toml"]);
}

#[test]
fn manual_has_a_page_for_every_command() {
    let first = run(&["man"]);
    assert_eq!(first.code, 0);
    assert!(first.stdout.starts_with(".ie") || first.stdout.starts_with(".TH"), "{first}");
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("man1");
    let outcome = run(&["man", "--dir", dir.to_str().unwrap(), "--json"]);
    let written: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(written["files"].as_array().unwrap().len(), fs::read_dir(&dir).unwrap().count());
    for command in subcommands() {
        let page = fs::read_to_string(dir.join(format!("hyperscale-{command}.1"))).unwrap();
        assert!(page.contains(&format!("hyperscale\\-{command}")), "{page}");
        assert!(first.stdout.contains(&format!("hyperscale\\-{command}")), "{command}");
    }
    snapshot!("man_unwritable", run(&["man", "--dir", "/proc/no/such"]));
}
