//! Hosts of a cluster as network namespaces: each has an address of its own, and its links can be cut or lose packets.
//!
//! All of it is inside of namespaces that the test makes and removes; nothing reaches the network of the machine. Needs
//! root, `ip` and `nft`; `cargo xtask test` leaves these tests out, and says so, when it is not run as root.

use std::process::Command;

use crate::support::hyperscale;

/// The port of every node, and that of its API.
const PORTS: [u16; 2] = [7100, 7180];
/// Where clients and targets are.
const HUB: &str = "hub";
const HUB_ADDRESS: &str = "10.77.0.1";

/// Namespaces that are connected by a bridge in the first of them, the hub.
pub(super) struct Network {
    /// Names of namespaces are global: tests that run at the same time have different ones.
    prefix: String,
    hosts: Vec<String>,
}

impl Network {
    pub(super) fn new() -> Self {
        let mut network = Self { prefix: format!("hs{}", std::process::id()), hosts: Vec::new() };
        network.namespace(HUB);
        network.ip(HUB, "link add br0 type bridge");
        network.ip(HUB, &format!("addr add {HUB_ADDRESS}/16 dev br0"));
        network.ip(HUB, "link set br0 up");
        network
    }

    /// Adds a host that others reach at its address.
    pub(super) fn add(&mut self, host: &str) {
        if self.hosts.iter().any(|known| known == host) {
            return;
        }
        self.namespace(host);
        let (inside, link) = (self.inside(host), format!("v{}", self.hosts.len()));
        self.ip(HUB, &format!("link add {link} type veth peer name eth0 netns {inside}"));
        self.ip(HUB, &format!("link set {link} master br0 up"));
        self.ip(host, &format!("addr add {}/16 dev eth0", address(host)));
        self.ip(host, "link set eth0 up");
        nft(&self.inside(host), "add table inet faults");
        for chain in ["input", "output"] {
            let hook = format!("{{ type filter hook {chain} priority 0; }}");
            nft(&self.inside(host), &format!("add chain inet faults {chain} {hook}"));
        }
    }

    /// The binary under test on that host.
    pub(super) fn hyperscale(&self, host: &str) -> Command {
        let binary = hyperscale();
        let mut command = self.program(host, binary.get_program().to_str().unwrap());
        command.current_dir(binary.get_current_dir().unwrap());
        for (name, value) in binary.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// A program on that host; `ip` replaces itself by it, so signals reach it.
    pub(super) fn program(&self, host: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.inside(host), program]);
        command
    }

    /// A program where clients and targets are.
    pub(super) fn client(&self) -> Command {
        self.hyperscale(HUB)
    }

    /// The same for another program.
    pub(super) fn server(&self, program: &str) -> Command {
        self.program(HUB, program)
    }

    /// Nothing passes between a host and these others, in neither direction. The hub stays in reach.
    pub(super) fn cut(&self, host: &str, others: &[&str]) {
        for other in others {
            let other = address(other);
            nft(&self.inside(host), &format!("add rule inet faults input ip saddr {other} drop"));
            nft(&self.inside(host), &format!("add rule inet faults output ip daddr {other} drop"));
        }
    }

    /// What others send does not arrive at a host; what it sends does.
    pub(super) fn deafen(&self, host: &str, others: &[&str]) {
        for other in others {
            let other = address(other);
            nft(&self.inside(host), &format!("add rule inet faults input ip saddr {other} drop"));
        }
    }

    /// A host loses that share of what arrives.
    pub(super) fn lose(&self, host: &str, percent: u32) {
        let rule = format!("add rule inet faults input numgen random mod 100 < {percent} drop");
        nft(&self.inside(host), &rule);
    }

    /// Everything arrives again at a host.
    pub(super) fn heal(&self, host: &str) {
        nft(&self.inside(host), "flush table inet faults");
    }

    fn namespace(&mut self, host: &str) {
        let inside = self.inside(host);
        call("ip", &["netns", "add", &inside]);
        self.hosts.push(host.to_owned());
        self.ip(host, "link set lo up");
    }

    fn inside(&self, host: &str) -> String {
        format!("{}-{host}", self.prefix)
    }

    fn ip(&self, host: &str, words: &str) {
        let inside = self.inside(host);
        let args: Vec<&str> = ["-n", &inside].into_iter().chain(words.split(' ')).collect();
        call("ip", &args);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in &self.hosts {
            drop(Command::new("ip").args(["netns", "del", &self.inside(host)]).status());
        }
    }
}

/// The address of a host: managers (`m0`) and workers (`w0`) are numbered.
pub(super) fn address(host: &str) -> String {
    if host == HUB {
        return HUB_ADDRESS.to_owned();
    }
    let (kind, number) = host.split_at(1);
    let net = if kind == "m" { 1 } else { 2 };
    format!("10.77.{net}.{}", number.parse::<u8>().unwrap() + 1)
}

/// Where a node on a host listens, and where its API does.
pub(super) fn listen(host: &str) -> [String; 2] {
    PORTS.map(|port| format!("{}:{port}", address(host)))
}

/// Where clients and targets are.
pub(super) fn hub() -> &'static str {
    HUB_ADDRESS
}

fn nft(inside: &str, rule: &str) {
    call("ip", &["netns", "exec", inside, "nft", rule]);
}

#[track_caller]
fn call(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
