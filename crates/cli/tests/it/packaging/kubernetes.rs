//! Manifests: what pods start, and what Services, budgets and probes say about them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Started, assert_group, documents, folder, list, string};
use crate::support::{first_line, get, hyperscale, wait_until};

/// All manifests that the kustomization names.
fn manifests() -> Vec<Value> {
    let kustomization = documents("kubernetes/kustomization.yaml").remove(0);
    let named = list(&kustomization, "/resources").iter().map(|name| name.as_str().unwrap());
    named.flat_map(|name| documents(&format!("kubernetes/{name}"))).collect()
}

#[track_caller]
fn find<'a>(manifests: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let mut found = manifests.iter().filter(|it| it["kind"] == kind && it["metadata"]["name"] == name);
    found.next().unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn workloads(manifests: &[Value]) -> [(&'static str, &Value); 2] {
    [
        ("manager", find(manifests, "StatefulSet", "hyperscale-manager")),
        ("worker", find(manifests, "Deployment", "hyperscale-worker")),
    ]
}

fn container(workload: &Value) -> &Value {
    let containers = list(workload, "/spec/template/spec/containers");
    assert_eq!(containers.len(), 1);
    &containers[0]
}

/// Variables of a container with what the test takes for their values.
fn variables(container: &Value) -> BTreeMap<String, String> {
    let value = |variable: &Value| match variable.pointer("/valueFrom/fieldRef/fieldPath") {
        Some(path) if path == "metadata.name" => "pod-0".to_owned(),
        Some(path) if path == "status.podIP" => "10.244.0.7".to_owned(),
        Some(other) => panic!("unknown field {other}"),
        None => String::new(),
    };
    let named = |variable: &Value| (string(variable, "/name").to_owned(), value(variable));
    list(container, "/env").iter().map(named).collect()
}

fn started(workload: &Value) -> Started {
    let container = container(workload);
    let variables = variables(container);
    let expand = |word: &Value| {
        let word = word.as_str().unwrap().to_owned();
        variables.iter().fold(word, |word, (name, value)| word.replace(&format!("$({name})"), value))
    };
    let command: Vec<String> = list(container, "/args").iter().map(expand).collect();
    let settings = variables.into_keys().filter(|name| name.starts_with("HYPERSCALE_")).collect();
    Started::new(string(workload, "/metadata/name"), &command, settings)
}

#[test]
fn pods_start_nodes_that_work() {
    let manifests = manifests();
    let secret = find(&manifests, "Secret", "hyperscale");
    for (role, workload) in workloads(&manifests) {
        let node = started(workload);
        assert_eq!(node.role, role);
        node.assert_works();
        node.assert_refuses(
            string(secret, "/stringData/auth-secret"),
            string(secret, "/stringData/api-token"),
        );
        for variable in list(container(workload), "/env") {
            let Some(wanted) = variable.pointer("/valueFrom/secretKeyRef") else { continue };
            assert_eq!(wanted["name"], secret["metadata"]["name"]);
            let is_there = secret["stringData"].get(string(wanted, "/key")).is_some();
            assert!(is_there || wanted["optional"] == true, "{role}: no {}", wanted["key"]);
        }
        let pod = &workload["spec"]["template"]["spec"];
        assert_eq!(pod["enableServiceLinks"], false, "{role}: variables of Services are unknown settings");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{role}");
    }
}

#[test]
fn managers_are_reached_under_the_names_that_peers_and_workers_use() {
    let manifests = manifests();
    let [(_, set), (_, deployment)] = workloads(&manifests);
    let peers = assert_group(&[started(set)], &[started(deployment)]);
    let (name, service) = (string(set, "/metadata/name"), string(set, "/spec/serviceName"));
    let port = started(set).address("--listen").1;
    let expected = |index: u64| (format!("{name}-{index}"), format!("{name}-{index}.{service}:{port}"));
    let replicas = set["spec"]["replicas"].as_u64().unwrap();
    assert_eq!(peers, (0..replicas).map(expected).collect::<Vec<_>>());
    assert!(replicas % 2 == 1 && replicas >= 3, "{replicas} managers");
    let headless = find(&manifests, "Service", service);
    assert_eq!(headless["spec"]["clusterIP"], "None");
    assert_eq!(headless["spec"]["publishNotReadyAddresses"], true, "they meet before they are ready");
    assert_eq!(set["spec"]["podManagementPolicy"], "Parallel", "none is ready before all run");
    let budget = find(&manifests, "PodDisruptionBudget", "hyperscale-managers");
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    assert_eq!(budget["spec"]["selector"], set["spec"]["selector"]);
}

#[test]
fn ports_paths_and_probes_of_pods_agree() {
    let manifests = manifests();
    for (role, workload) in workloads(&manifests) {
        let (node, container) = (started(workload), container(workload));
        let (nodes, http) = (node.address("--listen").1, node.address("--http").1);
        let ports = list(container, "/ports");
        let shown = |port: &Value| format!("{}/{}", string(port, "/protocol"), port["containerPort"]);
        let open: BTreeSet<String> = ports.iter().map(shown).collect();
        let wanted = [format!("TCP/{nodes}"), format!("UDP/{nodes}"), format!("TCP/{http}")];
        assert_eq!(open, BTreeSet::from(wanted), "{role}");
        for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
            let get = &container[probe]["httpGet"];
            assert_eq!(get["path"], path, "{role}");
            let port = ports.iter().find(|port| port["name"] == get["port"]).expect("the port of a probe");
            assert_eq!(port["containerPort"], http, "{role}: {probe}");
        }
        let scraped = &workload["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(
            (&scraped["prometheus.io/port"], &scraped["prometheus.io/path"]),
            (&json!(http.to_string()), &json!("/metrics"))
        );
        assert_eq!(container["volumeMounts"], json!([{ "name": "data", "mountPath": node.flag("--data") }]));
        let pod = &workload["spec"]["template"];
        assert_eq!(pod["metadata"]["labels"], workload["spec"]["selector"]["matchLabels"], "{role}");
        let seconds = if role == "manager" { 30 } else { 3_600 };
        assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], seconds, "{role}: time to drain");
        let cores = container["resources"]["requests"]["cpu"].as_str().unwrap();
        assert!(role == "manager" || node.flag("--cores") == cores, "{role}: {cores} cores");
    }
}

#[test]
fn services_lead_to_ports_of_managers() {
    let manifests = manifests();
    let [(_, set), _] = workloads(&manifests);
    let node = started(set);
    let (nodes, http) = (node.address("--listen").1, node.address("--http").1);
    let wanted = [
        ("hyperscale-managers", vec![("TCP", nodes), ("UDP", nodes)]),
        ("hyperscale-api", vec![("TCP", http)]),
    ];
    for (name, wanted) in wanted {
        let service = find(&manifests, "Service", name);
        assert_eq!(service["spec"]["selector"], set["spec"]["selector"]["matchLabels"], "{name}");
        let ports = list(service, "/spec/ports").iter();
        let ports: Vec<(&str, u64)> = ports
            .inspect(|port| assert_eq!(port["port"], port["targetPort"], "{name}"))
            .map(|port| (string(port, "/protocol"), port["port"].as_u64().unwrap()))
            .collect();
        assert_eq!(ports, wanted, "{name}");
    }
    let server = list(container(set), "/env").iter().find(|it| it["name"] == "HYPERSCALE_SERVER").unwrap();
    assert_eq!(server["value"], format!("http://hyperscale-api:{http}"));
}

#[test]
fn every_manifest_is_applied() {
    let kustomization = documents("kubernetes/kustomization.yaml").remove(0);
    let named: BTreeSet<String> =
        list(&kustomization, "/resources").iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    let files = std::fs::read_dir(folder().join("kubernetes")).unwrap();
    let files = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter(|name| name != "kustomization.yaml").collect();
    assert_eq!(files, named);
    let namespace = manifests().into_iter().find(|it| it["kind"] == "Namespace").unwrap();
    assert_eq!(namespace["metadata"]["name"], kustomization["namespace"]);
}

#[test]
fn nodes_respond_at_the_paths_that_are_probed() {
    let manifests = manifests();
    let data = tempfile::tempdir().unwrap();
    let mut managers = String::new();
    let mut running = Vec::new();
    for (role, workload) in workloads(&manifests) {
        let mut command = hyperscale();
        command.args([role, "--id", role, "--listen", "127.0.0.1:0", "--timers", "test"]);
        match role {
            "manager" => command.arg("--data").arg(data.path()),
            _ => command.args(["--managers", &managers, "--cores", "1"]),
        };
        let node = Node::spawn(&mut command);
        managers.clone_from(&node.listen);
        let container = container(workload);
        for probe in ["livenessProbe", "readinessProbe"] {
            let path = string(container, &format!("/{probe}/httpGet/path"));
            wait_until(path, || get(&node.http, path).starts_with("HTTP/1.1 200").then_some(()));
        }
        let annotations = &workload["spec"]["template"]["metadata"]["annotations"];
        let metrics = get(&node.http, annotations["prometheus.io/path"].as_str().unwrap());
        assert!(metrics.contains("\nhyperscale_members{"), "{role}: {metrics}");
        running.push(node);
    }
}

/// A node that ends with this value.
struct Node {
    child: std::process::Child,
    listen: String,
    http: String,
}

impl Node {
    fn spawn(command: &mut std::process::Command) -> Self {
        use std::process::Stdio;
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let ready: Value = serde_json::from_str(&first_line(child.stdout.take().unwrap())).unwrap();
        let at = |key: &str| string(&ready, key).to_owned();
        Self { child, listen: at("/listen"), http: at("/http") }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
