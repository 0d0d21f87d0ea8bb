//! Every plan in the guide is valid and runs against the target; every command in it exists.
//!
//! A fence of `yaml` is a whole plan; `yaml steps` stands under `steps:`, `yaml load` on a workflow.

use std::fs;
use std::path::{Path, PathBuf};

use hyperscale_plan::document::Format;
use serde_json::Value;

use crate::author::shortened;
use crate::support::{PlanFile, Process, Target, assert_books, run};
use crate::tasks::agent::python;
use crate::tasks::node::TaskNode;

const USERS: &str = "name,password\nada,analytical\nalan,enigma\n";
const PEOPLE: &str = "name;age\nada;36\nalan;41\n";
const ITEMS: &str = "{\"id\": 1}\n{\"id\": 2}\n";

/// A fenced block, and where it stands.
struct Block {
    place: String,
    kind: String,
    text: String,
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> =
        fs::read_dir(root.join("docs/guide")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut open: Option<Block> = None;
        for (at, line) in text.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(kind)) => {
                    let place = format!("{}:{}", page.file_name().unwrap().to_str().unwrap(), at + 1);
                    open = Some(Block { place, kind: kind.to_owned(), text: String::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => block.text = format!("{}{line}\n", block.text),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a fence is never closed", page.display());
    }
    blocks
}

fn indented(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    format!("{pad}{}\n", text.trim_end().replace('\n', &format!("\n{pad}")))
}

/// The whole plan of a block; `None` for other fences.
fn plan(block: &Block) -> Option<String> {
    const HEAD: &str = "vars: { base: \"http://127.0.0.1:8080\" }\nworkflows:\n  Guide:\n";
    match block.kind.as_str() {
        "yaml" => Some(block.text.clone()),
        "yaml steps" => {
            Some(format!("{HEAD}    vus: 1\n    iterations: 1\n    steps:\n{}", indented(&block.text, 6)))
        }
        "yaml load" => {
            let get = "    steps: { get: { http: \"{{ base }}/\" } }\n";
            Some(format!("{HEAD}{}{get}", indented(&block.text, 4)))
        }
        _ => None,
    }
}

#[test]
fn plans_of_the_guide_are_valid_and_run() {
    let target = Target::start(&[]);
    let mut count = 0;
    for block in blocks() {
        let Some(text) = plan(&block) else { continue };
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("users.csv", USERS);
        write("items.jsonl", ITEMS);
        write("people.txt", PEOPLE);
        write("body.bin", "bytes");
        write("plan.yaml", &text);
        let path = folder.path().join("plan.yaml");
        let valid = run(&["validate", path.to_str().unwrap()]);
        assert_eq!((valid.code, valid.stderr.as_str()), (0, ""), "{}: {valid}\n{text}", block.place);
        let mut short =
            hyperscale_convert::read::document("plan", text.as_bytes(), Format::Yaml, 1 << 20).unwrap();
        shortened(&mut short);
        point_at(&mut short, &target.base);
        write("plan.json", &short.to_string());
        let result = run(&["run", folder.path().join("plan.json").to_str().unwrap(), "--json"]).result(0);
        assert_books(&result);
        assert_eq!(result.totals.failed, 0, "{}: {:?}\n{text}", block.place, result.errors);
        assert!(result.totals.ok > 0, "{}", block.place);
        let skipped: u64 =
            result.workflows.iter().flat_map(|workflow| &workflow.steps).map(|step| step.skipped).sum();
        assert_eq!(skipped, 0, "{}: {:?}", block.place, result.errors);
        let checks = result.workflows.iter().flat_map(|workflow| &workflow.checks);
        assert_eq!(checks.map(|check| check.failed).sum::<u64>(), 0, "{}", block.place);
        count += 1;
    }
    assert!(count >= 25, "only {count} plans in the guide");
}

/// Texts that name the address of the examples name the target's.
fn point_at(value: &mut Value, base: &str) {
    match value {
        Value::String(text) => {
            for example in ["http://127.0.0.1:8080", "http://localhost:8080"] {
                *text = text.replace(example, base);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| point_at(item, base)),
        Value::Object(map) => map.values_mut().for_each(|value| point_at(value, base)),
        _ => {}
    }
}

#[test]
fn trees_and_schedules_of_the_guide_are_taken() {
    let (target, node) = (Target::start(&[]), TaskNode::start(&[]));
    let mut kinds = Vec::new();
    for block in blocks() {
        let command = match block.kind.as_str() {
            "yaml tasks" => "tasks",
            "yaml schedule" => "schedules",
            _ => continue,
        };
        let text = block.text.replace("http://127.0.0.1:8080", &target.base);
        let plan = format!(
            "workflows: {{ Guide: {{ vus: 1, iterations: 1, steps: {{ get: {{ http: '{}/' }} }} }} }}",
            target.base
        );
        let file = PlanFile::named("file.yaml", &text).with("checkout.yaml", &plan);
        let wait: &[&str] = if command == "tasks" { &["--wait"] } else { &[] };
        let ended = node.run(&[&[command, "create", &file.path()], wait].concat());
        assert_eq!(ended.code, 0, "{}: {ended}", block.place);
        kinds.push(command);
    }
    assert_eq!(kinds, ["tasks", "schedules"]);
    assert!(target.seen().requests >= 2, "the request and the load test");
}

#[test]
fn messages_of_the_guide_become_tasks() {
    let (target, node) = (Target::start(&[]), TaskNode::start(&[]));
    let mut kinds = Vec::new();
    for block in blocks() {
        let text = block.text.replace("http://127.0.0.1:8080", &target.base);
        match block.kind.as_str() {
            "json a2a" => {
                let response = node.request("POST /", "a2a-version: 1.0\r\n", &text);
                assert!(response.contains("TASK_STATE_COMPLETED"), "{}: {response}", block.place);
            }
            "python a2a" => {
                let script =
                    PlanFile::named("agent.py", &text.replace("http://127.0.0.1:7200", &node.server()));
                let mut command = std::process::Command::new(python("v1_0"));
                // Proxies are not asked for a server on this machine.
                let ended = Process::spawn(command.arg(script.path()).env("NO_PROXY", "*")).wait();
                assert_eq!(ended.code, 0, "{}: {ended}", block.place);
                assert!(ended.stdout.contains("'name': 'report'"), "{}: {ended}", block.place);
                assert!(ended.stdout.contains("TASK_STATE_COMPLETED"), "{}: {ended}", block.place);
            }
            _ => continue,
        }
        kinds.push(block.kind);
    }
    assert_eq!(kinds, ["python a2a", "json a2a"]);
    assert_eq!(target.seen().requests, 2, "one of each");
}

#[test]
fn commands_of_the_guide_exist() {
    let mut count = 0;
    for block in blocks().into_iter().filter(|block| block.kind == "console") {
        let text = block.text.replace("\\\n", " ");
        for line in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            for command in line.split(['|', ';']).filter_map(|part| part.trim().strip_prefix("hyperscale ")) {
                let words: Vec<&str> =
                    command.split_whitespace().take_while(|word| !word.starts_with('-')).collect();
                let help = run(&[&words[..1], &["--help"]].concat());
                assert_eq!(help.code, 0, "{}: {line}", block.place);
                let pages = match words[0] {
                    "ping" => run(&["ping", "http", "--help"]).stdout,
                    "tasks" | "schedules" => run(&[&words[..2], &["--help"]].concat()).stdout,
                    "config" => run(&[&words[..], &["--help"]].concat()).stdout,
                    _ => help.stdout,
                };
                for flag in command
                    .split('#')
                    .next()
                    .unwrap()
                    .split_whitespace()
                    .filter(|word| word.starts_with("--"))
                {
                    assert!(pages.contains(flag), "{}: {flag} of {line}", block.place);
                }
                count += 1;
            }
        }
    }
    assert!(count > 15, "only {count} commands in the guide");
}

#[test]
fn links_of_the_guide_lead_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap();
            let is_file = !path.is_empty() && !link.contains("://");
            assert!(!is_file || page.parent().unwrap().join(path).exists(), "{}: {link}", page.display());
            let Some((_, anchor)) = link.split_once('#').filter(|_| !link.contains("://")) else { continue };
            let there = if is_file { page.parent().unwrap().join(path) } else { page.clone() };
            let is_there = anchors(&fs::read_to_string(there).unwrap()).any(|known| known == anchor);
            assert!(is_there, "{}: there is no heading for {link}", page.display());
        }
    }
}

/// Names of the headings of a page, as links have them.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let is_kept = |char: &char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_');
    headings.map(move |line| {
        let words: String = line.trim_start_matches('#').trim().chars().filter(is_kept).collect();
        words.to_lowercase().replace(' ', "-")
    })
}
