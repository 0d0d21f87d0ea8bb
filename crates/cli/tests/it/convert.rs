//! `convert`: every sample is converted by the binary, valid, and run against the target.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::commands::snapshot;
use crate::support::{Target, assert_books, hyperscale, run};

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../convert/tests/samples");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10);
    files
}

fn sample(name: &str) -> String {
    format!("crates/convert/tests/samples/{name}")
}

/// `--var` for every variable: origins become the target's, secrets become what the target takes for one.
fn vars(plan: &Value, base: &str) -> Vec<String> {
    let vars = plan["vars"].as_object().unwrap();
    let mut args = Vec::new();
    for (name, value) in vars {
        let value = value.as_str().unwrap_or_default();
        let given = if let Some((_, rest)) = value.split_once("://") {
            let path = rest.find('/').map_or("", |at| &rest[at..]);
            format!("{base}{path}")
        } else if name == "host" {
            continue;
        } else if name == "api" {
            base.to_owned()
        } else if value.starts_with("${env:") {
            "secret".to_owned()
        } else {
            continue;
        };
        args.extend(["--var".to_owned(), format!("{name}={given}")]);
    }
    args
}

#[test]
fn every_sample_runs_against_the_target() {
    let target = Target::start(&["--tls"]);
    for path in samples() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("photo"), "bytes of a photo").unwrap();
        for format in ["yaml", "toml", "json"] {
            let plan = folder.path().join(format!("plan.{format}"));
            let plan = plan.to_str().unwrap();
            let outcome = run(&["convert", path.to_str().unwrap(), "-o", plan, "--json"]);
            assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{name}: {outcome}");
            let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
            let vars = vars(&document["plan"], &target.base);
            let args: Vec<&str> = vars.iter().map(String::as_str).collect();
            let valid = run(&[&["validate", plan], &args[..]].concat());
            assert_eq!((valid.code, valid.stderr.as_str()), (0, ""), "{name}: {valid}");
            if format == "yaml" {
                trust_all(plan);
                runs(&name, plan, &args, &document, &target);
            }
        }
    }
}

/// The target's certificate is its own.
fn trust_all(plan: &str) {
    let text = fs::read_to_string(plan).unwrap();
    let text = if text.contains("\ndefaults:\n  http:\n") {
        text.replace("\ndefaults:\n  http:\n", "\ndefaults:\n  http:\n    tls: { insecure: true }\n")
    } else if text.contains("\ndefaults:\n  http: {") {
        text.replace("\ndefaults:\n  http: {", "\ndefaults:\n  http: { tls: { insecure: true },")
    } else {
        text.replace("\nworkflows:", "\ndefaults: { http: { tls: { insecure: true } } }\nworkflows:")
    };
    fs::write(plan, text).unwrap();
}

fn runs(name: &str, plan: &str, vars: &[&str], document: &Value, target: &Target) {
    target.reset();
    let result = run(&[&["run", plan, "--json"], vars].concat()).result(0);
    assert_books(&result);
    assert_eq!(result.totals.failed, 0, "{name}: {:?}", result.errors);
    assert_eq!(result.totals.ok, document["requests"].as_u64().unwrap(), "{name}");
    let seen = target.seen();
    let tokens = seen.at("/oauth/token");
    assert_eq!(result.totals.requests + tokens, seen.requests, "{name}: {seen:?}");
}

#[test]
fn help_of_convert_is_complete() {
    snapshot!("help_convert", run(&["convert", "--help"]));
}

#[test]
fn plans_go_to_stdout_and_notes_to_stderr() {
    snapshot!("convert_curl", run(&["convert", &sample("curl-odd.sh")]));
    snapshot!(
        "convert_har",
        run(&["convert", &sample("har-shop.har"), "--no-static", "--think", "--format", "toml"])
    );
    snapshot!("convert_postman_json", run(&["convert", &sample("postman-v20.json"), "--json"]));
    let quiet = run(&["convert", &sample("openapi-pets.yaml"), "--quiet", "--format", "json"]);
    assert_eq!(quiet.stderr, "");
    assert_eq!(serde_json::from_str::<Value>(&quiet.stdout).unwrap()["name"], "Pets");
}

#[test]
fn commands_come_from_stdin_too() {
    let mut child = hyperscale()
        .args(["convert", "-", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"curl -L http://h/x -d a=1").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("form: { a: \"1\" }"));
}

#[test]
fn plan_files_are_never_overwritten_by_accident() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.yaml");
    fs::write(&plan, "mine").unwrap();
    let plan = plan.to_str().unwrap();
    snapshot!("convert_exists", run(&["convert", &sample("curl-browser.sh"), "-o", plan]));
    assert_eq!(fs::read_to_string(plan).unwrap(), "mine");
    snapshot!("convert_written", run(&["convert", &sample("curl-browser.sh"), "-o", plan, "--force"]));
    assert!(fs::read_to_string(plan).unwrap().contains("workflows:"));
}

#[test]
fn what_cannot_be_converted_says_why() {
    snapshot!("convert_missing", run(&["convert", "missing.har"]));
    snapshot!("convert_unknown", run(&["convert", "Cargo.lock"]));
    snapshot!("convert_not_har", run(&["convert", "--from", "har", &sample("openapi-pets.yaml")]));
    snapshot!("convert_not_json", run(&["convert", "--from", "postman", &sample("curl-odd.sh")]));
    snapshot!(
        "convert_extension",
        run(&["convert", &sample("curl-odd.sh"), "-o", "a.toml", "--format", "json"])
    );
}
