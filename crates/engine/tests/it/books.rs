//! What is counted for which course of events.

use crate::support::{answer, run, step};
use hyperscale_stats::saturation::Measure;
use hyperscale_types::ErrorKind;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[test]
fn iterations_are_shared_exactly() {
    let totals =
        run("vus: 3\niterations: 100\nsteps:\n  a: { http: http://x/a }\n  b: { http: http://x/b }", OK);
    assert_eq!(totals.iterations.started, 100);
    assert_eq!(totals.iterations.completed, 100);
    assert_eq!((step(&totals, "a").ok, step(&totals, "b").ok), (100, 100));
    assert_eq!(step(&totals, "a").requests, 100);
}

#[test]
fn iterations_per_vu_are_counted_for_each() {
    let totals = run("vus: 3\niterations_per_vu: 5\nsteps:\n  a: { http: http://x/a }", OK);
    assert_eq!(totals.iterations.completed, 15);
}

#[test]
fn a_failed_step_skips_its_dependents_and_fails_the_iteration() {
    let totals = run(
        "vus: 1\niterations: 4\nsteps:\n  a: { http: http://x/a }\n  b: { http: http://x/b }\n  c: { http: http://x/c }",
        &answer(500, "no"),
    );
    assert_eq!(totals.iterations.failed, 4);
    assert_eq!(step(&totals, "a").errors[ErrorKind::Status.index()], 4);
    assert_eq!((step(&totals, "b").count, step(&totals, "b").skipped), (0, 4));
    assert_eq!(step(&totals, "c").skipped, 4);
}

#[test]
fn a_fork_loses_only_the_descendants_of_the_failed_step() {
    let steps = "vus: 1\niterations: 3\nsteps:
  a: { after: [], http: http://x/a, expect: { status: 404 } }
  b: { after: [], http: http://x/b }
  c: { after: [a], http: http://x/c }
  d: { after: [b, c], http: http://x/d }
  e: { after: [b], http: http://x/e }";
    let totals = run(steps, OK);
    assert_eq!(totals.iterations.failed, 3);
    assert_eq!(step(&totals, "a").failed, 3);
    assert_eq!(step(&totals, "b").ok, 3);
    assert_eq!(step(&totals, "e").ok, 3, "independent of the failed step");
    assert_eq!((step(&totals, "c").skipped, step(&totals, "d").skipped), (3, 3));
}

#[test]
fn extractions_reach_later_steps_and_missing_ones_fail_the_step() {
    let found = run(
        "vus: 1\niterations: 2\nsteps:
  login: { http: http://x/login, extract: { token: { json: $.token } } }
  use: { http: { url: 'http://x/{{ login.token }}' } }",
        &answer(200, r#"{"token":"t"}"#),
    );
    assert_eq!(step(&found, "use").ok, 2);
    let missing = run(
        "vus: 1\niterations: 2\nsteps:
  login: { http: http://x/login, extract: { token: { json: $.nothing } } }
  use: { http: { url: 'http://x/{{ login.token }}' } }",
        &answer(200, r#"{"token":"t"}"#),
    );
    assert_eq!(step(&missing, "login").errors[ErrorKind::Extract.index()], 2);
    assert_eq!(step(&missing, "use").skipped, 2);
}

#[test]
fn a_template_that_refers_to_nothing_sends_nothing() {
    let totals = run(
        "vus: 1\niterations: 2\nsteps:
  a: { http: http://x/a }
  b: { http: { url: 'http://x/{{ a.json.nothing }}' } }",
        &answer(200, "{}"),
    );
    let b = step(&totals, "b");
    assert_eq!((b.count, b.requests, b.errors[ErrorKind::Template.index()]), (2, 0, 2));
}

#[test]
fn checks_are_counted_and_do_not_fail_the_call() {
    let totals = run(
        "vus: 1\niterations: 5\nsteps:
  a: { http: http://x/a, check: { status: 200, expr: { big: a.json.total > 100, small: a.json.total < 100 } } }",
        &answer(200, r#"{"total": 7}"#),
    );
    assert_eq!(step(&totals, "a").ok, 5);
    let checks: Vec<(u64, u64)> = totals.checks().iter().map(|check| (check.passed, check.failed)).collect();
    assert_eq!(checks, [(5, 0), (0, 5), (5, 0)]);
}

#[test]
fn a_check_with_stop_ends_what_it_says() {
    let vu = run(
        "vus: 3\niterations: 100\nsteps:\n  a: { http: http://x/a, check: { status: 404, stop: vu } }",
        OK,
    );
    assert_eq!(vu.iterations.started, 3, "each virtual user ends with its first iteration");
    assert_eq!(step(&vu, "a").errors[ErrorKind::Check.index()], 3);
    let iteration = run(
        "vus: 1\niterations: 4\nsteps:\n  a: { http: http://x/a, check: { status: 404, stop: iteration } }\n  b: { http: http://x/b }",
        OK,
    );
    assert_eq!((iteration.iterations.failed, step(&iteration, "b").skipped), (4, 4));
}

#[test]
fn when_skips_and_repeat_repeats() {
    let totals = run(
        "vus: 1\niterations: 4\nsteps:
  a: { http: http://x/a, repeat: 3 }
  b: { http: http://x/b, when: vu.iteration > 1 }
  c: { http: http://x/c }",
        OK,
    );
    assert_eq!(step(&totals, "a").ok, 12);
    assert_eq!((step(&totals, "b").ok, step(&totals, "b").skipped), (2, 2));
    assert_eq!(step(&totals, "c").ok, 4, "a skipped step does not hold its dependents back");
}

#[test]
fn kept_values_survive_iterations_and_others_do_not() {
    let totals = run(
        "vus: 1\niterations: 4\nkeep: { seen: { value: '{{ vu.seen + a.json.n }}', initial: 0 } }\nsteps:
  a: { http: http://x/a }
  sum: { metric: { sample: '{{ vu.seen }}' } }",
        &answer(200, r#"{"n": 2}"#),
    );
    assert_eq!(totals.iterations.completed, 4);
    assert_eq!(totals.metrics()[0].values().max(), Some(6.0), "0, 2, 4, 6");
}

#[test]
fn an_open_run_schedules_the_integral_of_its_curve() {
    let totals = run("rate: 500/s\nduration: 1s\nmax_vus: 50\nsteps:\n  a: { http: http://x/a }", OK);
    let iterations = totals.iterations;
    assert_eq!(iterations.scheduled, 500);
    assert_eq!(iterations.scheduled, iterations.started + iterations.dropped);
    assert_eq!(totals.lag.count(), iterations.started);
}

#[test]
fn a_late_start_is_dropped_or_queued_as_the_plan_says() {
    let thinking = "rate: 100/s\nduration: 500ms\nmax_vus: 1\ngraceful_stop: 100ms\nload: { late: LATE }\nsteps:\n  a: { http: http://x/a, think: 30ms }";
    let dropped = run(&thinking.replace("LATE", "drop"), OK);
    assert_eq!(dropped.iterations.scheduled, 50);
    assert!(dropped.iterations.dropped > 0, "one virtual user cannot keep up");
    let queued = run(&thinking.replace("LATE", "queue"), OK);
    assert_eq!(queued.iterations.scheduled, 50);
    assert!(queued.iterations.late > 0);
    let (latency, service) = (&step(&queued, "a").latency, &step(&queued, "a").service);
    assert!(
        latency.max_ns() > service.max_ns(),
        "latency counts from the intended start, service time from the actual one"
    );
}

#[test]
fn latency_counts_from_the_intended_start_whatever_stands_before_the_first_call() {
    let queued = |steps: &str| {
        let load = "rate: 200/s\nduration: 100ms\nmax_vus: 1\nsteps:\n";
        run(&[load, steps].concat(), OK)
    };
    // One virtual user that is busy for 30 ms per iteration cannot keep up with a start every 5 ms.
    for steps in [
        "  v: { set: { a: 1 } }\n  a: { http: http://x/a, think: 30ms }",
        "  no: { when: 'false', http: http://x/no }\n  a: { http: http://x/a, think: 30ms }",
        "  v: { after: [], set: { a: 1 } }\n  w: { after: [], set: { a: 1 } }\n  a: { after: [v, w], http: http://x/a, think: 30ms }",
    ] {
        let totals = queued(steps);
        let a = step(&totals, "a");
        let (latency, service) =
            (a.latency.mean_ns().expect("samples"), a.service.mean_ns().expect("samples"));
        assert!(latency > 3.0 * service, "{steps}: {latency} against {service}");
    }
    // A call after a sleep is not meant to begin at the start, and a second call is not either.
    for steps in [
        "  v: { sleep: 30ms }\n  a: { http: http://x/a }",
        "  b: { http: http://x/b, think: 30ms }\n  a: { http: http://x/a }",
        "  b: { after: [], http: http://x/b, think: 30ms }\n  v: { after: [], set: { a: 1 } }\n  a: { after: [b, v], http: http://x/a }",
    ] {
        let totals = queued(steps);
        let a = step(&totals, "a");
        assert_eq!(a.latency.max_ns(), a.service.max_ns(), "{steps}");
    }
}

#[test]
fn waiting_for_a_free_virtual_user_is_lag_of_a_measure_of_its_own() {
    for setup in ["", "vu_setup: [{ name: warm, sleep: 50ms }]\n"] {
        let load = "rate: 200/s\nduration: 200ms\nmax_vus: 1\n";
        let totals = run(&[load, setup, "steps:\n  a: { http: http://x/a, think: 20ms }"].concat(), OK);
        assert_eq!(totals.lag.count(), totals.iterations.started);
        // Of each group of four starts the last one waits for more than 60 ms.
        assert!(totals.lag.max_ns() > Some(60_000_000), "{:?}", totals.lag.max_ns());
        let measures: Vec<_> =
            totals.saturation.intervals().iter().map(|interval| interval.measure).collect();
        assert!(measures.contains(&Measure::Vus) && !measures.contains(&Measure::Lag), "{measures:?}");
    }
}

#[test]
fn a_start_whose_virtual_user_is_not_ready_in_time_is_late() {
    let totals = run(
        "rate: 10/s\nduration: 100ms\nmax_vus: 10\nvu_setup: [{ name: warm, sleep: 50ms }]\nsteps:\n  a: { http: http://x/a }",
        OK,
    );
    assert_eq!((totals.iterations.started, totals.iterations.late), (1, 1), "it began 50 ms after its time");
}

#[test]
fn checks_see_the_latency_that_the_statistics_say() {
    // Every start after the first waits for the one virtual user, which is busy for 50 ms.
    let totals = run(
        "rate: 100/s\nduration: 100ms\nmax_vus: 1\nsteps:
  a: { http: http://x/a, think: 50ms, check: { latency: < 30ms, expr: { seen: a.latency_ms < 30 } } }",
        OK,
    );
    let failed: Vec<u64> = totals.checks().iter().map(|check| check.failed).collect();
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|failed| *failed >= 8), "{failed:?} of 10");
}

#[test]
fn a_step_that_fails_is_followed_by_its_think_time_too() {
    let step_of = |tail: &str| {
        let steps = format!(
            "vus: 1\nduration: 300ms\nramp: 0s\nsteps:\n  a: {{ http: http://x/a, think: 50ms{tail} }}"
        );
        run(&steps, OK).iterations.started
    };
    // Six rests fit into the time. Without any there would be thousands.
    for failing in [
        ", expect: { status: 404 }",
        ", check: { status: 404, stop: iteration }",
        ", when: \"('a' | int) > 1\"",
    ] {
        assert!(step_of(failing) <= 7, "{failing}: {}", step_of(failing));
    }
}

#[test]
fn vu_setup_and_teardown_are_measured_apart() {
    let totals = run(
        "vus: 2\niterations: 10\nvu_setup:\n  - { name: login, http: http://x/login, extract: { t: { status: true } } }\nvu_teardown:\n  - { name: logout, http: 'http://x/{{ login.t }}' }\nsteps:\n  a: { http: 'http://x/{{ login.t }}' }",
        OK,
    );
    assert_eq!(totals.load().count, 10);
    assert_eq!((step(&totals, "login").ok, step(&totals, "logout").ok), (2, 2));
}
