//! The compose file.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Started, assert_group, documents, list, string};
use crate::support::run;

const FILE: &str = "compose.yaml";

fn file() -> Value {
    documents(FILE).remove(0)
}

fn services(file: &Value) -> impl Iterator<Item = (&String, &Value)> {
    file["services"].as_object().unwrap().iter()
}

fn command(service: &Value) -> Vec<String> {
    list(service, "/command").iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

fn nodes(file: &Value, role: &str) -> Vec<Started> {
    let of_role = services(file).filter(|(_, service)| service["command"][0] == role);
    let started = |(name, service): (&String, &Value)| {
        let variables = service["environment"].as_object().unwrap().keys().cloned().collect();
        Started::new(&format!("{FILE}: {name}"), &command(service), variables)
    };
    of_role.map(started).collect()
}

#[test]
fn services_start_nodes_that_work() {
    let file = file();
    let (managers, workers) = (nodes(&file, "manager"), nodes(&file, "worker"));
    assert_eq!((managers.len(), workers.len()), (3, 2));
    managers.iter().chain(&workers).for_each(Started::assert_works);
    let peers = assert_group(&managers, &workers);
    let own = |node: &Started| (node.flag("--id").to_owned(), node.flag("--listen").to_owned());
    assert_eq!(managers.iter().map(own).collect::<Vec<_>>(), peers);
    // Secrets come from outside, and compose does not start without them.
    for (name, service) in services(&file).filter(|(_, service)| service["environment"].is_object()) {
        for variable in ["HYPERSCALE_AUTH_SECRET", "HYPERSCALE_API_TOKEN"] {
            let Some(value) = service["environment"].get(variable) else { continue };
            let expected = format!("${{{variable}:?");
            assert!(value.as_str().unwrap().starts_with(&expected), "{name}: {variable}");
        }
    }
}

#[test]
fn addresses_ports_and_volumes_of_services_agree() {
    let file = file();
    let subnet = string(&file, "/networks/cluster/ipam/config/0/subnet").strip_suffix("0/24").unwrap();
    let (mut addresses, mut cpus, mut volumes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (name, service) in services(&file) {
        let address = string(service, "/networks/cluster/ipv4_address");
        assert!(address.starts_with(subnet) && addresses.insert(address.to_owned()), "{name}: {address}");
        assert_eq!(service["read_only"], true, "{name}");
    }
    for node in nodes(&file, "manager").iter().chain(&nodes(&file, "worker")) {
        let service = &file["services"][node.flag("--id")];
        let address = string(service, "/networks/cluster/ipv4_address");
        assert_eq!((node.address("--listen").0, node.address("--http").0), (address, address));
        let mounted = format!("{}:{}", node.flag("--id"), node.flag("--data"));
        assert_eq!(service["volumes"], serde_json::json!([mounted]), "{}", node.place);
        volumes.insert(node.flag("--id").to_owned());
        if node.role == "worker" {
            assert!(cpus.insert(string(service, "/cpuset").to_owned()), "{}: its own CPU", node.place);
            assert_eq!(
                (&service["restart"], &service["stop_grace_period"]),
                (&"on-failure".into(), &"1h".into())
            );
            continue;
        }
        let published = string(service, "/ports/0");
        assert!(published.starts_with("127.0.0.1:"), "{}: for this machine only", node.place);
        assert_eq!(super::host_and_port(published).1, node.address("--http").1, "{}", node.place);
        let servers = string(service, "/environment/HYPERSCALE_SERVER");
        assert!(servers.contains(&format!("http://{}", node.flag("--http"))), "{}: {servers}", node.place);
    }
    let declared: BTreeSet<String> = file["volumes"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(declared, volumes);
}

#[test]
fn target_to_test_against_has_flags_of_the_binary() {
    let file = file();
    let command = command(&file["services"]["target"]);
    let help = run(&["target", "--help"]).stdout;
    let flags =
        command.iter().filter_map(|word| word.split('=').next()).filter(|word| word.starts_with("--"));
    assert!(flags.map(|flag| assert!(help.contains(&format!("{flag} ")), "{flag}")).count() > 0);
}
