//! Latency, errors and stalls that come over every answer.

use std::time::{Duration, Instant};

use crate::wire::{Site, site};

fn statuses(site: &Site, count: usize) -> Vec<u16> {
    let mut wire = site.connect();
    (0..count).map(|_| wire.get("/").status).collect()
}

#[test]
fn latency_is_added_before_every_answer() {
    let site = site(|options| options.latency = "20ms".parse().expect("a latency"));
    let begin = Instant::now();
    assert_eq!(statuses(&site, 3), [200; 3]);
    assert!(begin.elapsed() >= Duration::from_millis(60), "{:?}", begin.elapsed());
}

#[test]
fn error_rate_decides_by_the_seed() {
    let run = |seed| {
        let site = site(|options| {
            options.error_rate = "30%".parse().expect("a rate");
            options.seed = seed;
        });
        let statuses = statuses(&site, 200);
        let failed = statuses.iter().filter(|status| **status == 500).count();
        assert_eq!(site.stats()["by_status"]["500"], failed);
        assert!((30..90).contains(&failed), "{failed} of 200");
        statuses
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn control_routes_are_never_failed() {
    let site = site(|options| options.error_rate = "100%".parse().expect("a rate"));
    assert_eq!(site.get("/").status, 500);
    assert_eq!(site.get("/json").status, 500);
    assert_eq!(site.get("/__stats").status, 200);
}

#[test]
fn stall_counts_requests_but_answers_them_after_its_end() {
    let site = site(|options| options.stall = Some("1s,300ms".parse().expect("a stall")));
    let begin = Instant::now();
    let mut wire = site.connect();
    // Answers flow until the stall begins; the one that falls into it comes when it ends.
    let mut longest = Duration::ZERO;
    while longest < Duration::from_millis(200) {
        let sent = Instant::now();
        assert_eq!(wire.get("/").status, 200);
        longest = longest.max(sent.elapsed());
        assert!(begin.elapsed() < Duration::from_secs(10), "no answer was ever stalled");
    }
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
}
