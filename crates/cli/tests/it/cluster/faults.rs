//! Nodes of three managers and four workers are killed, restarted and given another secret while load runs.

use serde_json::Value;

use super::nodes::{Cluster, SECRET, SECRET_PREVIOUS, lasting};
use super::{browse, result, submit};
use crate::support::{PlanFile, Process, Target, run, wait_until};

/// Submits to one manager, which leads the job then.
pub(super) fn submit_to(cluster: &Cluster, manager: usize, plan: &PlanFile) -> String {
    let submitted =
        cluster.ask_alone(&["submit", &plan.path(), "--json", "--server", &cluster.server(manager)]);
    assert_eq!(submitted.code, 0, "{submitted}");
    let submitted: Value = serde_json::from_str(&submitted.stdout).unwrap();
    submitted["job"].as_str().unwrap().to_owned()
}

/// Counts agree exactly, or what is missing is named and was seen.
#[track_caller]
pub(super) fn assert_reconciles(ended: &Value, seen: u64) {
    let reported = ended["totals"]["requests"].as_u64().unwrap();
    let unreported = ended["loss"]["unreported"].as_array().unwrap();
    if unreported.is_empty() {
        assert_eq!(reported, seen, "nothing is said to be missing: {}", ended["loss"]);
    } else {
        assert!(reported <= seen, "{reported} reported, {seen} seen");
    }
}

/// The job completed, and no healthy segment was touched.
#[track_caller]
fn assert_untouched(cluster: &Cluster, job: &str, target: &Target) {
    let ended = result(cluster, job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["totals"]["requests"], target.seen().requests, "all requests are counted");
    assert_eq!(ended["loss"]["workers_lost"], 0);
}

#[test]
fn leader_of_the_group_that_leads_the_job_is_killed() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(4);
    let leader = cluster.leader();
    let job = submit_to(&cluster, leader, &browse(&target, 4, &lasting(5)));
    target.wait_for_requests(1);
    assert_eq!(cluster.leader_of(&job), leader);
    cluster.managers[leader].take().unwrap().kill();
    assert_untouched(&cluster, &job, &target);
}

#[test]
fn job_leader_that_does_not_lead_the_group_is_killed() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(4);
    let follower = (cluster.leader() + 1) % 3;
    let job = submit_to(&cluster, follower, &browse(&target, 4, &lasting(5)));
    target.wait_for_requests(1);
    assert_eq!(cluster.leader_of(&job), follower);
    cluster.managers[follower].take().unwrap().kill();
    assert_untouched(&cluster, &job, &target);
}

#[test]
fn job_leader_that_was_stopped_is_replaced_and_changes_nothing_when_it_wakes() {
    let target = Target::start(&[]);
    let cluster = Cluster::start(4);
    let (stopped, other) = ((cluster.leader() + 1) % 3, cluster.leader());
    let job = submit_to(&cluster, stopped, &browse(&target, 4, &lasting(5)));
    target.wait_for_requests(1);
    assert_eq!(cluster.leader_of(&job), stopped);
    let manager = cluster.managers[stopped].as_ref().unwrap();
    manager.signal("STOP");
    wait_until("another leader of the job", || {
        let leaders =
            cluster.ask_alone(&["cluster", "leaders", "--json", "--server", &cluster.server(other)]);
        let leaders: Value = serde_json::from_str(&leaders.stdout).ok()?;
        let leader = leaders["jobs"].as_array()?.iter().find(|line| line["job"] == job)?["leader"].clone();
        (leader.is_string() && leader != format!("m{stopped}")).then_some(())
    });
    manager.signal("CONT");
    assert_untouched(&cluster, &job, &target);
}

#[test]
fn all_managers_are_killed_at_once_and_come_back_under_load() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(4);
    let job = submit(&cluster, &browse(&target, 4, &lasting(6)), &[]);
    target.wait_for_requests(1);
    for manager in &mut cluster.managers {
        manager.take().unwrap().kill();
    }
    (0..3).for_each(|index| cluster.start_manager(index));
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_reconciles(&ended, target.seen().requests);
    let jobs = cluster.json(&["jobs"]);
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "it ended once: {jobs}");
}

/// Restarts every node, one after the other, while jobs run; their ids.
fn restart_all(cluster: &mut Cluster, target: &Target) -> Vec<String> {
    let mut jobs = Vec::new();
    for index in 0..3 {
        jobs.push(submit(cluster, &browse(target, 2, &lasting(2)), &[]));
        let manager = cluster.managers[index].take().unwrap();
        manager.signal("TERM");
        assert!(manager.ended(), "it ends well");
        cluster.start_manager(index);
        cluster.wait_for_workers(4);
    }
    for index in 0..4 {
        jobs.push(submit(cluster, &browse(target, 2, &lasting(1)), &[]));
        let worker = cluster.workers[index].take().unwrap();
        worker.signal("TERM");
        assert!(worker.ended(), "it finishes what it has and ends well");
        cluster.start_worker(index);
        cluster.wait_for_workers(4);
    }
    jobs
}

/// All of them completed, and together they report what the target saw.
fn assert_all_counted(cluster: &Cluster, jobs: &[String], target: &Target) {
    let ended: Vec<Value> = jobs.iter().map(|job| result(cluster, job)).collect();
    for one in &ended {
        assert_eq!((&one["status"], &one["loss"]["workers_lost"]), (&"completed".into(), &0.into()), "{one}");
    }
    let reported: u64 = ended.iter().map(|one| one["totals"]["requests"].as_u64().unwrap()).sum();
    assert_eq!(reported, target.seen().requests);
}

#[test]
fn every_node_restarts_one_after_the_other_under_load() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(4);
    let jobs = restart_all(&mut cluster, &target);
    assert_all_counted(&cluster, &jobs, &target);
}

#[test]
fn secret_is_rotated_under_load() {
    let secret = || run(&["secret"]).stdout.trim().to_owned();
    let (old, new) = (secret(), secret());
    let target = Target::start(&[]);
    let mut cluster = Cluster::start_with_secret(4, &old);
    cluster.environment = vec![(SECRET, new.clone()), (SECRET_PREVIOUS, old)];
    let mut jobs = restart_all(&mut cluster, &target);
    cluster.environment = vec![(SECRET, new)];
    jobs.extend(restart_all(&mut cluster, &target));
    assert_all_counted(&cluster, &jobs, &target);
}

#[test]
fn full_cluster_queues_jobs_and_serves_the_higher_priority_first() {
    let target = Target::start(&[]);
    let cluster = Cluster::start(1);
    let plan = |path: &str, priority: &str, duration: &str| {
        PlanFile::new(&format!(
            "workflows:\n  Work:\n    vus: 1\n    duration: {duration}\n    priority: {priority}\n    steps:\n      \
             call: {{ http: {{ url: '{}{path}' }} }}\n",
            target.base
        ))
    };
    let first = submit(&cluster, &plan("/first", "normal", &lasting(4)), &[]);
    wait_until("the first job", || (target.seen().at("/first") > 0).then_some(()));
    // One manager leads both, and serves its jobs by priority; of jobs of two leaders only an older claim is not overtaken.
    let low = submit_to(&cluster, 0, &plan("/low", "low", "1s"));
    let high = submit_to(&cluster, 0, &plan("/high", "high", "1s"));
    let waiting = cluster.json(&["jobs"]);
    let queued = waiting["jobs"].as_array().unwrap().iter().filter(|job| job["status"] == "queued").count();
    assert_eq!(queued, 2, "{waiting}");
    wait_until("the job of high priority", || (target.seen().at("/high") > 0).then_some(()));
    assert_eq!(target.seen().at("/low"), 0, "it was accepted earlier, and is less urgent");
    for job in [first, low, high] {
        assert_eq!(result(&cluster, &job)["status"], "completed");
    }
}

#[test]
fn nodes_that_may_not_join_are_told_why_and_change_nothing() {
    let cluster = Cluster::start(1);
    // The same data directory: a second process under the same id.
    let folder = cluster.data[0].to_str().unwrap();
    run(&["manager", "--id", "m0", "--timers", "test", "--data", folder]).assert_told(1, &["data directory"]);
    // Another secret: it says so, never becomes a member, and is counted.
    let mut stranger = cluster.client();
    stranger.env(SECRET, run(&["secret"]).stdout.trim());
    stranger.args(["worker", "--id", "w9", "--timers", "test", "--managers", &cluster.addresses.join(",")]);
    let stranger = Process::spawn(&mut stranger);
    stranger.wait_for_note("most likely it has another secret");
    let ready: Value = serde_json::from_str(&stranger.printed()[0]).unwrap();
    let http = cluster.managers[0].as_ref().unwrap().http.clone();
    wait_until("refused frames", || {
        let metrics = crate::support::get(&http, "/metrics");
        let refused = metrics.lines().filter(|line| line.starts_with("hyperscale_frames_refused_total"));
        refused.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).find(|count| *count > 0.0)
    });
    assert!(
        crate::support::get(ready["http"].as_str().unwrap(), "/readyz").starts_with("HTTP/1.1 503"),
        "it is not registered"
    );
    stranger.signal("KILL");
    stranger.wait();
    let status = cluster.json(&["cluster", "status"]);
    assert_eq!(status["workers"].as_array().unwrap().len(), 1, "{status}");
    // What is no address is said; a name that has none yet is waited for, if no other is known.
    let wrong = ["worker", "--id", "w9", "--timers", "test", "--managers", "m0"];
    run(&wrong).assert_told(2, &["`m0` is no address of a node", "HOST:PORT"]);
    let managers = format!("m9.invalid:7100,{}", cluster.addresses[1]);
    let worker = ["worker", "--id", "w8", "--timers", "test", "--dc", "eu", "--managers", &managers];
    let _worker = super::nodes::Node::spawn(cluster.client().args(worker));
    cluster.wait_for_workers(2);
}
