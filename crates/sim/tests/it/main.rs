//! Whole seeds: the same one gives the same run, and a broken rule is noticed.

use hyperscale_sim::{Bug, Options, run, teeth};

#[test]
fn same_seed_gives_the_same_trace_and_another_seed_another() {
    for seed in [3, 1000] {
        let [first, second, other] = [seed, seed, seed + 1].map(|seed| run(seed, Options::small()));
        assert_eq!((first.trace, first.events), (second.trace, second.events), "seed {seed}");
        assert_ne!(first.trace, other.trace, "seed {seed}");
    }
}

#[test]
fn keeping_events_does_not_change_the_run() {
    let plain = run(5, Options::small());
    let recorded = run(5, Options { record: true, ..Options::small() });
    assert_eq!(plain.trace, recorded.trace);
}

#[test]
fn broken_rule_is_noticed_and_the_report_repeats_it() {
    let bug: Bug = "swim:LeftFiresDied".parse().unwrap();
    let caught = teeth::recorded().unwrap().into_iter().find(|it| it.bug == bug).unwrap();
    let options = Options { bug: Some(bug), ..Options::small() };
    let report = hyperscale_sim::report::failure(caught.seed, options);
    assert!(report.contains("BROKE death_events"), "{report}");
    assert!(report.contains(&format!("cargo xtask sim --seed {} --bug swim:LeftFiresDied", caught.seed)));
    assert!(report.contains("last events of"));
}
