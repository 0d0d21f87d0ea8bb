//! Workflows together: order, context, set-up and tear-down, and what a failed one does to the others.

use hyperscale_stats::result::{RunResult, Status};

use crate::support::{
    PlanFile, Process, Target, assert_books, assert_witnessed, hyperscale, run, run_plan, start_file, step,
    workflow,
};

fn status_of(result: &RunResult, name: &str) -> (Status, Option<String>) {
    let workflow = workflow(result, name);
    (workflow.status, workflow.reason.clone())
}

#[test]
fn values_go_from_one_workflow_to_the_next() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Use:
    depends: [Make]
    use: { Make: [last, every, calls] }
    vus: 1
    iterations: 2
    steps:
      show:
        http: { url: "{{ base }}/echo", json: { last: "{{ last }}", many: "{{ every | length }}", calls: "{{ calls }}" } }
        check:
          expr:
            last: "show.json.json.last is defined"
            many: "(show.json.json.many | int) == 3"
            calls: "(show.json.json.calls | int) == 6"
      bearer: { http: { url: "{{ base }}/bearer", auth: { bearer: "{{ last }}" } } }
  Make:
    vus: 3
    iterations_per_vu: 2
    ramp: 10ms
    steps:
      token: { http: "{{ base }}/token", extract: { value: "$.token" } }
    provide:
      last: { to: [Use], value: "{{ token.value }}" }
      every: { to: [Use], value: "{{ token.value }}", pick: all }
      calls: { to: [Use], value: "{{ stats.completed }}" }
"#;
    let result = run_plan(&target, plan, &[]).result(0);
    assert_witnessed(
        &result,
        &target.seen(),
        &[("token", "/token"), ("show", "/echo"), ("bearer", "/bearer")],
    );
    for check in &workflow(&result, "Use").checks {
        assert_eq!((check.passed, check.failed), (2, 0), "{} {:?}", check.name, result.errors);
    }
    assert_eq!(step(workflow(&result, "Use"), "bearer").ok, 2, "the token is genuine");
}

#[test]
fn provided_values_are_those_of_completed_iterations() {
    let target = Target::start(&[]);
    // Each virtual user completes its first iteration and fails the second; one more is cut off in its second.
    let plan = r#"
vars: { base: "" }
workflows:
  Make:
    vus: 3
    iterations_per_vu: 2
    max_duration: 2s
    graceful_stop: 10ms
    ramp: 0s
    steps:
      t: { http: "{{ base }}/status/{{ 500 if vu.iteration == 1 and vu.id < 3 else 200 }}" }
      hang: { when: vu.iteration == 1, http: "{{ base }}/delay/60000" }
    provide:
      every: { to: [Use], value: "{{ vu.id }}-{{ vu.iteration }}-{{ t.status }}", pick: all }
      first: { to: [Use], value: "{{ vu.iteration }}-{{ t.status }}", pick: first }
      last: { to: [Use], value: "{{ vu.iteration }}-{{ t.status }}" }
  Use:
    depends: [Make]
    use: { Make: [every, first, last] }
    vus: 1
    iterations: 1
    steps: { show: { http: "{{ base }}/show/{{ every | sort | join('_') }}/{{ first }}/{{ last }}" } }
"#;
    let result = run_plan(&target, plan, &["--cores", "1"]).result(0);
    assert_eq!(workflow(&result, "Make").iterations.interrupted, 1);
    let seen = target.seen();
    assert_eq!(seen.at("/show/1-0-200_2-0-200_3-0-200/0-200/0-200"), 1, "{:?}", seen.by_path);
}

#[test]
fn a_value_that_was_never_produced_fails_the_dependent_and_skips_what_depends_on_it() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Make:
    vus: 1
    iterations: 1
    steps:
      token: { http: "{{ base }}/token" }
      never: { when: "false", http: "{{ base }}/never", extract: { value: "$.token" } }
    provide: { secret: { to: [Use], value: "{{ never.value }}" } }
  Use:
    depends: [Make]
    use: { Make: [secret] }
    vus: 1
    iterations: 1
    steps: { show: { http: "{{ base }}/show/{{ secret }}" } }
  After:
    depends: [Use]
    vus: 1
    iterations: 1
    steps: { after: { http: "{{ base }}/after" } }
"#;
    let result = run_plan(&target, plan, &[]).result(98);
    assert_eq!(result.status, Status::Partial);
    assert_eq!(status_of(&result, "Make").0, Status::Completed);
    assert_eq!(status_of(&result, "Use"), (Status::Failed, Some("context_missing".to_owned())));
    let (after, reason) = status_of(&result, "After");
    assert_eq!(after, Status::Skipped);
    assert!(reason.unwrap().contains("Use"));
    assert_witnessed(&result, &target.seen(), &[("token", "/token")]);
    assert_eq!(target.seen().requests, 1);
}

#[test]
fn a_default_stands_in_for_a_value_that_was_never_produced() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Make:
    vus: 1
    iterations: 1
    steps:
      token: { http: "{{ base }}/token" }
      never: { when: "false", http: "{{ base }}/never", extract: { value: "$.token" } }
    provide: { secret: { to: [Use], value: "{{ never.value }}" } }
  Use:
    depends: [Make]
    use: { Make: { secret: { default: spare } } }
    vus: 1
    iterations: 1
    steps: { show: { http: "{{ base }}/show/{{ secret }}" } }
"#;
    let result = run_plan(&target, plan, &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("token", "/token"), ("show", "/show/spare")]);
}

#[test]
fn set_up_and_tear_down_are_counted_apart_from_the_load() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  W:
    vus: 3
    iterations_per_vu: 4
    ramp: 10ms
    setup:
      create: { http: { url: "{{ base }}/echo", json: { id: 77 } } }
    vu_setup:
      login: { http: "{{ base }}/token", extract: { token: "$.token" } }
    steps:
      get: { http: { url: "{{ base }}/get/{{ create.json.json.id }}", auth: { bearer: "{{ login.token }}" } } }
    vu_teardown:
      logout: { http: { method: DELETE, url: "{{ base }}/logout" } }
    teardown:
      destroy: { http: { method: DELETE, url: "{{ base }}/destroy/{{ create.json.json.id }}" } }
"#;
    for cores in ["1", "2"] {
        target.reset();
        let result = run_plan(&target, plan, &["--cores", cores]).result(0);
        let paths = [
            ("create", "/echo"),
            ("login", "/token"),
            ("get", "/get/77"),
            ("logout", "/logout"),
            ("destroy", "/destroy/77"),
        ];
        assert_witnessed(&result, &target.seen(), &paths);
        let w = workflow(&result, "W");
        let counts: Vec<_> = w.setup_steps.iter().map(|s| (s.name.as_str(), s.count)).collect();
        assert_eq!(counts, [("create", 1), ("login", 3), ("logout", 3), ("destroy", 1)]);
        assert_eq!(w.steps.len(), 1);
        assert_eq!((result.totals.requests, w.totals.ok), (12, 12), "totals are those of the load");
    }
}

#[test]
fn a_failed_set_up_fails_its_workflow_and_skips_dependents() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Broken:
    vus: 1
    iterations: 1
    setup: { create: { http: "{{ base }}/status/500" } }
    steps: { get: { http: "{{ base }}/get" } }
    teardown: { clean: { http: "{{ base }}/clean" } }
  Dependent: { depends: [Broken], vus: 1, iterations: 1, steps: { b: { http: "{{ base }}/b" } } }
  Alone: { vus: 1, iterations: 1, steps: { c: { http: "{{ base }}/c" } } }
"#;
    let result = run_plan(&target, plan, &[]).result(98);
    assert_books(&result);
    assert_eq!(result.status, Status::Partial);
    assert_eq!(status_of(&result, "Broken"), (Status::Failed, Some("setup".to_owned())));
    assert_eq!(status_of(&result, "Dependent").0, Status::Skipped);
    assert_eq!(status_of(&result, "Alone").0, Status::Completed);
    let seen = target.seen();
    assert_eq!((seen.at("/get"), seen.at("/b"), seen.at("/c")), (0, 0, 1), "{seen:?}");
    assert_witnessed(&result, &seen, &[("create", "/status/500"), ("clean", "/clean")]);
}

#[test]
fn a_vu_setup_that_fails_for_everybody_fails_the_workflow() {
    let target = Target::start(&[]);
    let plan = |when: &str| {
        format!(
            r#"
vars: {{ base: "" }}
workflows:
  W:
    vus: 3
    iterations_per_vu: 2
    ramp: 10ms
    vu_setup: {{ login: {{ http: "{{{{ base }}}}/status/{when}" }} }}
    steps: {{ get: {{ http: "{{{{ base }}}}/get" }} }}
"#
        )
    };
    let result = run_plan(&target, &plan("500"), &[]).result(98);
    assert_eq!(status_of(&result, "W"), (Status::Failed, Some("vu_setup".to_owned())));
    assert_witnessed(&result, &target.seen(), &[("login", "/status/500"), ("get", "/get")]);
    target.reset();
    let one_fails = plan("{{ 500 if vu.id == 1 else 200 }}");
    let result = run_plan(&target, &one_fails, &[]).result(0);
    assert_eq!(status_of(&result, "W").0, Status::Completed);
    assert_eq!(target.seen().at("/get"), 4, "the other two run");
    assert_witnessed(&result, &target.seen(), &[("get", "/get")]);
}

#[test]
fn an_exclusive_workflow_runs_alone_until_its_tear_down_is_over() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Alone:
    priority: exclusive
    vus: 1
    iterations: 1
    steps: { e: { http: "{{ base }}/e" } }
    teardown: { t: { http: "{{ base }}/delay/300" } }
  Other: { vus: 1, iterations: 1, steps: { o: { http: "{{ base }}/o" } } }
"#;
    for cores in ["1", "2"] {
        let outcome = run_plan(&target, plan, &["--cores", cores]);
        outcome.result(0);
        let line = |part: &str| outcome.stderr.find(part).unwrap_or_else(|| panic!("no {part:?}; {outcome}"));
        assert!(line("Alone: completed") < line("Other: running"), "{outcome}");
    }
}

#[test]
fn a_core_that_ends_early_goes_to_the_next_workflow_with_its_cpu() {
    let target = Target::start(&[]);
    let plan = PlanFile::new(
        r#"
vars: { base: "" }
workflows:
  Long:
    vus: 2
    iterations_per_vu: 1
    ramp: 0s
    steps: { a: { http: "{{ base }}/delay/{{ 1 if vu.id == 1 else 60000 }}" } }
  Next:
    start_after: 100ms
    vus: 1
    iterations: 1
    steps: { b: { http: "{{ base }}/delay/60001" } }
"#,
    );
    let process = start_file(&plan, &target.base, &["--cores", "2"]);
    target.wait_for_requests(3);
    let pinned = process.pinned("core-");
    process.signal("INT");
    process.wait_for_note("no new iterations");
    process.signal("INT");
    process.wait().result(97);
    assert_eq!(pinned.len(), 2, "one core of each runs: {pinned:?}");
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert_ne!(pinned[0], pinned[1], "two cores on one CPU");
    }
}

#[test]
fn virtual_users_are_numbered_through_all_cores_and_workflows() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  A: { vus: 5, iterations_per_vu: 2, ramp: 0s, steps: { a: { http: "{{ base }}/{{ vu.id }}" } } }
  B: { vus: 3, iterations_per_vu: 2, ramp: 0s, steps: { b: { http: "{{ base }}/{{ vu.id }}" } } }
"#;
    for cores in ["1", "2", "3"] {
        target.reset();
        run_plan(&target, plan, &["--cores", cores]).result(0);
        let seen: Vec<(String, u64)> = target.seen().by_path.into_iter().collect();
        let wanted: Vec<(String, u64)> = (1..=8).map(|id| (format!("/{id}"), 2)).collect();
        assert_eq!(seen, wanted, "on {cores} cores");
    }
}

#[test]
fn the_higher_priority_runs_first_where_there_is_room_for_one() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  First: { priority: low, vus: 1, iterations: 1, steps: { a: { http: "{{ base }}/a" } } }
  Second: { priority: normal, vus: 1, iterations: 1, steps: { b: { http: "{{ base }}/b" } } }
  Third: { priority: high, vus: 1, iterations: 1, steps: { c: { http: "{{ base }}/c" } } }
"#;
    let outcome = run_plan(&target, plan, &["--cores", "1"]);
    outcome.result(0);
    let line = |part: &str| outcome.stderr.find(part).unwrap_or_else(|| panic!("no {part:?}; {outcome}"));
    assert!(line("Third: completed") < line("Second: running"), "{outcome}");
    assert!(line("Second: completed") < line("First: running"), "{outcome}");
}

#[test]
fn start_after_delays_a_workflow_after_those_it_depends_on() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  A: { start_after: 300ms, vus: 1, iterations: 1, steps: { a: { http: "{{ base }}/a" } } }
  B: { depends: [A], start_after: 400ms, vus: 1, iterations: 1, steps: { b: { http: "{{ base }}/b" } } }
"#;
    let result = run_plan(&target, plan, &[]).result(0);
    assert_eq!(target.seen().requests, 2);
    assert!(result.elapsed_s >= 0.7, "{}", result.elapsed_s);
}

#[test]
fn the_first_and_the_last_value_are_picked() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Count:
    vus: 1
    iterations: 3
    steps: { a: { http: "{{ base }}/a" } }
    provide:
      first: { to: [Use], value: "{{ vu.iteration }}", pick: first }
      last: { to: [Use], value: "{{ vu.iteration }}", pick: last }
  Use:
    depends: [Count]
    use: { Count: [first, last] }
    vus: 1
    iterations: 1
    steps: { show: { http: "{{ base }}/{{ first }}/{{ last }}" } }
"#;
    run_plan(&target, plan, &[]).result(0);
    let seen = target.seen();
    assert_eq!(seen.at("/0/2"), 1, "{:?}", seen.by_path);
}

#[test]
fn a_context_beyond_one_mebibyte_fails_its_workflow() {
    let target = Target::start(&[]);
    let plan = |bytes: u32| {
        format!(
            r#"
vars: {{ base: "" }}
workflows:
  Make:
    vus: 1
    iterations: 1
    steps: {{ big: {{ http: "{{{{ base }}}}/bytes/{bytes}" }} }}
    provide: {{ text: {{ to: [Use], value: "{{{{ big.body }}}}" }} }}
  Use:
    depends: [Make]
    use: {{ Make: [text] }}
    vus: 1
    iterations: 1
    steps: {{ show: {{ http: "{{{{ base }}}}/{{{{ text | length }}}}" }} }}
"#
        )
    };
    let result = run_plan(&target, &plan((1 << 20) - 2), &[]).result(0);
    assert_eq!(status_of(&result, "Use").0, Status::Completed, "with its quotes it is just one mebibyte");
    let result = run_plan(&target, &plan((1 << 20) - 1), &[]).result(98);
    assert_eq!(status_of(&result, "Make"), (Status::Failed, Some("context_too_large".to_owned())));
    assert_eq!(status_of(&result, "Use").0, Status::Skipped);
}

#[test]
fn workflows_run_side_by_side_and_are_counted_apart() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  A: { vus: 4, duration: 400ms, steps: { a: { http: "{{ base }}/a" } } }
  B: { rate: 100/s, duration: 400ms, steps: { b: { http: "{{ base }}/b" } } }
  C: { vus: 2, iterations: 10, start_after: 100ms, steps: { c: { http: "{{ base }}/c" } } }
"#;
    for cores in ["1", "2"] {
        target.reset();
        let result = run_plan(&target, plan, &["--cores", cores]).result(0);
        assert_witnessed(&result, &target.seen(), &[("a", "/a"), ("b", "/b"), ("c", "/c")]);
        assert_eq!(step(workflow(&result, "C"), "c").ok, 10);
        let sum: u64 = result.workflows.iter().map(|w| w.totals.requests).sum();
        assert_eq!(result.totals.requests, sum);
    }
}

#[test]
fn workflows_that_are_ready_together_run_together_on_shared_cores() {
    let target = Target::start(&[]);
    let one = |path: &str| {
        format!("{{ vus: 2, duration: 1s, steps: {{ get: {{ http: \"{{{{ base }}}}/{path}\" }} }} }}")
    };
    let [a, b, c, d] = ["a", "b", "c", "d"].map(one);
    let plan = format!("vars: {{ base: \"\" }}\nworkflows:\n  A: {a}\n  B: {b}\n  C: {c}\n  D: {d}\n");
    let result = run_plan(&target, &plan, &["--cores", "2"]).result(0);
    assert_books(&result);
    for workflow in &result.workflows {
        assert_eq!(workflow.cores, 2, "{}", workflow.name);
    }
    assert_eq!(target.seen().requests, result.totals.requests);
}

#[test]
fn a_workflow_without_a_free_core_says_that_it_waits() {
    let target = Target::start(&[]);
    let one = "{ vus: 1, iterations: 3, priority: normal, steps: { get: { http: \"{{ base }}/\" } } }";
    let plan = format!("vars: {{ base: \"\" }}\nworkflows:\n  A: {one}\n  B: {one}\n  C: {one}\n");
    let file = PlanFile::new(&plan);
    let base = format!("base={}", target.base);
    let outcome = run(&["run", &file.path(), "--no-ui", "--cores", "2", "--var", &base]);
    outcome.assert_told(0, &["C: ready, waiting_for_cores: needs 1 free core, which others have"]);
    for (cores, waiting) in [("2", 1), ("3", 0)] {
        let mut command = hyperscale();
        command.args(["validate", &file.path(), "--explain", "--var", &base]).env("HYPERSCALE_CORES", cores);
        let explained = Process::spawn(&mut command).wait().stdout;
        assert_eq!(
            explained.matches("ready, waiting_for_cores until others have ended").count(),
            waiting,
            "{explained}"
        );
    }
}

#[test]
fn a_mix_is_split_by_weight_to_the_request() {
    let target = Target::start(&[]);
    let one = |path: &str, weight: u32| {
        format!("{{ weight: {weight}, steps: {{ get: {{ http: \"{{{{ base }}}}/{path}\" }} }} }}")
    };
    let plan = format!(
        "vars: {{ base: \"\" }}\nload: {{ rate: 100/s, duration: 1s }}\nworkflows:\n  Browse: {}\n  Buy: {}\n\
         thresholds: [ failed.rate < 1%, completed == 100 ]\n",
        one("browse", 70),
        one("buy", 30)
    );
    let result = run_plan(&target, &plan, &["--cores", "2"]).result(0);
    assert_books(&result);
    let seen = target.seen();
    assert_eq!((seen.at("/browse"), seen.at("/buy")), (70, 30));
    assert!(result.thresholds_passed && result.thresholds.len() == 2, "{:?}", result.thresholds);
}
