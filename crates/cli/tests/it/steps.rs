//! What steps can do beside calling: checks that stop, conditions, repetition, pauses, tags, kept state, data, metrics.

use hyperscale_stats::result::{RunResult, Status, WorkflowResult};

use crate::support::{PlanFile, Target, assert_witnessed, errors, run_plan, start_file, step, workflow};

/// One workflow `W` with these keys.
fn plan(keys: &str) -> String {
    format!("vars: {{ base: \"\" }}\nworkflows:\n  W:\n{keys}")
}

#[track_caller]
fn w(result: &RunResult) -> &WorkflowResult {
    workflow(result, "W")
}

#[test]
fn checks_are_counted_and_change_nothing_else() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 2
    iterations: 10
    steps:
      get:
        http: "{{ base }}/json"
        check:
          - { name: good, status: 200 }
          - { name: bad, expr: "get.json.total > 1000000" }
          - { name: text, body: { contains: "item" } }
      after_it: { http: "{{ base }}/after" }
"#,
        ),
        &[],
    )
    .result(0);
    assert_witnessed(&result, &target.seen(), &[("get", "/json"), ("after_it", "/after")]);
    let counts: Vec<_> = w(&result).checks.iter().map(|c| (c.name.as_str(), c.passed, c.failed)).collect();
    assert_eq!(counts, [("good", 10, 0), ("bad", 0, 10), ("text", 10, 0)]);
    assert_eq!((w(&result).iterations.completed, result.totals.failed), (10, 0));
}

#[test]
fn a_check_that_stops_the_iteration_fails_the_call_and_skips_the_rest() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 2
    iterations: 10
    steps:
      get: { http: "{{ base }}/x", check: { status: 201, stop: iteration } }
      never: { http: "{{ base }}/never" }
"#,
        ),
        &[],
    )
    .result(0);
    assert_witnessed(&result, &target.seen(), &[("get", "/x"), ("never", "/never")]);
    assert_eq!(errors(step(w(&result), "get"), "check"), 10);
    let never = step(w(&result), "never");
    assert_eq!((never.count, never.skipped), (0, 10));
    assert_eq!(w(&result).iterations.failed, 10);
}

#[test]
fn a_check_that_stops_the_virtual_user_ends_it_alone() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 4
    iterations_per_vu: 5
    ramp: 10ms
    steps:
      get: { http: "{{ base }}/x", check: { expr: "vu.id != 2", stop: vu } }
"#,
        ),
        &[],
    )
    .result(0);
    assert_witnessed(&result, &target.seen(), &[("get", "/x")]);
    assert_eq!((w(&result).iterations.started, w(&result).iterations.failed), (16, 1));
    assert_eq!(w(&result).status, Status::Completed);
}

#[test]
fn a_check_that_stops_the_test_fails_the_workflow() {
    let target = Target::start(&[]);
    let outcome = run_plan(
        &target,
        &plan(
            r#"
    vus: 4
    duration: 60s
    steps:
      get: { http: "{{ base }}/x", think: 2ms, check: { expr: "vu.iteration < 5", stop: test } }
"#,
        ),
        &[],
    );
    let result = outcome.result(98);
    assert_witnessed(&result, &target.seen(), &[("get", "/x")]);
    assert_eq!((result.status, result.reason.as_deref()), (Status::Failed, Some("check")));
    assert!(errors(step(w(&result), "get"), "check") >= 1);
    let told = result.errors.iter().any(|error| error.message.contains("of step `get` did not hold"));
    assert!(told, "{:?}", result.errors);
}

#[test]
fn conditions_repetitions_and_tags_are_counted() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 1
    iterations: 8
    steps:
      odd: { when: vu.iteration is odd, http: "{{ base }}/odd" }
      three: { repeat: 3, http: "{{ base }}/three" }
      tagged: { http: "{{ base }}/tagged", tags: { parity: "{{ 'odd' if vu.iteration is odd else 'even' }}" } }
"#,
        ),
        &[],
    )
    .result(0);
    assert_witnessed(&result, &target.seen(), &[("odd", "/odd"), ("three", "/three"), ("tagged", "/tagged")]);
    let odd = step(w(&result), "odd");
    assert_eq!((odd.count, odd.skipped), (4, 4));
    assert_eq!(step(w(&result), "three").count, 24);
    let tags: Vec<_> = step(w(&result), "tagged").tags.iter().map(|t| (t.tags.as_str(), t.count)).collect();
    assert_eq!(tags, [("parity=even", 4), ("parity=odd", 4)]);
    assert_eq!(w(&result).iterations.completed, 8, "a step that is not wanted fails nothing");
}

#[test]
fn think_times_separate_calls() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 1
    iterations: 4
    steps:
      get: { http: "{{ base }}/x", think: { min: 50ms, max: 60ms } }
      rest: { sleep: 50ms }
"#,
        ),
        &[],
    )
    .result(0);
    assert_witnessed(&result, &target.seen(), &[("get", "/x")]);
    assert!(
        w(&result).elapsed_s >= 0.35,
        "4 × (50 ms + 50 ms), the last pause perhaps cut: {}",
        w(&result).elapsed_s
    );
}

#[test]
fn kept_state_survives_iterations_and_nothing_else_does() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 2
    iterations_per_vu: 5
    keep: { n: { initial: 0, value: "{{ vu.n + 1 }}" } }
    steps:
      get:
        http: "{{ base }}/n/{{ vu.n }}"
        check: { expr: "vu.n == vu.iteration" }
"#,
        ),
        &[],
    )
    .result(0);
    let seen = target.seen();
    for n in 0..5 {
        assert_eq!(seen.at(&format!("/n/{n}")), 2, "{seen:?}");
    }
    assert_eq!((w(&result).checks[0].passed, w(&result).checks[0].failed), (10, 0));
}

#[test]
fn rows_of_data_files_are_taken_once_per_iteration() {
    let target = Target::start(&[]);
    for (order, rows) in [("sequential", "recycle"), ("unique", "stop")] {
        target.reset();
        let file = PlanFile::new(&format!(
            r#"
vars: {{ base: "" }}
data: {{ users: {{ file: users.csv, order: {order}, on_end: {rows} }} }}
workflows:
  W:
    vus: 2
    iterations: 12
    ramp: 10ms
    steps:
      get: {{ http: "{{{{ base }}}}/{{{{ data.users.name }}}}" }}
      again: {{ http: "{{{{ base }}}}/again/{{{{ data.users.name }}}}" }}
"#
        ))
        .with("users.csv", "name,age\nann,1\nbob,2\n\"c,d\",3\ndan,4\n");
        let result = start_file(&file, &target.base, &["--cores", "1"]).wait().result(0);
        let seen = target.seen();
        assert_witnessed(&result, &seen, &[]);
        let names = ["/ann", "/bob", "/c,d", "/dan"];
        let counts: Vec<u64> = names.iter().map(|path| seen.at(path)).collect();
        let again: Vec<u64> = names.iter().map(|path| seen.at(&format!("/again{path}"))).collect();
        assert_eq!(counts, again, "both steps of an iteration see the same row");
        let each = if order == "unique" { 1 } else { 3 };
        assert_eq!(counts, [each; 4], "{order}: {seen:?}");
    }
}

#[test]
fn json_lines_have_rows_with_structure() {
    let target = Target::start(&[]);
    let file = PlanFile::new(
        r#"
vars: { base: "" }
data: { orders: { file: orders.jsonl } }
workflows:
  W: { vus: 1, iterations: 3, steps: { get: { http: "{{ base }}/{{ data.orders.items[0].sku }}" } } }
"#,
    )
    .with(
        "orders.jsonl",
        "{\"items\":[{\"sku\":\"a\"}]}\n{\"items\":[{\"sku\":\"b\"}]}\n{\"items\":[{\"sku\":\"c\"}]}\n",
    );
    let result = start_file(&file, &target.base, &[]).wait().result(0);
    assert_witnessed(&result, &target.seen(), &[]);
    assert_eq!(["/a", "/b", "/c"].map(|path| target.seen().at(path)), [1, 1, 1]);
}

#[test]
fn metrics_collect_values_of_the_users_own() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 1
    iterations: 10
    steps:
      get: { http: "{{ base }}/json" }
      total: { metric: { distribution: "{{ get.json.total }}" } }
      visits: { metric: { count: 2 } }
      big: { metric: { rate: "{{ get.json.total > 1000 }}" } }
"#,
        ),
        &[],
    )
    .result(0);
    assert_witnessed(&result, &target.seen(), &[("get", "/json")]);
    let metric = |name: &str| w(&result).metrics.iter().find(|metric| metric.name == *name).unwrap();
    assert_eq!((metric("total").count, metric("total").values.unwrap().p50), (10, 10.0));
    assert_eq!(metric("visits").sum, Some(20.0));
    assert_eq!(metric("big").rate, Some(0.0));
}

#[test]
fn what_cannot_be_filled_in_is_never_sent() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 1
    iterations: 5
    steps:
      get: { http: "{{ base }}/json" }
      hole: { http: "{{ base }}/hole/{{ get.json.nothing.here }}" }
      absent: { after: [get], http: "{{ base }}/json", extract: { x: { json: "$.nothing" } } }
      broken: { after: [get], when: "get.json.nothing.here > 1", http: "{{ base }}/broken" }
"#,
        ),
        &[],
    )
    .result(0);
    let w = w(&result);
    assert_eq!((errors(step(w, "hole"), "template"), step(w, "hole").requests), (5, 0));
    assert_eq!((errors(step(w, "absent"), "extract"), step(w, "absent").requests), (5, 5));
    assert_eq!((errors(step(w, "broken"), "expr"), step(w, "broken").requests), (5, 0));
    assert_eq!(target.seen().requests, 10);
    assert_eq!(w.iterations.failed, 5);
}

#[test]
fn steps_side_by_side_start_together_and_join() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 1
    iterations: 2
    steps:
      left: { http: "{{ base }}/delay/300" }
      right: { after: [], http: "{{ base }}/delay/301" }
      join: { after: [left, right], http: "{{ base }}/join/{{ left.status }}/{{ right.status }}" }
"#,
        ),
        &[],
    )
    .result(0);
    assert_witnessed(
        &result,
        &target.seen(),
        &[("left", "/delay/300"), ("right", "/delay/301"), ("join", "/join/200/200")],
    );
    assert_eq!(target.seen().connections.opened, 2, "calls side by side need a connection each");
}

#[test]
fn equal_seeds_draw_equal_numbers() {
    let plan = plan(
        "    vus: 3\n    iterations_per_vu: 5\n    ramp: 10ms\n    steps: { get: { http: \"{{ base }}/{{ random(1, 1000000) }}\" } }\n",
    );
    let paths = |seed: &str| {
        let target = Target::start(&[]);
        run_plan(&target, &plan, &["--cores", "1", "--seed", seed]).result(0);
        target.seen().by_path
    };
    assert_eq!(paths("1"), paths("1"));
    assert_ne!(paths("1"), paths("2"));
}

#[test]
fn an_expression_that_fails_in_a_check_fails_the_step() {
    let target = Target::start(&[]);
    let steps = r#"
    vus: 1
    iterations: 2
    steps:
      get: { http: "{{ base }}/json", check: [ { name: deep, expr: "get.json.nope.deep > 0" }, { status: 200 } ] }
      no: { after: [], http: "{{ base }}/json", check: { expr: "no.json.total < 0" } }
      later: { after: [], check: { expr: "'a' + 1 > 0" } }
"#;
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    let (get, no) = (step(w(&result), "get"), step(w(&result), "no"));
    assert_eq!((errors(get, "expr"), get.ok, get.requests), (2, 0, 2));
    assert_eq!((no.ok, no.failed), (2, 0), "a check that does not hold is no failure");
    assert_eq!(errors(step(w(&result), "later"), "expr"), 2);
    assert!(result.errors.iter().any(|error| error.message.contains("check `deep`")), "{:?}", result.errors);
    let deep = w(&result).checks.iter().find(|check| check.name == "deep").unwrap();
    assert_eq!((deep.passed, deep.failed), (0, 2));
}

#[test]
fn tags_divide_calls_and_metrics() {
    let target = Target::start(&[]);
    let steps = r#"
    vus: 1
    iterations: 5
    steps:
      get: { http: "{{ base }}/x", tags: { odd: "{{ vu.iteration % 2 }}" } }
      visits: { metric: { count: 2 }, tags: { odd: "{{ vu.iteration % 2 }}" } }
"#;
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    let calls: Vec<_> =
        step(w(&result), "get").tags.iter().map(|tag| (tag.tags.as_str(), tag.count)).collect();
    assert_eq!(calls, [("odd=0", 3), ("odd=1", 2)]);
    let visits = &w(&result).metrics[0];
    assert_eq!((visits.count, visits.sum), (5, Some(10.0)));
    let values: Vec<_> = visits.tags.iter().map(|tag| (tag.tags.as_str(), tag.count, tag.sum)).collect();
    assert_eq!(values, [("odd=0", 3, Some(6.0)), ("odd=1", 2, Some(4.0))]);
}

#[test]
fn a_timeout_bounds_the_whole_step() {
    let target = Target::start(&[]);
    let steps = r#"
    vus: 1
    iterations: 1
    steps:
      pause: { sleep: 60s, timeout: 10ms }
      again: { after: [], http: "{{ base }}/delay/400", repeat: 1000, timeout: 1s }
      rests: { after: [], http: "{{ base }}/rest", repeat: 1000, think: 300ms, timeout: 1s }
      fine: { after: [], sleep: 1ms, timeout: 60s }
"#;
    let result = run_plan(&target, &plan(steps), &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("again", "/delay/400"), ("rests", "/rest")]);
    let step = |name| step(w(&result), name);
    assert_eq!((step("pause").ok, errors(step("pause"), "timeout")), (0, 1));
    assert_eq!((step("fine").ok, step("fine").failed), (1, 0));
    let (again, rests) = (step("again"), step("rests"));
    assert!(again.count < 10 && again.failed == 1 && errors(again, "timeout") == 1, "{again:?}");
    // Its time is over in a pause: no call is cut off, and those that are left never begin.
    assert!(rests.count < 10 && rests.failed == 0, "{rests:?}");
    assert_eq!(rests.count + rests.skipped, 1_000);
}

#[test]
fn a_text_is_not_ordered_with_a_number_and_can_be_read_as_one() {
    let target = Target::start(&[]);
    let result = run_plan(
        &target,
        &plan(
            r#"
    vus: 1
    iterations: 5
    steps:
      get:
        http: "{{ base }}/json"
        extract:
          text: { header: content-length }
          number: { header: content-length, as: int }
          small: { regex: '"total": *([0-9]+)', as: float }
      right: { check: { expr: "get.number > 0 and get.number < 1000000000 and get.small < 1000000000" } }
      wrong: { check: { expr: "get.text > 1000000000" } }
      other: { after: [], http: "{{ base }}/json", extract: { type: { header: content-type, as: int } } }
"#,
        ),
        &[],
    )
    .result(0);
    let failed = |name: &str, kind: &str| errors(step(w(&result), name), kind);
    assert_eq!((failed("wrong", "expr"), failed("other", "extract")), (5, 5));
    let right =
        w(&result).checks.iter().find(|check| check.step.as_ref().is_some_and(|step| *step == *"right"));
    assert_eq!(right.map(|check| (check.passed, check.failed)), Some((5, 0)));
    let message = &result.errors.iter().find(|error| error.kind == "expr").expect("it is listed").message;
    assert!(message.contains("cannot order a text and a number"), "{message}");
}
