//! When iterations start and end, by a clock that is a model: exact, whatever the machine does.

use crate::support::{run_by_model_clock, step};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[test]
fn a_pace_is_kept_exactly() {
    // Virtual users begin within the first 60 ms; each starts an iteration every 100 ms of 600 ms.
    let totals = run_by_model_clock(
        "vus: 5\ninterval: 100ms\nduration: 600ms\nsteps:\n  a: { http: http://x/a, think: 7ms }",
        OK,
    );
    assert_eq!(totals.iterations.completed, 30);
    // Timers fire up to a millisecond late. That must not add up: 1 000 starts fit into 10 s exactly.
    let totals = run_by_model_clock(
        "vus: 1\nramp: 0s\ninterval: 10ms\nduration: 10s\nsteps:\n  a: { http: http://x/a, think: { min: 1ms, max: 3ms } }",
        OK,
    );
    assert_eq!(totals.iterations.completed, 1_000);
}

#[test]
fn a_slow_iteration_shifts_the_pace_and_is_not_made_up_for() {
    let totals = run_by_model_clock(
        "vus: 1\nramp: 0s\ninterval: 100ms\nduration: 1s\nsteps:\n  a: { http: http://x/a }\n  b: { sleep: 350ms, when: vu.iteration == 0 }",
        OK,
    );
    // At 0, 350 (or a timer's millisecond later), 450, …, 950 ms.
    assert_eq!(totals.iterations.completed, 8);
}

#[test]
fn virtual_users_start_spread_over_the_ramp() {
    // Each of the ten starts 100 ms after the one before it and has an iteration every 95 ms: 10 + 9 + … + 1 end in time.
    let totals = run_by_model_clock(
        "vus: 10\nramp: 1s\nduration: 1s\ngraceful_stop: 0s\nsteps:\n  a: { sleep: 95ms }",
        OK,
    );
    assert_eq!(totals.iterations.completed, 55, "{:?}", totals.iterations);
    let at_once = run_by_model_clock(
        "vus: 10\nramp: 0s\nduration: 1s\ngraceful_stop: 0s\nsteps:\n  a: { sleep: 95ms }",
        OK,
    );
    assert_eq!(at_once.iterations.completed, 100, "{:?}", at_once.iterations);
}

#[test]
fn graceful_stop_lets_think_times_between_steps_end_and_cuts_longer_ones_off() {
    let with = |graceful: &str| {
        run_by_model_clock(
            &format!(
                "vus: 3\nramp: 0s\nduration: 1s\ngraceful_stop: {graceful}\nsteps:\n  a: {{ http: http://x/a, think: 5s }}\n  b: {{ http: http://x/b, think: 5s }}"
            ),
            OK,
        )
    };
    let long = with("10s");
    assert_eq!((long.iterations.completed, long.iterations.interrupted), (3, 0));
    assert_eq!(step(&long, "b").ok, 3, "the think time between two steps is part of the iteration");
    let short = with("2s");
    assert_eq!((short.iterations.completed, short.iterations.interrupted), (0, 3));
    assert_eq!(step(&short, "b").count, 0);
}
