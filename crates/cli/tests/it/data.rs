//! Data files: who gets which row, what happens when rows run out, and that `validate` reads them as a run does.

use std::collections::BTreeMap;

use crate::support::{PlanFile, Target, assert_books, run, start_file, workflow};

const THREE: &str = "name\nu1\nu2\nu3\n";

/// One workflow `U` with this load, whose requests say which row and which virtual user they are of.
fn plan(data: &str, load: &str) -> String {
    format!(
        "vars: {{ base: \"\" }}\ndata: {{ users: {data} }}\nworkflows:\n  U:\n    {load}\n    steps:\n      \
         get: {{ http: \"{{{{ base }}}}/{{{{ data.users.name }}}}/{{{{ vu.id }}}}\" }}\n"
    )
}

/// Which virtual users asked for each row.
fn owners(target: &Target) -> BTreeMap<String, Vec<String>> {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in target.seen().by_path.keys() {
        let (row, vu) = path[1..].split_once('/').expect("a row and a virtual user");
        owners.entry(row.to_owned()).or_default().push(vu.to_owned());
    }
    owners
}

#[test]
fn a_unique_row_stays_with_one_virtual_user_however_often_it_comes_again() {
    for cores in ["1", "2"] {
        let target = Target::start(&[]);
        let load = "vus: 2\n    iterations_per_vu: 6\n    ramp: 0s";
        let text = plan("{ file: users.csv, order: unique }", load);
        let file = PlanFile::new(&text).with("users.csv", THREE);
        let result = start_file(&file, &target.base, &["--cores", cores]).wait().result(0);
        assert_books(&result);
        assert_eq!(result.totals.requests, 12);
        let owners = owners(&target);
        assert_eq!(owners.len(), 3, "{owners:?}");
        assert!(owners.values().all(|vus| vus.len() == 1), "{owners:?}");
    }
}

#[test]
fn virtual_users_made_on_demand_have_rows_of_their_own() {
    let target = Target::start(&["--latency", "20ms"]);
    let text = plan("{ file: users.csv, order: unique }", "load: { rate: 200/s, duration: 1s, max_vus: 5 }");
    let file = PlanFile::new(&text).with("users.csv", THREE);
    let outcome = start_file(&file, &target.base, &["--cores", "2"]).wait();
    outcome.assert_told(0, &["data `users` has 3 unique rows; no more than that run at once"]);
    let result = outcome.result(0);
    assert_books(&result);
    assert_eq!(workflow(&result, "U").iterations.started, 200);
    let owners = owners(&target);
    assert_eq!(owners.len(), 3, "{owners:?}");
    assert!(owners.values().all(|vus| vus.len() == 1), "{owners:?}");
}

#[test]
fn rows_that_run_out_end_virtual_users_and_the_result_says_so() {
    for order in ["unique", "sequential"] {
        let target = Target::start(&[]);
        let text = plan(
            &format!("{{ file: users.csv, order: {order}, on_end: stop }}"),
            "vus: 2\n    iterations: 100",
        );
        let file = PlanFile::new(&text).with("users.csv", THREE);
        let outcome = start_file(&file, &target.base, &["--cores", "1"]).wait();
        let result = outcome.result(0);
        assert_books(&result);
        assert_eq!(target.seen().requests, 3, "each row once");
        let notes = workflow(&result, "U").notes.join("\n");
        for part in ["the rows of data `users` ran out: 2 virtual users", "3 of 100 iterations were started"]
        {
            assert!(notes.contains(part), "{order}: {notes}");
        }
        let shown = run(&["run", &file.path(), "--var", &format!("base={}", target.base), "--no-ui"]);
        assert!(shown.stdout.contains("U: the rows of data `users` ran out"), "{shown}");
    }
}

#[test]
fn virtual_users_without_a_unique_row_are_told_before_the_run() {
    let text = plan("{ file: users.csv, order: unique }", "vus: 5\n    iterations: 5");
    let file =
        PlanFile::new(&text.replace("base: \"\"", "base: \"http://127.0.0.1:9\"")).with("users.csv", THREE);
    run(&["validate", &file.path()]).assert_told(
        0,
        &["warning: workflow `U`: data `users` has 3 unique rows; 2 of 5 virtual users have none"],
    );
}

#[test]
fn validate_reads_data_files_as_a_run_does() {
    let cases: [(&str, &str, Option<&str>); 7] = [
        ("users.csv", "name,age\nann,7\nbob\n", Some("users.csv:3:1: error: 1 fields, but the header has 2")),
        ("users.csv", "name, age\nann,7\n", None),
        ("users.csv", "\u{feff}name\rann\r", None),
        ("users.csv", "name\n\"ann\nbob\n", Some("never ends")),
        ("users.jsonl", "\u{feff}{\"name\": 1}\n", None),
        ("users.jsonl", "{\"name\": 1}\n  \n{\"name\": 2}\n", None),
        ("users.jsonl", "{\"name\": 1}\n[2]\n", Some("users.jsonl:2:1: error: not a JSON object")),
    ];
    let target = Target::start(&[]);
    for (name, content, wrong) in cases {
        let text = plan(name, "vus: 1\n    iterations: 1");
        let text = if content.contains("age") { text.replace("vu.id", "data.users.age") } else { text };
        let file = PlanFile::new(&text).with(name, content);
        let validated = run(&["validate", &file.path(), "--var", &format!("base={}", target.base)]);
        let run = start_file(&file, &target.base, &[]).wait();
        let code = if wrong.is_some() { 3 } else { 0 };
        assert_eq!((validated.code, run.code), (code, code), "{content:?}: {validated} {run}");
        assert!(validated.stderr.contains(wrong.unwrap_or_default()), "{validated}");
    }
}
