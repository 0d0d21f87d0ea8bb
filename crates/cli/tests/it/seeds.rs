//! Randomness: everything a run draws comes from its seed, and nobody in it draws the same as somebody else.

use std::collections::BTreeSet;

use crate::support::{PlanFile, Seen, Target, run_plan, start_file};

/// Everybody who draws: set-ups, tear-downs, virtual users of several workflows, and such that come and go with a ramp.
const DRAWING: &str = r#"
vars: { base: "" }
workflows:
  A:
    vus: 3
    iterations_per_vu: 3
    ramp: 0s
    setup: { s1: { http: "{{ base }}/{{ uuid() }}" } }
    vu_setup: { v1: { http: "{{ base }}/{{ uuid() }}" } }
    steps: { a: { http: "{{ base }}/{{ uuid() }}" } }
    vu_teardown: { w1: { http: "{{ base }}/{{ uuid() }}" } }
    teardown: { t1: { http: "{{ base }}/{{ uuid() }}" } }
  B:
    vus: 3
    iterations_per_vu: 3
    ramp: 0s
    setup: { s2: { http: "{{ base }}/{{ uuid() }}" } }
    steps: { b: { http: "{{ base }}/{{ uuid() }}" } }
    teardown: { t2: { http: "{{ base }}/{{ uuid() }}" } }
"#;

fn paths(seen: &Seen) -> BTreeSet<String> {
    seen.by_path.keys().cloned().collect()
}

#[test]
fn nobody_draws_what_somebody_else_has_drawn() {
    let target = Target::start(&[]);
    run_plan(&target, DRAWING, &["--cores", "2"]).result(0);
    let seen = target.seen();
    assert_eq!(seen.requests, 28);
    assert_eq!(seen.by_path.len(), 28, "{:?}", seen.by_path);
}

#[test]
fn a_virtual_user_that_a_ramp_brings_back_draws_something_else() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Ramp:
    start: 2
    stages: [{ hold: 200ms }, { to: 0, over: 0s }, { hold: 500ms }, { to: 2, over: 0s }, { hold: 200ms }]
    ramp: 0s
    vu_setup: { begin: { http: "{{ base }}/begin" } }
    steps: { draw: { http: "{{ base }}/{{ uuid() }}", think: 20ms } }
"#;
    run_plan(&target, plan, &["--cores", "1"]).result(0);
    let seen = target.seen();
    assert!(seen.at("/begin") > 2, "virtual users came back");
    assert_eq!(seen.by_path.len() as u64 - 1, seen.requests - seen.at("/begin"), "{:?}", seen.by_path);
}

#[test]
fn the_same_seed_draws_the_same_and_another_one_does_not() {
    let target = Target::start(&[]);
    let drawn = |seed: &str| {
        target.reset();
        run_plan(&target, DRAWING, &["--cores", "2", "--seed", seed]).result(0);
        paths(&target.seen())
    };
    let first = drawn("4294967296");
    assert_eq!(first, drawn("4294967296"));
    assert!(first.is_disjoint(&drawn("0")), "a seed that differs in a bit of a virtual user's number");
}

#[test]
fn poisson_workflows_do_not_arrive_in_lock_step() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  A: { load: { rate: 30/s, duration: 1s, arrivals: poisson }, steps: { a: { http: "{{ base }}/a/{{ now_ms() }}" } } }
  B: { load: { rate: 30/s, duration: 1s, arrivals: poisson }, steps: { b: { http: "{{ base }}/b/{{ now_ms() }}" } } }
"#;
    run_plan(&target, plan, &["--cores", "2"]).result(0);
    let seen = target.seen();
    let starts = |prefix: &str| {
        let times = seen.by_path.iter().filter_map(|(path, n)| Some((path.strip_prefix(prefix)?, *n)));
        let mut all: Vec<i64> = times.flat_map(|(ms, n)| vec![ms.parse().unwrap(); n as usize]).collect();
        all.sort_unstable();
        all.iter().map(|ms| ms - all[0]).collect::<Vec<_>>()
    };
    let (a, b) = (starts("/a/"), starts("/b/"));
    assert_eq!((a.len(), b.len()), (30, 30));
    let together = a.iter().zip(&b).skip(1).filter(|(a, b)| (**a - **b).abs() <= 3).count();
    assert!(together < 15, "{together} of 29 starts at the same time after the first: {a:?} {b:?}");
}

/// Everything that a seed decides and time does not: draws of every part, rows in random order, numbers of arrivals.
const BASELINE: &str = r#"
vars: { base: "" }
data: { users: { file: users.csv, order: random } }
workflows:
  Draws:
    vus: 3
    iterations_per_vu: 2
    ramp: 0s
    setup: { s: { http: "{{ base }}/setup/{{ uuid() }}" } }
    vu_setup: { v: { http: "{{ base }}/vu_setup/{{ uuid() }}" } }
    steps:
      a: { http: "{{ base }}/a/{{ uuid() }}" }
      b: { http: "{{ base }}/b/{{ vu.id }}/{{ data.users.name }}/{{ random(1, 1000000) }}" }
    vu_teardown: { w: { http: "{{ base }}/vu_teardown/{{ uuid() }}" } }
    teardown: { t: { http: "{{ base }}/teardown/{{ uuid() }}" } }
  Arrivals:
    depends: [Draws]
    load: { rate: 40/s, duration: 1s, arrivals: poisson }
    steps: { c: { http: "{{ base }}/arrivals" } }
  Shared:
    depends: [Arrivals]
    vus: 4
    iterations: 21
    steps: { d: { http: "{{ base }}/shared" } }
"#;

/// A seed given in a report of last month must draw the same today: the snapshot is older than the engine it judges.
#[test]
fn a_seed_draws_what_it_drew_in_earlier_versions() {
    let target = Target::start(&[]);
    let file = PlanFile::new(BASELINE).with("users.csv", "name\nu1\nu2\nu3\nu4\nu5\n");
    start_file(&file, &target.base, &["--cores", "2", "--seed", "42"]).wait().result(0);
    let lines: Vec<String> =
        target.seen().by_path.iter().map(|(path, count)| format!("{count:>3} {path}")).collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("draws_of_seed_42", lines.join("\n"));
    });
}
