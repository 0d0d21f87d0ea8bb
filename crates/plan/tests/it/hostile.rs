//! Whatever a file contains, reading it ends with a plan or with problems, and soon.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use hyperscale_plan::document::Format;
use hyperscale_plan::{Source, load, render};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::{folder, world};

fn read(bytes: &[u8], format: Option<Format>) {
    let source = Source { name: "plan", bytes, format, folder: Path::new("") };
    if let Err(problems) = load(&source, &world()) {
        assert!(!problems.is_empty(), "whoever refuses says why");
        assert!(!render(&problems).is_empty());
    }
}

fn good_plans() -> Vec<(Vec<u8>, Format)> {
    let files = fs::read_dir(folder("good")).expect("the folder is there");
    let files = files.map(|entry| entry.expect("readable").path());
    let mut plans: Vec<_> = files
        .map(|path| (fs::read(&path).expect("readable"), Format::of_path(&path).expect("known extension")))
        .collect();
    plans.sort_by_key(|(bytes, _)| bytes.len());
    plans
}

/// A change to a text: what people and machines do to files.
#[derive(Clone, Debug)]
enum Change {
    Delete(Index, usize),
    Repeat(Index, usize),
    Insert(Index, &'static str),
    Flip(Index, u8),
    Swap(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    let words = [
        "{{",
        "}}",
        "{%",
        "\t",
        "\n",
        ":",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "&a ",
        "*a",
        "<<: ",
        "null",
        "-1",
        "1e999",
        "99999999999999999999",
        "0",
        "é",
        "\u{feff}",
        "after: [a]",
        "!!int ",
        "|",
        ">",
        "#",
        "%",
        "=",
    ];
    prop_oneof![
        (any::<Index>(), 1usize..40).prop_map(|(at, n)| Change::Delete(at, n)),
        (any::<Index>(), 1usize..200).prop_map(|(at, n)| Change::Repeat(at, n)),
        (any::<Index>(), proptest::sample::select(words.to_vec()))
            .prop_map(|(at, word)| Change::Insert(at, word)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Change::Swap(a, b)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    match change {
        Change::Delete(at, n) => {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + n).min(bytes.len()));
        }
        Change::Repeat(at, n) => {
            let at = at.index(bytes.len());
            let part = bytes[at..(at + n).min(bytes.len())].to_vec();
            bytes.splice(at..at, part);
        }
        Change::Insert(at, word) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, word.bytes());
        }
        Change::Flip(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Change::Swap(a, b) => {
            let (a, b) = (a.index(bytes.len()), b.index(bytes.len()));
            bytes.swap(a, b);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_mutated_plan_never_panics(plan in any::<Index>(), changes in proptest::collection::vec(change(), 1..8)) {
        let plans = good_plans();
        let (mut bytes, format) = plans[plan.index(plans.len())].clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        read(&bytes, Some(format));
        read(&bytes, None);
    }
}

/// The corpus is the good and the wrong plans of the other tests, in `__fuzz__/plan/corpus`.
#[test]
fn fuzz_plan() {
    bolero::check!(name = "plan").for_each(|bytes: &[u8]| {
        for format in [Format::Yaml, Format::Toml, Format::Json] {
            read(bytes, Some(format));
        }
    });
}

#[test]
fn nested_aliases_are_refused_before_they_grow() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for level in 1..40 {
        let before = format!("*a{},", level - 1).repeat(9);
        writeln!(bomb, "a{level}: &a{level} [{before}]").expect("a string takes all");
    }
    let problems = load(&Source::file(Path::new("p.yaml"), bomb.as_bytes()), &world()).expect_err("a bomb");
    assert!(render(&problems).contains("expand to too much"));
}

#[test]
fn anchors_and_merge_keys_are_understood() {
    let text = b"
vars: { base: &base http://localhost/ }
workflows:
  A: &A { vus: 1, duration: 1s, steps: { s: { http: *base } } }
  B: { <<: *A, vus: 2 }
  C: { duration: 3s, <<: [*A, { ramp: 1ms }] }
";
    let plan = load(&Source::file(Path::new("p.yaml"), text), &world()).expect("merged").plan;
    let numbers: Vec<_> =
        plan.workflows.iter().map(|w| (w.vus_max(), w.planned().map(|p| p.to_string()))).collect();
    let wanted = [(1, "1s"), (2, "1s"), (1, "3s")].map(|(vus, span)| (vus, Some(span.to_owned())));
    assert_eq!(numbers, wanted);
    assert_eq!(plan.workflows[2].timing.ramp.to_string(), "1ms");
}

/// One entry of a plan written many times; the number goes where `#` stands.
fn many(before: &str, entry: &str, count: usize, after: &str) -> String {
    let entries: String = (0..count).map(|number| entry.replace('#', &number.to_string())).collect();
    format!("{before}{entries}{after}")
}

#[test]
fn what_is_too_much_is_refused_by_name() {
    let step = "steps: { a: { http: http://localhost/ } }";
    let one = format!("workflows: {{ A: {{ {step} }} }}\n");
    let steps = many("steps: {", "s#: { sleep: 1s },", 990, "}");
    for (text, wanted) in [
        (many("workflows:\n", &format!("  W#: {{ {step} }}\n"), 1_001, ""), "at most 1000 workflows"),
        (many("workflows: { A: { steps: {", "s#: { sleep: 1s },", 1_001, "} } }"), "more than 1000 steps"),
        (many("workflows:\n", &format!("  W#: {{ {steps} }}\n"), 11, ""), "at most 10000 steps"),
        (many("vars: {", "v#: x,", 1_001, &format!("}}\n{one}")), "at most 1000 variables"),
        (many("data: {", "d#: users.csv,", 101, &format!("}}\n{one}")), "at most 100 data files"),
        (many(&format!("{one}thresholds: ["), "A.rate > #/s,", 1_001, "]"), "at most 1000 thresholds"),
        (
            many("workflows: { A: { stages: [", "{ to: 1, over: 1s },", 1_001, &format!("], {step} }} }}")),
            "1 … 1000 entries",
        ),
        (
            many(
                "workflows: { A: { steps: { a: { http: 'http://localhost/",
                "{{ vu.id }}",
                1_001,
                "' } } } }",
            ),
            "at most 1000 holes",
        ),
        (
            many(
                "workflows: { A: { steps: { a: { http: http://localhost/, check: [",
                "{ expr: '1' },",
                101,
                "] } } } }",
            ),
            "at most 100 checks",
        ),
        (
            many(
                "workflows: { A: { steps: {",
                "s#: { http: http://localhost/, check: { body: { matches: a } } },",
                501,
                "} } }",
            ),
            "at most 500 regular expressions",
        ),
        (
            many(
                "workflows: { A: { steps: { a: { http: { url: http://localhost/, headers: {",
                "x-#: y,",
                1_001,
                "} } } } } }",
            ),
            "at most 1000 header fields",
        ),
    ] {
        let problems = load(&Source::file(Path::new("p.yaml"), text.as_bytes()), &world()).expect_err(wanted);
        assert!(render(&problems).contains(wanted), "{wanted}: {}", render(&problems[..1]));
    }
}
