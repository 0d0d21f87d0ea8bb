//! Which crate may use which: dependencies point from faces to effects to cores to words.

use super::Finding;
use super::graph::{Graph, Package};

/// What a crate may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No I/O, clock, randomness or async runtime, not even far below.
    Pure,
    /// Touches the world.
    Effects,
    /// Something people see.
    Face,
    /// For developers; the product never depends on it.
    Tool,
}

/// One crate of the house.
struct Room {
    name: &'static str,
    kind: Kind,
    /// Crates of the workspace it may use in the product. Tests may use any.
    may_use: &'static [&'static str],
}

/// The map of the house. A crate that is not in it does not belong to it.
const ROOMS: &[Room] = &[
    Room { name: "hyperscale-types", kind: Kind::Pure, may_use: &[] },
    Room { name: "hyperscale-plan", kind: Kind::Pure, may_use: &["hyperscale-types"] },
    Room { name: "hyperscale-stats", kind: Kind::Pure, may_use: &["hyperscale-types"] },
    Room { name: "hyperscale-swim", kind: Kind::Pure, may_use: &["hyperscale-types"] },
    Room { name: "hyperscale-wire", kind: Kind::Pure, may_use: &["hyperscale-types"] },
    // Maps what the cores say to messages: the one pure crate that knows several others.
    Room {
        name: "hyperscale-codec",
        kind: Kind::Pure,
        may_use: &["hyperscale-types", "hyperscale-swim", "hyperscale-wire", "hyperscale-consensus"],
    },
    // Core and storage: log entries reach disk and wire as the same messages.
    Room {
        name: "hyperscale-consensus",
        kind: Kind::Pure,
        may_use: &["hyperscale-types", "hyperscale-wire"],
    },
    // What a job decides, the same for a local run and the job leader of a cluster. It never knows the log behind it.
    Room {
        name: "hyperscale-job",
        kind: Kind::Pure,
        may_use: &["hyperscale-types", "hyperscale-plan", "hyperscale-stats"],
    },
    // What managers and workers do; it brings the decisions of a job into the log, and so knows both.
    Room {
        name: "hyperscale-cluster",
        kind: Kind::Pure,
        may_use: &[
            "hyperscale-types",
            "hyperscale-plan",
            "hyperscale-stats",
            "hyperscale-swim",
            "hyperscale-wire",
            // For what a worker says of itself, which probes and renewals carry alike.
            "hyperscale-codec",
            "hyperscale-consensus",
            "hyperscale-job",
        ],
    },
    Room { name: "hyperscale-convert", kind: Kind::Pure, may_use: &["hyperscale-types", "hyperscale-plan"] },
    Room {
        name: "hyperscale-clients",
        kind: Kind::Effects,
        may_use: &["hyperscale-types", "hyperscale-plan"],
    },
    Room {
        name: "hyperscale-engine",
        kind: Kind::Effects,
        may_use: &[
            "hyperscale-types",
            "hyperscale-plan",
            "hyperscale-stats",
            "hyperscale-job",
            "hyperscale-clients",
        ],
    },
    // Moves bytes and time for the cores of a cluster; decides nothing.
    Room {
        name: "hyperscale-node",
        kind: Kind::Effects,
        may_use: &[
            "hyperscale-types",
            "hyperscale-swim",
            "hyperscale-wire",
            "hyperscale-codec",
            "hyperscale-consensus",
            "hyperscale-cluster",
            // A worker runs the segments of jobs on the engine.
            "hyperscale-plan",
            "hyperscale-stats",
            "hyperscale-job",
            "hyperscale-clients",
            "hyperscale-engine",
        ],
    },
    // Knows no world but the language; its clock is for ending what does not end.
    Room { name: "hyperscale-script", kind: Kind::Effects, may_use: &[] },
    // Its domain is free of I/O by a rule of its own; stores and runtime touch databases, clocks and files.
    Room {
        name: "hyperscale-tasks",
        kind: Kind::Effects,
        may_use: &["hyperscale-script", "hyperscale-types"],
    },
    // The witness shares nothing with the clients it is a witness for.
    Room { name: "hyperscale-target", kind: Kind::Effects, may_use: &["hyperscale-types"] },
    Room { name: "hyperscale-report", kind: Kind::Face, may_use: &["hyperscale-types", "hyperscale-stats"] },
    // A face with sockets: what it exports to is reached through the clients.
    Room {
        name: "hyperscale-export",
        kind: Kind::Face,
        may_use: &["hyperscale-types", "hyperscale-plan", "hyperscale-stats", "hyperscale-clients"],
    },
    // Only for how numbers are written.
    Room {
        name: "hyperscale-tui",
        kind: Kind::Face,
        may_use: &["hyperscale-types", "hyperscale-stats", "hyperscale-report"],
    },
    // Carries questions and answers; whoever owns the job answers them.
    Room { name: "hyperscale-api", kind: Kind::Face, may_use: &["hyperscale-types", "hyperscale-stats"] },
    Room {
        name: "hyperscale-cli",
        kind: Kind::Face,
        may_use: &[
            "hyperscale-api",
            "hyperscale-export",
            "hyperscale-tui",
            "hyperscale-types",
            "hyperscale-plan",
            "hyperscale-convert",
            "hyperscale-stats",
            // For `ping` only: one call, described. Load goes through the engine.
            "hyperscale-clients",
            "hyperscale-engine",
            "hyperscale-report",
            "hyperscale-target",
            // For `serve`, which puts a task node behind the API; `tasks` and others ask it through the API, with its types.
            "hyperscale-tasks",
            // For `manager` and `worker` only, which put a node behind the API; commands ask a cluster through the API.
            "hyperscale-node",
            "hyperscale-cluster",
            "hyperscale-consensus",
            "hyperscale-job",
            "hyperscale-swim",
            "hyperscale-wire",
        ],
    },
    Room {
        name: "hyperscale-sim",
        kind: Kind::Tool,
        may_use: &[
            "hyperscale-types",
            "hyperscale-swim",
            "hyperscale-wire",
            "hyperscale-codec",
            "hyperscale-consensus",
            "hyperscale-job",
            "hyperscale-stats",
            "hyperscale-cluster",
        ],
    },
    Room { name: "xtask", kind: Kind::Tool, may_use: &[] },
];

/// What pure crates must not reach, however far below: runtimes, sockets, clocks, randomness. `fastrand` is used without
/// its `std` feature: it has no generator that seeds itself.
const IMPURE: &[&str] =
    &["tokio", "mio", "socket2", "rustls", "h2", "hyper", "reqwest", "rand", "getrandom", "chrono", "time"];

/// An edge on the way to something impure that one pure crate may have all the same.
struct Excuse {
    member: &'static str,
    from: &'static str,
    to: &'static str,
}

/// raft-rs draws its election timeout with `rand`. The group overwrites it after every call, before anything reads it; a
/// test runs a cluster twice and compares every message.
const EXCUSES: &[Excuse] = &[
    Excuse { member: "hyperscale-consensus", from: "raft", to: "rand" },
    Excuse { member: "hyperscale-codec", from: "raft", to: "rand" },
    Excuse { member: "hyperscale-cluster", from: "raft", to: "rand" },
];

/// Crates nobody may use: what stands in for each.
const BANNED: &[(&str, &str)] = &[
    ("async-std", "one runtime is enough: tokio"),
    ("chrono", "no calendar is needed; use hyperscale_types::Span and std::time"),
    ("lazy_static", "use std::sync::LazyLock"),
    ("native-tls", "rustls is the only TLS"),
    ("once_cell", "use std::sync::OnceLock"),
    ("openssl", "rustls with aws-lc-rs is the only TLS"),
    ("ring", "rustls uses aws-lc-rs; two cryptographic libraries are one too many"),
    ("serde_yaml", "archived"),
];

/// Checks the edges of every crate of the workspace.
pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    graph.members().flat_map(|member| check_member(graph, member)).collect()
}

fn check_member(graph: &Graph, member: &Package) -> Vec<Finding> {
    let Some(room) = ROOMS.iter().find(|room| room.name == member.name) else {
        let rule =
            "is not in the map of crates; add it to ROOMS with what it may use, and to ARCHITECTURE.md";
        return vec![Finding::new(&member.name, rule)];
    };
    let mut findings = Vec::new();
    for used in graph.direct(member, true) {
        if used.is_member && !room.may_use.contains(&used.name.as_str()) {
            findings.push(Finding::new(&member.name, format!("must not use {}", used.name)));
        }
    }
    for used in graph.direct(member, false) {
        if let Some((name, instead)) = BANNED.iter().find(|(name, _)| *name == used.name) {
            findings.push(Finding::new(&member.name, format!("uses the banned crate {name}: {instead}")));
        }
        if used.is_member && kind_of(&used.name) == Some(Kind::Tool) {
            findings.push(Finding::new(&member.name, format!("must not use the tool {}", used.name)));
        }
    }
    if room.kind == Kind::Pure {
        let is_excused = |from: &Package, to: &Package| {
            let fits = |excuse: &Excuse| excuse.from == from.name && excuse.to == to.name;
            EXCUSES.iter().any(|excuse| excuse.member == member.name && fits(excuse))
        };
        for below in graph.all_below(member, is_excused) {
            if IMPURE.contains(&below.name.as_str()) {
                findings.push(Finding::new(&member.name, format!("is pure but reaches {}", below.name)));
            }
        }
    }
    findings
}

/// Folders of the crates that must stay pure.
pub(super) fn pure_folders() -> impl Iterator<Item = &'static str> {
    ROOMS
        .iter()
        .filter(|room| room.kind == Kind::Pure)
        .map(|room| room.name.trim_start_matches("hyperscale-"))
}

fn kind_of(name: &str) -> Option<Kind> {
    ROOMS.iter().find(|room| room.name == name).map(|room| room.kind)
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    fn rules(lines: &[&str]) -> Vec<String> {
        check(&graph(lines))
            .into_iter()
            .map(|finding| format!("{} {}", finding.place, finding.rule))
            .collect()
    }

    #[test]
    fn allowed_edges_pass() {
        let lines =
            ["hyperscale-engine: hyperscale-plan tokio", "hyperscale-plan: hyperscale-types dev:tokio"];
        assert_eq!(rules(&lines), [""; 0]);
    }

    #[test]
    fn edges_against_the_grain_are_found() {
        assert_eq!(
            rules(&["hyperscale-plan: hyperscale-stats"]),
            ["hyperscale-plan must not use hyperscale-stats"]
        );
        assert_eq!(
            rules(&["hyperscale-target: hyperscale-clients"]),
            ["hyperscale-target must not use hyperscale-clients"]
        );
        assert_eq!(rules(&["hyperscale-cli: dev:xtask"]), ["hyperscale-cli must not use the tool xtask"]);
    }

    #[test]
    fn pure_crates_must_not_reach_a_runtime_through_others() {
        let lines = ["hyperscale-stats: innocent", "innocent: tokio"];
        assert_eq!(rules(&lines), ["hyperscale-stats is pure but reaches tokio"]);
    }

    #[test]
    fn excuse_holds_for_one_edge_of_one_crate() {
        let raft = "raft: rand";
        assert_eq!(rules(&["hyperscale-consensus: raft", raft]), [""; 0]);
        assert_eq!(rules(&["hyperscale-swim: raft", raft]), ["hyperscale-swim is pure but reaches rand"]);
        let other = ["hyperscale-consensus: raft rand", raft];
        assert_eq!(rules(&other), ["hyperscale-consensus is pure but reaches rand"]);
    }

    #[test]
    fn unknown_crates_and_banned_ones_are_found() {
        assert!(rules(&["hyperscale-new: "])[0].contains("is not in the map"));
        assert!(rules(&["hyperscale-cli: openssl"])[0].contains("banned crate openssl"));
    }

    #[test]
    fn map_names_only_crates_that_it_knows() {
        for room in ROOMS {
            assert!(room.may_use.iter().all(|name| kind_of(name).is_some()), "{}", room.name);
        }
    }
}
