//! The outside witness for every load model: what a run reports is what the target saw, request by request.

use hyperscale_stats::saturation::Measure;

use crate::support::{Target, assert_witnessed, run, run_plan, workflow};

/// A plan with the given load keys and three steps on paths of their own, two of them side by side.
fn plan(load: &str) -> String {
    format!(
        r#"
vars: {{ base: "" }}
workflows:
  Load:
    {load}
    steps:
      first: {{ http: "{{{{ base }}}}/first" }}
      left: {{ http: "{{{{ base }}}}/left" }}
      right: {{ after: [first], http: {{ url: "{{{{ base }}}}/right", json: {{ n: "{{{{ vu.iteration }}}}" }} }} }}
"#
    )
}

const STEPS: [(&str, &str); 3] = [("first", "/first"), ("left", "/left"), ("right", "/right")];

/// Runs the plan on one core and on two; both must agree with the witness.
#[track_caller]
fn witness(load: &str, check: impl Fn(&hyperscale_stats::result::WorkflowResult)) {
    for cores in ["1", "2"] {
        let target = Target::start(&[]);
        let result = run_plan(&target, &plan(load), &["--cores", cores]).result(0);
        assert_witnessed(&result, &target.seen(), &STEPS);
        let load = workflow(&result, "Load");
        assert!(load.iterations.started > 0);
        assert_eq!(load.iterations.failed + load.iterations.interrupted, 0, "{:?}", load.iterations);
        for step in &load.steps {
            assert_eq!(step.count, load.iterations.started, "{}", step.name);
        }
        check(load);
    }
}

#[test]
fn closed_constant_is_counted_exactly() {
    witness("load: { vus: 8, duration: 500ms }", |load| assert_eq!(load.vus, 8));
}

#[test]
fn closed_ramping_is_counted_exactly() {
    witness(
        "load: { stages: [{ to: 8, over: 300ms }, { hold: 200ms }, { to: 0, over: 200ms }], start: 1 }",
        |_| {},
    );
}

#[test]
fn shared_iterations_are_counted_exactly() {
    witness("load: { vus: 7, iterations: 100 }", |load| assert_eq!(load.iterations.started, 100));
}

#[test]
fn iterations_per_vu_are_counted_exactly() {
    witness("load: { vus: 7, iterations_per_vu: 11 }", |load| assert_eq!(load.iterations.started, 77));
}

#[test]
fn open_uniform_is_counted_exactly() {
    witness("load: { rate: 200/s, duration: 600ms }", |load| {
        let scheduled = load.iterations.scheduled.unwrap();
        assert!((119..=121).contains(&scheduled), "integral of the curve is 120, scheduled {scheduled}");
        assert_eq!(load.iterations.dropped, 0);
    });
}

#[test]
fn open_poisson_is_counted_exactly() {
    witness("load: { rate: 200/s, duration: 600ms, arrivals: poisson }", |load| {
        assert_eq!(load.iterations.scheduled, Some(load.iterations.started + load.iterations.dropped));
    });
}

#[test]
fn open_ramping_is_counted_exactly() {
    witness(
        "load: { rate: 0/s, stages: [{ to: 300/s, over: 400ms }, { hold: 200ms }, { to: 0/s, over: 400ms }] }",
        |load| {
            let scheduled = load.iterations.scheduled.unwrap();
            assert!((179..=181).contains(&scheduled), "integral of the curve is 180, scheduled {scheduled}");
        },
    );
}

#[test]
fn paced_is_counted_exactly() {
    witness("load: { vus: 5, interval: 100ms, duration: 600ms }", |load| {
        // A machine that stalls loses starts, which a pace does not make up for. That it is kept exactly is tested with
        // a clock that is a model, in the engine.
        assert!((5..=5 * 6).contains(&load.iterations.started), "{:?}", load.iterations);
    });
}

#[test]
fn starts_that_may_not_wait_are_dropped_and_counted() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Load:
    load: { rate: 100/s, duration: 500ms, max_vus: 2, late: drop }
    steps:
      slow: { http: "{{ base }}/delay/200" }
"#;
    let result = run_plan(&target, plan, &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("slow", "/delay/200")]);
    let iterations = workflow(&result, "Load").iterations;
    assert!(iterations.dropped > 0 && iterations.late >= iterations.dropped, "{iterations:?}");
}

#[test]
fn starts_that_queue_are_late_and_all_begin() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Load:
    load: { rate: 40/s, duration: 500ms, max_vus: 2 }
    steps:
      slow: { http: "{{ base }}/delay/100" }
"#;
    let result = run_plan(&target, plan, &["--cores", "1"]).result(0);
    assert_witnessed(&result, &target.seen(), &[("slow", "/delay/100")]);
    let load = workflow(&result, "Load");
    assert_eq!(load.iterations.dropped, 0);
    assert!(load.iterations.late > 0);
    let slow = &load.steps[0];
    assert!(
        slow.times.latency_us.max > 2.0 * slow.times.service_us.max,
        "queueing is part of the latency, not of the service time"
    );
}

#[test]
fn an_open_load_lasts_as_long_as_its_curve() {
    let target = Target::start(&[]);
    // The last start is due after 1.5 s of 2 s and takes longer than graceful_stop, but not than both.
    let plan = r#"
vars: { base: "" }
workflows:
  Load:
    load: { rate: 1/s, duration: 2s }
    graceful_stop: 10ms
    steps:
      slow: { http: "{{ base }}/delay/100" }
thresholds:
  - Load.rate <= 1/s
"#;
    let result = run_plan(&target, plan, &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("slow", "/delay/100")]);
    let load = workflow(&result, "Load");
    assert_eq!((load.iterations.completed, load.iterations.interrupted), (2, 0), "{:?}", load.iterations);
    assert!(load.elapsed_s >= 2.0, "{}", load.elapsed_s);
}

#[test]
fn starts_that_wait_for_a_free_vu_are_told_from_a_late_generator() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Load:
    load: { rate: 500/s, duration: 3s, max_vus: 1 }
    graceful_stop: 100ms
    steps:
      slow: { http: "{{ base }}/delay/5" }
"#;
    let result = run_plan(&target, plan, &["--cores", "1"]).result(0);
    let load = workflow(&result, "Load");
    assert!(
        load.iterations.late > load.iterations.started,
        "the target is overloaded: {:?}",
        load.iterations
    );
    let measures = |measure| result.validity.saturation.iter().any(|interval| interval.measure == measure);
    assert!(measures(Measure::Vus), "starts waited for the only VU: {:?}", result.validity.saturation);
    assert!(
        !measures(Measure::Lag),
        "no start was late for another reason: {:?}",
        result.validity.saturation
    );
    let warnings = &result.validity.warnings;
    assert!(
        warnings.iter().any(|warning| warning.contains("were dropped: the target got less load")),
        "{warnings:?}"
    );
}

#[test]
fn https_and_http2_are_counted_exactly() {
    let target = Target::start(&["--tls"]);
    let ca = target.ca();
    let plan = |version: &str| {
        format!(
            r#"
vars: {{ base: "" }}
defaults: {{ http: {{ version: "{version}", tls: {{ ca: {} }} }} }}
workflows:
  Load:
    vus: 4
    iterations_per_vu: 15
    ramp: 10ms
    steps:
      first: {{ http: "{{{{ base }}}}/first" }}
      post: {{ http: {{ url: "{{{{ base }}}}/post", body: "hello" }} }}
"#,
            ca.display()
        )
    };
    for version in ["1.1", "2", "auto"] {
        target.reset();
        let result = run_plan(&target, &plan(version), &["--cores", "2"]).result(0);
        assert_witnessed(&result, &target.seen(), &[("first", "/first"), ("post", "/post")]);
        let load = workflow(&result, "Load");
        assert_eq!(load.steps[0].ok, 60);
        assert_eq!(load.steps[0].times.phases_us.tls.count, 4, "one handshake per virtual user");
    }
}

#[test]
fn http2_with_prior_knowledge_is_counted_exactly_with_own_and_shared_connections() {
    for connections in ["", ", connections: 1"] {
        let target = Target::start(&[]);
        let plan = format!(
            r#"
vars: {{ base: "" }}
workflows:
  Load:
    vus: 8
    duration: 400ms
    steps:
      get: {{ http: {{ url: "{{{{ base }}}}/get", version: "2"{connections} }} }}
"#
        );
        let result = run_plan(&target, &plan, &["--cores", "1"]).result(0);
        let seen = target.seen();
        assert_witnessed(&result, &seen, &[("get", "/get")]);
        assert_eq!(seen.connections.opened, if connections.is_empty() { 8 } else { 1 });
    }
}

#[test]
fn a_url_is_loaded_without_a_plan() {
    let target = Target::start(&[]);
    let url = format!("{}/page", target.base);
    for args in [
        vec!["-c", "4", "-d", "300ms"],
        vec!["-c", "4", "-n", "50"],
        vec!["-r", "200", "-d", "300ms"],
        vec!["-c", "2", "-d", "300ms", "--http2"],
        vec![
            "-c",
            "2",
            "-n",
            "20",
            "-X",
            "PUT",
            "-H",
            "x-a: 1",
            "-H",
            "x-b: 2",
            "-b",
            "text",
            "--no-keepalive",
        ],
    ] {
        target.reset();
        let mut all = vec!["run", url.as_str(), "--json"];
        all.extend(&args);
        let result = run(&all).result(0);
        assert_witnessed(&result, &target.seen(), &[("request", "/page")]);
        assert!(result.totals.ok > 0, "{args:?}");
    }
}

#[test]
fn a_load_that_does_less_than_it_says_is_told_before_and_after() {
    let target = Target::start(&[]);
    for (load, before, after) in [
        ("rate: 1/m\n    duration: 1s", "this load starts nothing", "no iteration was started"),
        ("vus: 10\n    duration: 1s\n    ramp: 5s", "the ramp of 5s is longer", "virtual users were started"),
        (
            "vus: 1\n    iterations: 100000000\n    max_duration: 200ms",
            "",
            "of 100000000 iterations were started",
        ),
    ] {
        let plan = format!(
            "vars: {{ base: \"\" }}\nworkflows:\n  W:\n    {load}\n    steps: {{ get: {{ http: \"{{{{ base }}}}/\" }} }}\n"
        );
        let outcome = run_plan(&target, &plan, &[]);
        outcome.assert_told(0, &[before]);
        let notes = workflow(&outcome.result(0), "W").notes.join("\n");
        assert!(notes.contains(after), "{load}: {notes}");
    }
    let plan = "vars: { base: \"\" }\nworkflows: { W: { vus: 2, iterations: 4, steps: { get: { http: \"{{ base }}/\" } } } }";
    assert!(workflow(&run_plan(&target, plan, &[]).result(0), "W").notes.is_empty());
}

#[test]
fn starts_that_a_slow_iteration_misses_are_counted() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Slow: { load: { vus: 1, interval: 100ms, duration: 1s }, steps: { slow: { http: "{{ base }}/delay/250" } } }
thresholds: ["Slow.missed == 0"]
"#;
    let result = run_plan(&target, plan, &[]).result(99);
    let iterations = workflow(&result, "Slow").iterations;
    let missed = iterations.missed.expect("an iteration lasts two and a half intervals");
    // Both together are the starts of the pace, without those that the last iteration missed.
    assert!(
        (4..=11).contains(&(iterations.started + missed)) && missed >= iterations.started - 1,
        "{iterations:?}"
    );
    assert_eq!(result.thresholds[0].value, Some(missed as f64));
}
