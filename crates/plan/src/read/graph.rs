//! Which step waits for which, and in which order they can run. The same for workflows.

use std::collections::BTreeSet;

use super::Reader;
use super::fields::Named;
use crate::document::Kind;

/// A graph in which every edge points to something that comes earlier in `order`.
#[derive(Debug)]
pub(super) struct Ordered {
    /// For each node those it waits for, sorted, each once.
    pub(super) after: Vec<Vec<usize>>,
    /// Topological, file order among those that are ready together.
    pub(super) order: Vec<usize>,
}

impl Ordered {
    /// For each node, whether each other node comes before it on some way.
    pub(super) fn ancestors(&self) -> Vec<Vec<bool>> {
        let mut ancestors = vec![vec![false; self.after.len()]; self.after.len()];
        for &node in &self.order {
            let mut mine = std::mem::take(&mut ancestors[node]);
            for &before in &self.after[node] {
                mine[before] = true;
                mine.iter_mut().zip(&ancestors[before]).for_each(|(mine, theirs)| *mine |= theirs);
            }
            ancestors[node] = mine;
        }
        ancestors
    }
}

/// Orders a graph, or finds a cycle: its nodes in the order of waiting, the first one again at the end.
pub(super) fn order(after: Vec<Vec<usize>>) -> Result<Ordered, Vec<usize>> {
    let mut waiting: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (node, before) in after.iter().enumerate() {
        for before in before {
            next[*before].push(node);
        }
    }
    let mut ready: BTreeSet<usize> = (0..after.len()).filter(|node| waiting[*node] == 0).collect();
    let mut order = Vec::with_capacity(after.len());
    while let Some(node) = ready.pop_first() {
        order.push(node);
        for &dependent in &next[node] {
            waiting[dependent] -= 1;
            if waiting[dependent] == 0 {
                ready.insert(dependent);
            }
        }
    }
    if order.len() == after.len() { Ok(Ordered { after, order }) } else { Err(cycle(&after, &waiting)) }
}

/// A node that still waits, waits for another one that still waits: follow that until one comes again.
fn cycle(after: &[Vec<usize>], waiting: &[usize]) -> Vec<usize> {
    let mut path: Vec<usize> = waiting.iter().position(|n| *n > 0).into_iter().collect();
    while let Some(&node) = path.last() {
        let Some(&before) = after[node].iter().find(|before| waiting[**before] > 0) else { break };
        if let Some(begin) = path.iter().position(|seen| *seen == before) {
            path.drain(..begin);
            path.push(before);
            break;
        }
        path.push(before);
    }
    path
}

/// `a → b → a`
pub(super) fn show_cycle(cycle: &[usize], name: impl Fn(usize) -> String) -> String {
    cycle.iter().map(|node| name(*node)).collect::<Vec<_>>().join(" → ")
}

impl Reader<'_> {
    /// The graph of some steps by their `after`. If it has a cycle, that is a problem, and a plain sequence comes out.
    pub(super) fn step_graph(&self, steps: &[Named<'_>]) -> Ordered {
        let after: Vec<Vec<usize>> = (0..steps.len()).map(|at| self.after(steps, at)).collect();
        order(after).unwrap_or_else(|cycle| {
            let shown = show_cycle(&cycle, |at| steps[at].name.to_string());
            let place = steps[cycle.first().copied().unwrap_or(0)].place;
            self.problems
                .error(place, format!("steps wait for each other in a circle: {shown}"))
                .hint("an arrow reads `waits for`");
            let after = (0..steps.len()).map(|at| at.checked_sub(1).into_iter().collect()).collect();
            Ordered { after, order: (0..steps.len()).collect() }
        })
    }

    fn after(&self, steps: &[Named<'_>], at: usize) -> Vec<usize> {
        let Some(node) = steps[at].fields.take("after") else {
            return at.checked_sub(1).into_iter().collect();
        };
        if let Kind::Null = node.kind {
            self.problems
                .error(node.place, "`after` is empty")
                .hint("write `after: []` for a step that waits for nothing");
        }
        let mut after = BTreeSet::new();
        for item in node.items() {
            let Some(name) = self.text(item, "the name of a step") else { continue };
            if let Some(before) = steps.iter().position(|step| step.name == *name) {
                after.insert(before);
            } else {
                let others = steps.iter().map(|step| step.name.as_str());
                self.problems
                    .error(item.place, format!("there is no step `{name}` to wait for"))
                    .nearest(name, others.filter(|name| *name != steps[at].name.as_str()));
            }
        }
        after.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_by_readiness_not_by_layers() {
        // a ← b ← c, d alone, e after c and d.
        let graph = order(vec![vec![], vec![0], vec![1], vec![], vec![2, 3]]).expect("no cycle");
        assert_eq!(graph.order, [0, 1, 2, 3, 4]);
        let graph = order(vec![vec![2], vec![], vec![1]]).expect("no cycle");
        assert_eq!(graph.order, [1, 2, 0]);
        assert_eq!(graph.ancestors()[0], [false, true, true]);
    }

    #[test]
    fn a_cycle_is_found_behind_a_tail() {
        // 0 waits for 1, and 1 → 2 → 3 → 1.
        assert_eq!(order(vec![vec![1], vec![2], vec![3], vec![1]]).expect_err("cycle"), [1, 2, 3, 1]);
        assert_eq!(order(vec![vec![0]]).expect_err("cycle"), [0, 0]);
    }
}
