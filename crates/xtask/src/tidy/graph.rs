//! The dependency graph, from `cargo metadata`.

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context, Result};
use serde_json::Value;

/// All packages that are really built, with their edges.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) packages: Vec<Package>,
}

/// One package.
#[derive(Debug, Default, Clone)]
pub(super) struct Package {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) licence: Option<String>,
    pub(super) is_member: bool,
    pub(super) edges: Vec<Edge>,
}

/// A dependency on another package.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    pub(super) to: String,
    /// Needed by the product, not only by tests or build scripts.
    pub(super) is_normal: bool,
}

impl Graph {
    pub(super) fn parse(metadata: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(metadata)?;
        let list = |value: &Value, what: &str| -> Result<Vec<Value>> {
            value.as_array().cloned().with_context(|| format!("no list of {what}"))
        };
        let members: BTreeSet<String> = list(&metadata["workspace_members"], "members")?
            .iter()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        let mut edges = HashMap::new();
        for node in list(&metadata["resolve"]["nodes"], "nodes")? {
            let id = node["id"].as_str().context("a node without id")?.to_owned();
            edges.insert(
                id,
                list(&node["deps"], "dependencies")?.iter().map(edge).collect::<Result<Vec<_>>>()?,
            );
        }
        let mut packages = Vec::new();
        for package in list(&metadata["packages"], "packages")? {
            let id = package["id"].as_str().context("a package without id")?.to_owned();
            packages.push(Package {
                name: package["name"].as_str().context("a package without name")?.to_owned(),
                licence: package["license"].as_str().map(str::to_owned),
                is_member: members.contains(&id),
                edges: edges.remove(&id).unwrap_or_default(),
                id,
            });
        }
        Ok(Self { packages }.reachable())
    }

    /// Drops packages that stand in the lock file but that nobody uses with the features we chose.
    fn reachable(self) -> Self {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<&Package> = self.members().collect();
        while let Some(package) = waiting.pop() {
            if reached.insert(package.id.clone()) {
                waiting.extend(package.edges.iter().filter_map(|edge| self.by_id(&edge.to)));
            }
        }
        Self { packages: self.packages.into_iter().filter(|package| reached.contains(&package.id)).collect() }
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.is_member)
    }

    pub(super) fn by_id(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.id == id)
    }

    /// What a package depends on directly; `normal_only` leaves tests and build scripts out.
    pub(super) fn direct(&self, package: &Package, normal_only: bool) -> Vec<&Package> {
        let edges = package.edges.iter().filter(|edge| edge.is_normal || !normal_only);
        edges.filter_map(|edge| self.by_id(&edge.to)).collect()
    }

    /// Everything a package depends on in the product, however far away, on ways that do not take an excused edge (from,
    /// to).
    pub(super) fn all_below(
        &self,
        package: &Package,
        is_excused: impl Fn(&Package, &Package) -> bool,
    ) -> Vec<&Package> {
        let mut seen = BTreeSet::new();
        let mut waiting = self.direct(package, true);
        let mut found = Vec::new();
        while let Some(next) = waiting.pop() {
            if seen.insert(next.id.as_str()) {
                found.push(next);
                waiting.extend(self.direct(next, true).into_iter().filter(|below| !is_excused(next, below)));
            }
        }
        found
    }
}

fn edge(dependency: &Value) -> Result<Edge> {
    let kinds = dependency["dep_kinds"].as_array().context("a dependency without kinds")?;
    Ok(Edge {
        to: dependency["pkg"].as_str().context("a dependency without package")?.to_owned(),
        is_normal: kinds.iter().any(|kind| kind["kind"].is_null()),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A graph from lines such as `hyperscale-plan: hyperscale-types dev:proptest`; members start with
    /// `hyperscale` or are called `xtask`.
    pub(in crate::tidy) fn graph(lines: &[&str]) -> Graph {
        let mut graph = Graph::default();
        for line in lines {
            let (name, targets) = line.split_once(':').expect("name: targets");
            add(&mut graph, name);
            for target in targets.split_whitespace() {
                let (is_normal, target) =
                    target.strip_prefix("dev:").map_or((true, target), |name| (false, name));
                add(&mut graph, target);
                let from =
                    graph.packages.iter_mut().find(|package| package.name == name).expect("just added");
                from.edges.push(Edge { to: target.to_owned(), is_normal });
            }
        }
        graph
    }

    fn add(graph: &mut Graph, name: &str) {
        if graph.by_id(name).is_none() {
            graph.packages.push(Package {
                id: name.to_owned(),
                name: name.to_owned(),
                licence: Some("MIT".to_owned()),
                is_member: name.starts_with("hyperscale") || name == "xtask",
                edges: Vec::new(),
            });
        }
    }

    #[test]
    fn metadata_becomes_a_graph_of_what_is_used() {
        let metadata = r#"{
            "packages": [
                {"id": "a", "name": "hyperscale-a", "license": null},
                {"id": "b", "name": "b", "license": "MIT"},
                {"id": "c", "name": "c", "license": "MIT"},
                {"id": "unused", "name": "unused", "license": "GPL-3.0"}
            ],
            "workspace_members": ["a"],
            "resolve": {"nodes": [
                {"id": "a", "deps": [
                    {"pkg": "b", "dep_kinds": [{"kind": null}]}, {"pkg": "c", "dep_kinds": [{"kind": "dev"}]}
                ]},
                {"id": "b", "deps": []}, {"id": "c", "deps": []}, {"id": "unused", "deps": []}
            ]}
        }"#;
        let graph = Graph::parse(metadata).expect("a graph");
        let names = |packages: Vec<&Package>| packages.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(graph.packages.iter().collect()), ["hyperscale-a", "b", "c"]);
        let member = graph.members().next().expect("a member");
        assert_eq!(names(graph.direct(member, true)), ["b"]);
        assert_eq!(names(graph.direct(member, false)), ["b", "c"]);
    }

    #[test]
    fn everything_below_is_followed_through_normal_edges_only() {
        let graph = graph(&["hyperscale-a: b", "b: c dev:d", "c: b"]);
        let below = graph.all_below(&graph.packages[0], |_, _| false);
        assert_eq!(below.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    }
}
