//! Certificates: between nodes, and of the API.

use super::authority::Authority;
use super::nodes::{Cluster, Node};
use super::{browse, result, submit};
use crate::support::{Target, get, hyperscale, run, wait_until};

#[test]
fn plan_runs_on_a_cluster_whose_nodes_and_api_use_certificates() {
    let target = Target::start(&[]);
    let mut cluster = Cluster::start_with(1, Authority::new());
    // The API is served over TLS only, and a client has to trust the authority.
    let plain = format!("http://{}", cluster.managers[0].as_ref().unwrap().http);
    run(&["jobs", "--server", &plain]).assert_told(4, &[]);
    run(&["jobs", "--server", &cluster.server(0)]).assert_told(4, &["certificate"]);
    // A worker with a certificate of another authority is not listened to.
    let stranger = Authority::new();
    let mut command = hyperscale();
    command.args(["worker", "--id", "stranger", "--timers", "test", "--dc", "eu", "--cores", "1"]);
    command.args(["--managers", &cluster.addresses.join(",")]).args(stranger.node("worker", 99));
    let stranger = Node::spawn(&mut command);
    wait_until("a refused handshake", || {
        let text = get(&stranger.http, "/metrics");
        text.lines().any(|line| line.starts_with("hyperscale_frames_refused_total{")).then_some(())
    });
    cluster.add_worker();
    cluster.wait_for_workers(2);
    let job = submit(&cluster, &browse(&target, 2, "1s"), &[]);
    let ended = result(&cluster, &job);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["totals"]["requests"], target.seen().requests);
    let status = cluster.json(&["cluster", "status"]);
    assert_eq!(status["workers"].as_array().unwrap().len(), 2, "the stranger is not among them: {status}");
    // A node is who its certificate says, over restarts too.
    let manager = cluster.managers[0].take().unwrap();
    manager.signal("TERM");
    assert!(manager.ended());
    cluster.start_manager(0);
    cluster.wait_for_workers(2);
}

#[test]
fn files_that_cannot_be_used_are_named_with_what_to_do() {
    let authority = Authority::new();
    let data = tempfile::tempdir().unwrap();
    let (ca, folder) = (authority.ca(), data.path().to_str().unwrap());
    let (certificate, key) = authority.certify("m", Some("hyperscale://default/manager/1"));
    let (_, other_key) = authority.certify("other", None);
    let (nameless, nameless_key) = authority.certify("nameless", None);
    let (worker, worker_key) = authority.certify("w", Some("hyperscale://default/worker/1"));
    let start = |args: &[&str]| run(&[&["manager", "--id", "m1", "--data", folder], args].concat());
    let with = |certificate: &str, key: &str, ca: &str| {
        start(&["--node-cert", certificate, "--node-key", key, "--node-ca", ca])
    };
    start(&["--node-cert", &certificate]).assert_told(2, &["--node-key", "--node-ca"]);
    with("nothing.pem", &key, &ca)
        .assert_told(2, &["the certificate of the node nothing.pem cannot be read"]);
    with(&key, &key, &ca).assert_told(2, &["the certificate cannot be read", "--node-cert"]);
    with(&certificate, &certificate, &ca).assert_told(2, &["the key cannot be read"]);
    with(&certificate, &key, &key).assert_told(2, &["the CA file cannot be read"]);
    with(&certificate, &other_key, &ca).assert_told(2, &["certificate and key", "--node-key"]);
    with(&nameless, &nameless_key, &ca).assert_told(2, &["hyperscale://CLUSTER/ROLE/NODE"]);
    with(&certificate, &key, &Authority::new().ca()).assert_told(2, &["peers would not accept", "--node-ca"]);
    with(&worker, &worker_key, &ca)
        .assert_told(1, &["hyperscale://default/worker/", "is a manager of cluster"]);
    start(&["--tls-cert", &certificate]).assert_told(2, &["--tls-key"]);
    start(&["--tls-cert", &certificate, "--tls-key", &other_key])
        .assert_told(2, &["the certificate of the API cannot be used", "--tls-key"]);
    run(&["jobs", "--server", "https://127.0.0.1:1", "--ca", &key])
        .assert_told(2, &["authorities of the server cannot be used", "CA file"]);
}
