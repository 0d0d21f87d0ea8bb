//! How large a simulated cluster is.

use fastrand::Rng;
use hyperscale_types::Role;

/// Which shapes are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 1–2 datacenters of 3–5 managers, 3 gates, 5–20 workers.
    Small,
    /// 3 datacenters of 5 managers, 5 gates, 1000 workers.
    Large,
}

/// Numbers of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Datacenters; the gates are a further cluster.
    pub datacenters: u8,
    /// Managers of each datacenter.
    pub managers: usize,
    /// Gates, in a cluster of their own.
    pub gates: usize,
    /// Workers of all datacenters.
    pub workers: usize,
}

impl Shape {
    /// The shape of a seed.
    pub fn draw(size: Size, rng: &mut Rng) -> Self {
        match size {
            Size::Small => Self {
                datacenters: rng.u8(1..=2),
                managers: rng.usize(3..=5),
                gates: 3,
                workers: rng.usize(5..=20),
            },
            Size::Large => Self { datacenters: 3, managers: 5, gates: 5, workers: 1000 },
        }
    }

    /// One cluster of `count` nodes, three of them managers.
    pub fn cluster_of(count: usize) -> Self {
        Self { datacenters: 1, managers: 3.min(count), gates: 0, workers: count.saturating_sub(3) }
    }

    /// All nodes: role and cluster. Managers come first, so that everybody knows whom to join through.
    pub fn nodes(&self) -> Vec<(Role, u8)> {
        let dcs = self.datacenters;
        let managers =
            (0..dcs).flat_map(|cluster| std::iter::repeat_n((Role::Manager, cluster), self.managers));
        let gates = std::iter::repeat_n((Role::Gate, dcs), self.gates);
        let workers =
            (0..self.workers).map(|number| (Role::Worker, (number % usize::from(dcs.max(1))) as u8));
        managers.chain(gates).chain(workers).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn datacenters_of_three_to_five_managers_are_all_drawn() {
        let drawn = (0..50).map(|seed| Shape::draw(Size::Small, &mut Rng::with_seed(seed)).managers);
        assert_eq!(drawn.collect::<BTreeSet<_>>(), BTreeSet::from([3, 4, 5]));
    }

    #[test]
    fn nodes_are_as_many_as_the_shape_says() {
        let shape = Shape { datacenters: 2, managers: 3, gates: 3, workers: 5 };
        let nodes = shape.nodes();
        assert_eq!(nodes.len(), 14);
        assert_eq!(nodes.iter().filter(|(role, _)| *role == Role::Gate).count(), 3);
        assert_eq!(nodes.iter().filter(|(role, cluster)| *role == Role::Worker && *cluster == 1).count(), 2);
        assert_eq!(Shape::cluster_of(100).nodes().len(), 100);
    }
}
