//! Clusters of real processes: what the result says is what the target saw, whoever dies.

mod authority;
mod config;
mod faults;
mod hosts;
mod network;
mod nodes;
mod operate;
mod tls;

use serde_json::Value;

use crate::support::{Outcome, PlanFile, Target, hyperscale, run, start, wait_until};
use nodes::{Cluster, lasting};

fn browse(target: &Target, vus: u32, duration: &str) -> PlanFile {
    PlanFile::new(&format!(
        "workflows:\n  Browse:\n    vus: {vus}\n    duration: {duration}\n    steps:\n      \
         home: {{ http: {{ url: '{}/' }} }}\n",
        target.base
    ))
}

/// Submits without waiting; the id of the job.
fn submit(cluster: &Cluster, plan: &PlanFile, args: &[&str]) -> String {
    let path = plan.path();
    let submitted = cluster.json(&[&["submit", &path], args].concat());
    submitted["job"].as_str().unwrap().to_owned()
}

/// The result of a job once it has ended.
fn result(cluster: &Cluster, job: &str) -> Value {
    wait_until("the end of the job", || {
        let outcome = cluster.ask(&["result", job, "--json"]);
        serde_json::from_str::<Value>(&outcome.stdout).ok()
    })
}

#[test]
fn plan_runs_on_a_cluster_and_the_result_counts_what_the_target_saw() {
    let target = Target::start(&[]);
    let cluster = Cluster::start(2);
    let plan = browse(&target, 4, "1s");
    let (path, servers) = (plan.path(), cluster.servers(0));
    let args = ["submit", &path, "--follow", "--json", "--server", &servers, "--idempotency-key", "once"];
    let followed = run(&args).result(0);
    assert_eq!(followed.totals.requests, target.seen().requests);
    assert!(followed.totals.requests > 0);
    // The same key is the same job: it is shown again, and nothing runs again.
    let again = run(&args).result(0);
    assert_eq!(again.totals.requests, target.seen().requests);
    let jobs = cluster.json(&["jobs"]);
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs}");
    let line = &jobs["jobs"][0];
    assert_eq!((&line["status"], &line["name"]), (&"completed".into(), &"plan".into()), "{line}");
    // Every manager knows when it began and how long it took.
    assert!(followed.started_at.parse::<jiff::Timestamp>().is_ok(), "{}", followed.started_at);
    for index in 0..3 {
        let asked = run(&["jobs", "--json", "--server", &cluster.server(index)]);
        let jobs: Value = serde_json::from_str(&asked.stdout).unwrap();
        assert_eq!(jobs["jobs"][0]["started_at"], followed.started_at, "{jobs}");
        assert_eq!(jobs["jobs"][0]["elapsed_s"], followed.elapsed_s, "{jobs}");
    }
    let (job, started) = (line["job"].as_str().unwrap(), followed.started_at.split('.').next().unwrap());
    assert_eq!(cluster.json(&["status", job])["started_at"], followed.started_at);
    let table = cluster.ask(&["jobs"]);
    assert!(table.stdout.contains(job) && table.stdout.contains(started), "{table}");
    let status = cluster.json(&["cluster", "status"]);
    assert_eq!((&status["quorum"]["reachable"], &status["quorum"]["needed"]), (&3.into(), &2.into()));
    let members = cluster.json(&["cluster", "members"]);
    assert_eq!(members["nodes"].as_array().unwrap().len(), 5, "{members}");
}

#[test]
fn rows_of_a_file_are_unique_across_workers_and_context_reaches_the_next_workflow() {
    let target = Target::start(&[]);
    let cluster = Cluster::start(2);
    let plan = PlanFile::new(&format!(
        "data: {{ users: {{ file: users.csv, order: unique, on_end: stop }} }}\n\
         workflows:\n  Login:\n    vus: 4\n    iterations_per_vu: 1\n    steps:\n      \
         row: {{ http: {{ url: '{0}/user/{{{{ data.users.name }}}}' }} }}\n  \
         After:\n    depends: [Login]\n    vus: 1\n    iterations: 1\n    steps:\n      \
         last: {{ http: {{ url: '{0}/after' }} }}\n",
        target.base
    ))
    .with("users.csv", "name\nada\nbob\ncyd\ndan\n");
    let job = submit(&cluster, &plan, &[]);
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    let seen = target.seen();
    for name in ["ada", "bob", "cyd", "dan"] {
        assert_eq!(seen.at(&format!("/user/{name}")), 1, "{seen:?}");
    }
    assert_eq!(seen.at("/after"), 1);
    assert_eq!(ended["totals"]["requests"], 5);
}

#[test]
fn job_leader_that_is_killed_is_replaced_while_a_client_follows() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(2);
    let plan = browse(&target, 2, "6s");
    let (path, servers) = (plan.path(), cluster.servers(0));
    let following = start(&["submit", &path, "--follow", "--json", "--server", &servers]);
    target.wait_for_requests(1);
    let jobs = cluster.json(&["jobs"]);
    let job = jobs["jobs"][0]["job"].as_str().unwrap().to_owned();
    let leader = cluster.leader_of(&job);
    cluster.managers[leader].take().unwrap().kill();
    let followed = following.wait().result(0);
    let seen = target.seen().requests;
    assert_eq!(followed.totals.requests, seen, "no healthy segment was cancelled or run twice");
    // Back from the dead, it knows the result too.
    cluster.start_manager(leader);
    assert_eq!(result(&cluster, &job)["totals"]["requests"], seen);
}

#[test]
fn worker_that_is_killed_leaves_a_named_gap_and_its_segment_is_resumed() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(3);
    let duration = lasting(12);
    let plan = browse(&target, 2, &duration);
    let job = submit(&cluster, &plan, &[]);
    target.wait_for_requests(1);
    let busy = cluster.busy_worker();
    cluster.workers[busy].take().unwrap().kill();
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    let (reported, seen) = (ended["totals"]["requests"].as_u64().unwrap(), target.seen().requests);
    assert!(reported <= seen, "{reported} of {seen}");
    assert_eq!(ended["loss"]["workers_lost"], 1, "{}", ended["loss"]);
    let planned: f64 = duration.trim_end_matches('s').parse().unwrap();
    assert!(
        ended["elapsed_s"].as_f64().unwrap() >= planned,
        "what was resumed ends with the load curve: {ended}"
    );
    assert_eq!(ended["loss"]["unreported"].as_array().unwrap().len(), 1, "{}", ended["loss"]);
    let states = |worker: usize| -> Vec<String> {
        let attempts = ended["segments"].as_array().unwrap().iter();
        let of = attempts.filter(|attempt| attempt["worker"] == format!("w{worker}"));
        of.map(|attempt| attempt["state"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(states(busy), ["lost"], "{}", ended["segments"]);
    let completed: usize =
        (0..3).map(|worker| states(worker).iter().filter(|state| *state == "completed").count()).sum();
    assert_eq!(
        completed, 2,
        "the other segment, and the second attempt at the lost one: {}",
        ended["segments"]
    );
    let shown = cluster.ask(&["result", &job]);
    assert!(
        shown.stdout.contains("workers  3 workers") && shown.stdout.contains("1 attempt lost"),
        "{shown}"
    );
}

#[test]
fn worker_that_was_stopped_beyond_its_lease_sends_nothing_when_it_wakes() {
    let target = Target::start(&[]);
    let cluster = Cluster::start(1);
    let plan = browse(&target, 1, "4s");
    let job = submit(&cluster, &plan, &["--option", "on_worker_loss=fail"]);
    target.wait_for_requests(1);
    let worker = cluster.workers[0].as_ref().unwrap();
    worker.signal("STOP");
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "failed", "{ended}");
    let before = target.seen().requests;
    worker.signal("CONT");
    // It registers again, under another grant, when it has seen that its lease is over.
    cluster.wait_for_workers(1);
    let after = target.seen().requests;
    assert!(after <= before + 1, "one write per core thread may be under way: {before}, then {after}");
    // What it ran belongs to nobody; it takes new work.
    let job = submit(&cluster, &browse(&target, 1, "1s"), &[]);
    assert_eq!(result(&cluster, &job)["status"], "completed");
}

#[test]
fn job_is_cancelled_and_one_of_its_workflows_with_what_depends_on_it() {
    let target = Target::start(&[]);
    let cluster = Cluster::start(2);
    let plan = PlanFile::new(&format!(
        "workflows:\n  First:\n    vus: 1\n    duration: 60s\n    steps:\n      a: {{ http: {{ url: '{0}/a' }} }}\n  \
         Second:\n    depends: [First]\n    vus: 1\n    duration: 60s\n    steps:\n      \
         b: {{ http: {{ url: '{0}/b' }} }}\n  \
         Other:\n    vus: 1\n    iterations: 3\n    steps:\n      c: {{ http: {{ url: '{0}/c' }} }}\n",
        target.base
    ));
    let job = submit(&cluster, &plan, &[]);
    wait_until("requests of the first workflow", || (target.seen().at("/a") > 0).then_some(()));
    let cancelled = cluster.json(&["cancel", &job, "--workflow", "First", "--wait", "--reason", "enough"]);
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "partial", "{}", ended["reason"]);
    let states = |at: usize| ended["workflows"][at]["status"].clone();
    assert_eq!([states(0), states(1), states(2)], ["cancelled", "cancelled", "completed"]);
    let seen = target.seen();
    assert_eq!((seen.at("/b"), seen.at("/c")), (0, 3), "what was cancelled never starts");
    assert_eq!(ended["totals"]["requests"], seen.requests);
    cluster.ask(&["cancel", &job]).assert_told(0, &[]);
}

#[test]
fn manager_that_is_behind_does_not_call_a_job_unknown() {
    let cluster = Cluster::start(0);
    let plan = browse(&Target::start(&[]), 1, "1s");
    let leader: usize = wait_until("a leader", || {
        cluster.json(&["cluster", "status"])["leader"].as_str()?.strip_prefix('m')?.parse().ok()
    });
    let (accepts, behind) = ((leader + 1) % 3, (leader + 2) % 3);
    // It hears nothing of what the others decide meanwhile.
    cluster.managers[behind].as_ref().unwrap().signal("STOP");
    let submitted = run(&["submit", &plan.path(), "--json", "--server", &cluster.server(accepts)]);
    let submitted: Value = serde_json::from_str(&submitted.stdout).unwrap();
    cluster.managers[behind].as_ref().unwrap().signal("CONT");
    let job = submitted["job"].as_str().unwrap();
    let shown = run(&["status", job, "--json", "--server", &cluster.server(behind)]);
    assert_eq!(shown.code, 0, "{shown}");
}

#[test]
fn worker_drains_on_sigterm_and_its_result_counts() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(1);
    let job = submit(&cluster, &browse(&target, 1, "2s"), &[]);
    target.wait_for_requests(1);
    let worker = cluster.workers[0].take().unwrap();
    worker.signal("TERM");
    assert!(worker.ended(), "it ends well");
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["totals"]["requests"], target.seen().requests);
}

#[test]
fn all_managers_restart_one_after_the_other_under_load() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start(2);
    let job = submit(&cluster, &browse(&target, 2, "10s"), &[]);
    target.wait_for_requests(1);
    for index in 0..3 {
        let manager = cluster.managers[index].take().unwrap();
        manager.signal("TERM");
        assert!(manager.ended(), "it ends well");
        cluster.start_manager(index);
        cluster.wait_for_workers(2);
    }
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["totals"]["requests"], target.seen().requests);
}

#[test]
fn what_is_wrong_at_the_doors_is_said() {
    run(&["submit", "examples/quick.yaml"]).assert_told(2, &["no server is named", "HYPERSCALE_SERVER"]);
    run(&["jobs", "--server", "http://127.0.0.1:1"]).assert_told(4, &["unreachable"]);
    run(&["jobs", "--server", "127.0.0.1:1"]).assert_told(2, &["http://host:port"]);
    run(&["manager", "--id", "m 1", "--data", "x"]).assert_told(2, &["the id `m 1` cannot be used"]);
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().to_str().unwrap();
    let open = ["manager", "--id", "m1", "--data", folder, "--listen", "0.0.0.0:0"];
    run(&open).assert_told(2, &["not a loopback address", "hyperscale secret"]);
    let open = ["manager", "--id", "m1", "--data", folder, "--http", "0.0.0.0:0"];
    run(&open).assert_told(2, &["HYPERSCALE_API_TOKEN"]);
    let weak = |args: &[&str]| -> Outcome {
        let output = hyperscale().args(args).env("HYPERSCALE_AUTH_SECRET", "hunter2").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    };
    weak(&["manager", "--id", "m1", "--data", folder])
        .assert_told(2, &["HYPERSCALE_AUTH_SECRET cannot be used"]);
    let secret = run(&["secret"]);
    assert_eq!(secret.code, 0);
    assert!(secret.stdout.trim().len() >= 32, "{secret}");
    let cluster = Cluster::start(0);
    let unknown = "00000000000000000000000000000000";
    cluster.ask(&["status", unknown]).assert_told(5, &["there is no such job"]);
    cluster.ask(&["status", "run-1"]).assert_told(5, &["32 hexadecimal digits"]);
    let plan = PlanFile::new("workflows: { Browse: { vus: 1, duration: 1s, steps: {} } }");
    let path = plan.path();
    assert_eq!(cluster.ask(&["submit", &path]).code, 3, "the plan is checked before it travels");
    let plan = browse(&Target::start(&[]), 1, "1s");
    let path = plan.path();
    cluster.ask(&["submit", &path, "--option", "timeuot=1s"]).assert_told(5, &["did you mean `timeout`?"]);
    let empty = cluster.ask(&["submit", &path, "--idempotency-key", ""]);
    empty.assert_told(2, &["the idempotency key `` cannot be used"]);
    // Without a worker the job waits, and says so.
    let submitted = cluster.json(&["submit", &path]);
    assert!(submitted["job"].is_string(), "{submitted}");
}
