//! Load of two attempts of a segment never overlaps: once a later attempt has sent, no earlier one sends any more.

use std::collections::BTreeMap;

use hyperscale_consensus::register::Segment;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The last attempt that sent, and its worker, per group and segment.
#[derive(Debug, Default)]
pub(in crate::invariants) struct LoadOverlap {
    last: BTreeMap<(u8, Segment), (u32, usize)>,
}

impl Invariant for LoadOverlap {
    fn name(&self) -> &'static str {
        "load_overlap"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Load { segment, attempt, .. }) = &seen.what else { return Ok(()) };
        let last = self.last.entry((seen.cluster(), (*segment).clone())).or_insert((*attempt, seen.node));
        if *attempt < last.0 || *attempt == last.0 && seen.node != last.1 {
            return Err(format!(
                "{segment:?}: attempt {attempt} sends load, and attempt {} did at node {}",
                last.0, last.1
            ));
        }
        *last = (*attempt, seen.node);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_consensus::register::JobId;
    use hyperscale_types::Token;

    use super::*;
    use crate::invariants::scene::Scene;

    /// What is said once these nodes have sent load of these attempts, the last of them.
    fn after(sent: &[(usize, u32)]) -> Verdict {
        let (scene, mut judge) = (Scene::of(&[0, 0]), LoadOverlap::default());
        let segment = Segment { job: JobId([1; 16]), workflow: "browse".to_owned(), number: 0 };
        let said = sent.iter().map(|(node, attempt)| {
            let (grant, job_time, planned) = (Token(1), std::time::Duration::ZERO, None);
            let load =
                Logged::Load { segment: &segment, attempt: *attempt, grant, requests: 1, job_time, planned };
            scene.ask(&mut judge, *node, 1, What::Log(load))
        });
        said.last().unwrap()
    }

    #[test]
    fn attempt_that_sends_after_a_later_one_is_objected_to() {
        assert!(after(&[(0, 1), (1, 2), (0, 1)]).is_err());
    }

    #[test]
    fn two_workers_with_one_attempt_are_objected_to() {
        assert!(after(&[(0, 1), (1, 1)]).is_err());
    }

    #[test]
    fn attempts_one_after_the_other_are_fine() {
        assert_eq!(after(&[(0, 1), (0, 1), (1, 2), (1, 2), (0, 3)]), Ok(()));
    }
}
