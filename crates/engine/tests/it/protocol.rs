//! A protocol without peers and statuses runs like any other: prepared, called, extracted from, checked, recorded.

use super::support::{run, step};

const WORKFLOW: &str = r#"
vus: 2
iterations: 10
steps:
  a: { echo: '{ "id": {{ vu.id }} }', extract: { id: $.id } }
  b:
    echo: 'id {{ a.id }} of {{ a.json.id }}'
    check: [{ body: id 1 of 1 }, { status: 200 }]
"#;

#[test]
fn steps_of_another_protocol_run_without_a_word_about_it_in_the_engine() {
    let totals = run(WORKFLOW, "");
    let (a, b) = (step(&totals, "a"), step(&totals, "b"));
    assert_eq!((a.ok, b.ok, a.failed + b.failed), (10, 10, 0));
    assert_eq!((b.answered, b.statuses().count()), (10, 0), "it answers, and has no status");
    assert_eq!(a.requests, 0, "nothing left the process");
}
