//! What a manager does is proportional to what changes, not to the number of jobs it leads.

use std::time::Duration;

use super::model::{Cluster, manager};

const PLAN: &str = "workflows:\n  Browse: { vus: 1, duration: 5s, steps: { home: { http: 'http://x/' } } }\n";
const JOBS: u64 = 1_000;

#[test]
fn jobs_that_wait_cost_nothing_and_are_looked_after_when_cores_change() {
    let mut cluster = Cluster::ready(&[]);
    cluster.wait("a leader", Duration::from_secs(10), |cluster| cluster.cluster_leader().is_some());
    let requests: Vec<_> = (0..JOBS)
        .map(|number| {
            cluster.run(Duration::from_millis(20));
            cluster.submit(manager(1), &number.to_string(), PLAN)
        })
        .collect();
    for request in requests {
        cluster.response(request);
    }
    cluster.run(Duration::from_secs(5));
    let drives = |cluster: &Cluster| (1..=3).map(|number| cluster.drives(manager(number))).sum::<u64>();
    let before = drives(&cluster);
    cluster.run(Duration::from_secs(10));
    let idle = drives(&cluster) - before;
    assert!(idle < JOBS / 10, "{idle} drives in 10 s without any change");
    let before = drives(&cluster);
    cluster.start_worker(super::model::worker(1), 1);
    cluster.wait("one runs", Duration::from_secs(5), |cluster| cluster.running().len() == 1);
    cluster.run(Duration::from_secs(3));
    let changed = drives(&cluster) - before;
    // Every job that waits hears of every change of the cores, at most once per tick; the one that runs is driven by its progress.
    assert!(changed < 20 * JOBS, "{changed} drives");
}
