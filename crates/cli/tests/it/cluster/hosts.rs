//! Every node on a host of its own: links are cut, packets are lost, disks are full, and nginx writes down who sent what.

use std::process::Command;

use serde_json::Value;

use super::faults::{assert_reconciles, submit_to};
use super::network::{self, Network};
use super::nodes::{Cluster, lasting};
use super::{result, submit};
use crate::support::{PlanFile, SmallDisk, Target, program, wait_until};
use crate::witnesses::Witness;

fn network(cluster: &Cluster) -> &Network {
    cluster.network.as_ref().unwrap()
}

/// nginx where clients are.
fn nginx(cluster: &Cluster) -> Witness {
    let nginx = program("nginx");
    Witness::nginx_by(network(cluster).server(nginx.to_str().unwrap()), network::hub())
}

/// The built-in target where clients are.
fn target(cluster: &Cluster) -> Target {
    Target::start_by(network(cluster).client(), network::hub(), &[])
}

/// So many virtual users that each call five hundred times a second at most: what nginx writes down stays small.
fn calls(server: &str, vus: u32, duration: &str) -> PlanFile {
    PlanFile::new(&format!(
        "workflows:\n  Browse:\n    vus: {vus}\n    duration: {duration}\n    steps:\n      \
         home: {{ http: {{ url: 'http://{server}/' }}, think: 2ms }}\n"
    ))
}

fn status_of(cluster: &Cluster, manager: usize) -> Value {
    let asked = cluster.ask_alone(&["cluster", "status", "--json", "--server", &cluster.server(manager)]);
    assert_eq!(asked.code, 0, "{asked}");
    serde_json::from_str(&asked.stdout).unwrap()
}

/// Waits until a manager reaches exactly this many voters.
fn wait_for_reach(cluster: &Cluster, manager: usize, voters: u64) {
    wait_until("the reach of a manager", || {
        (status_of(cluster, manager)["quorum"]["reachable"] == voters).then_some(())
    });
}

#[test]
fn minority_of_managers_refuses_and_heals_without_another_leader() {
    let cluster = Cluster::on_hosts(2);
    let nginx = nginx(&cluster);
    let leader = cluster.leader();
    let (minority, other) = ((leader + 1) % 3, (leader + 2) % 3);
    let term = status_of(&cluster, leader)["term"].clone();
    let job = submit_to(&cluster, leader, &calls(&nginx.address, 2, &lasting(6)));
    let names = [format!("m{leader}"), format!("m{other}"), "w0".to_owned(), "w1".to_owned()];
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    network(&cluster).cut(&format!("m{minority}"), &names);
    wait_for_reach(&cluster, minority, 1);
    let plan = calls(&nginx.address, 1, "1s");
    let refused =
        cluster.ask_alone(&["submit", &plan.path(), "--json", "--server", &cluster.server(minority)]);
    refused.assert_told(5, &["quorum_unavailable"]);
    network(&cluster).heal(&format!("m{minority}"));
    wait_for_reach(&cluster, minority, 3);
    let healed = wait_until("a leader that it hears", || {
        Some(status_of(&cluster, minority)).filter(|status| status["leader"].is_string())
    });
    assert_eq!((&healed["term"], &healed["leader"]), (&term, &format!("m{leader}").into()), "{healed}");
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    let reported = ended["totals"]["requests"].as_u64().unwrap();
    assert_eq!(nginx.seen(reported), reported);
}

#[test]
fn leader_that_is_cut_off_is_replaced_and_nothing_is_lost() {
    let cluster = Cluster::on_hosts(2);
    let nginx = nginx(&cluster);
    let leader = cluster.leader();
    let job = submit_to(&cluster, leader, &calls(&nginx.address, 2, &lasting(6)));
    wait_until("requests", || (!nginx.senders().is_empty()).then_some(()));
    let others =
        [format!("m{}", (leader + 1) % 3), format!("m{}", (leader + 2) % 3), "w0".into(), "w1".into()];
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    network(&cluster).cut(&format!("m{leader}"), &others);
    let successor = wait_until("another leader", || {
        let seen = status_of(&cluster, (leader + 1) % 3)["leader"].as_str()?.to_owned();
        (seen != format!("m{leader}")).then_some(seen)
    });
    network(&cluster).heal(&format!("m{leader}"));
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    let reported = ended["totals"]["requests"].as_u64().unwrap();
    assert_reconciles(&ended, nginx.seen(reported));
    assert_eq!(ended["loss"]["workers_lost"], 0, "workers moved to other managers within their leases");
    wait_for_reach(&cluster, leader, 3);
    assert_eq!(status_of(&cluster, leader)["leader"], successor.as_str());
}

#[test]
fn worker_that_is_cut_off_stops_its_load_before_another_one_begins() {
    let cluster = Cluster::on_hosts(3);
    let nginx = nginx(&cluster);
    let job = submit(&cluster, &calls(&nginx.address, 1, &lasting(12)), &[]);
    let first = wait_until("requests", || nginx.senders().first().cloned());
    let isolated =
        (0..3).map(|index| format!("w{index}")).find(|name| network::address(name) == first).unwrap();
    // The target stays in its reach: only its lease keeps it from sending on.
    network(&cluster).cut(&isolated, &["m0", "m1", "m2"]);
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    let senders = nginx.senders();
    let second = senders.iter().find(|sender| **sender != first).expect("its segment was resumed").clone();
    let last_of_first = senders.iter().rposition(|sender| *sender == first).unwrap();
    let first_of_second = senders.iter().position(|sender| *sender == second).unwrap();
    assert!(last_of_first < first_of_second, "{first} still sent when {second} had begun");
    assert!(senders.iter().all(|sender| [&first, &second].contains(&sender)), "one after the other");
    assert_eq!(ended["loss"]["workers_lost"], 1, "{}", ended["loss"]);
    assert_reconciles(&ended, senders.len() as u64);
    // Back in reach, it gets another grant, and new work.
    network(&cluster).heal(&isolated);
    cluster.wait_for_workers(3);
}

#[test]
fn worker_that_is_killed_leaves_a_gap_that_nginx_can_fill() {
    let mut cluster = Cluster::on_hosts(4);
    let nginx = nginx(&cluster);
    let job = submit(&cluster, &calls(&nginx.address, 2, &lasting(12)), &[]);
    let first = wait_until("requests", || nginx.senders().first().cloned());
    let victim = (0..4).find(|index| network::address(&format!("w{index}")) == first).unwrap();
    cluster.workers[victim].take().unwrap().kill();
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["loss"]["workers_lost"], 1, "{}", ended["loss"]);
    assert_eq!(ended["loss"]["unreported"].as_array().unwrap().len(), 1, "{}", ended["loss"]);
    assert_reconciles(&ended, nginx.senders().len() as u64);
}

#[test]
fn counts_agree_when_every_tenth_packet_is_lost() {
    let cluster = Cluster::on_hosts(4);
    let target = target(&cluster);
    for host in ["m0", "m1", "m2", "w0", "w1", "w2", "w3"] {
        network(&cluster).lose(host, 10);
    }
    let plan = PlanFile::new(&format!(
        "workflows:\n  First:\n    vus: 2\n    duration: {1}\n    steps:\n      a: {{ http: {{ url: '{0}/a' }} }}\n  \
         Second:\n    depends: [First]\n    vus: 4\n    duration: {1}\n    steps:\n      b: {{ http: {{ url: '{0}/b' }} }}\n",
        target.base,
        lasting(3)
    ));
    let job = submit(&cluster, &plan, &[]);
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_reconciles(&ended, target.seen().requests);
    assert!(target.seen().at("/b") > 0, "the second workflow ran too");
}

#[test]
fn manager_that_hears_nobody_disturbs_nobody() {
    let cluster = Cluster::on_hosts(2);
    let nginx = nginx(&cluster);
    let leader = cluster.leader();
    let term = status_of(&cluster, leader)["term"].clone();
    let deaf = (leader + 1) % 3;
    let job = submit_to(&cluster, leader, &calls(&nginx.address, 2, &lasting(5)));
    let others = ["m0", "m1", "m2", "w0", "w1"].into_iter().filter(|name| **name != format!("m{deaf}"));
    network(&cluster).deafen(&format!("m{deaf}"), &others.collect::<Vec<_>>());
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_reconciles(&ended, nginx.seen(ended["totals"]["requests"].as_u64().unwrap()));
    assert_eq!(status_of(&cluster, leader)["term"], term, "pre-votes of who hears nobody change no term");
    network(&cluster).heal(&format!("m{deaf}"));
    wait_for_reach(&cluster, deaf, 3);
}

#[test]
fn full_disk_of_one_manager_stops_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(folder.path(), 24);
    let mut cluster = Cluster::on_hosts(2);
    let nginx = nginx(&cluster);
    // A manager with a small disk takes the place of the first one.
    let leader = cluster.leader();
    let full = (leader + 1) % 3;
    let stopped = cluster.managers[full].take().unwrap();
    stopped.signal("TERM");
    assert!(stopped.ended());
    let copied = Command::new("cp").arg("-a").arg(cluster.data[full].join(".")).arg(folder.path()).status();
    assert!(copied.unwrap().success());
    cluster.data[full] = folder.path().to_owned();
    cluster.start_manager(full);
    wait_for_reach(&cluster, leader, 3);
    disk.fill();
    let jobs: Vec<String> =
        (0..3).map(|_| submit_to(&cluster, leader, &calls(&nginx.address, 1, &lasting(1)))).collect();
    let ended: Vec<Value> = jobs.iter().map(|job| result(&cluster, job)).collect();
    let reported: u64 = ended.iter().map(|ended| ended["totals"]["requests"].as_u64().unwrap()).sum();
    assert!(ended.iter().all(|ended| ended["status"] == "completed"), "{ended:?}");
    assert_eq!(nginx.seen(reported), reported);
    // With room again it has everything that was decided without it.
    disk.free();
    drop(cluster.managers[full].take());
    cluster.start_manager(full);
    wait_until("the results at the manager that was full", || {
        let asked =
            cluster.ask_alone(&["result", jobs.last().unwrap(), "--json", "--server", &cluster.server(full)]);
        (asked.code == 0).then_some(())
    });
    // Before its disk is taken away.
    drop(cluster);
}
