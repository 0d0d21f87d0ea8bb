//! Where the segments of a job go: all that begin together at once, on workers with enough cores.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_consensus::register::{Assign, AssignSegment, Body, JobId, Register, SegmentKind, Worker};
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::driver::Step;
use super::manager::{ManagerDriver, group_of};
use super::plan;
use super::requests::Purpose;

impl ManagerDriver {
    /// Assigns all segments at once if they begin together, and waits with a claim for cores that are not free. What could
    /// not be placed even on idle workers, and what is tried again, is assigned one by one.
    pub(super) fn assign_all(&mut self, now: Now, job: JobId, token: Token, steps: &[Step]) {
        let Some(Step::Assign { segment: first, .. }) = steps.first() else { return };
        let begins = |step: &Step| matches!(step, Step::Assign { attempt: 1, .. });
        if steps.iter().all(begins) && self.place(job, steps, true).is_some() {
            if !self.driver.may_ask(now, job, *first) {
                return;
            }
            let body = self.place(job, steps, false).unwrap_or_else(|| Body::Ready {
                job,
                workflows: BTreeSet::from([plan::WORKFLOW.to_owned()]),
                priority: plan::priority(job),
                least_cores: plan::cores(job) * plan::segments(job),
            });
            return self.ask(now, Purpose::Step { job, place: *first }, token, body);
        }
        for step in steps {
            let Step::Assign { segment, .. } = step else { continue };
            if let Some(body) = self.place(job, std::slice::from_ref(step), false)
                && self.driver.may_ask(now, job, *segment)
            {
                self.ask(now, Purpose::Step { job, place: *segment }, token, body);
            }
        }
    }

    /// A batch with workers for all of these, if there are enough cores: free ones, or with `idle` any.
    fn place(&mut self, job: JobId, steps: &[Step], idle: bool) -> Option<Body> {
        let mut taken: BTreeMap<NodeId, u32> = BTreeMap::new();
        let mut segments = Vec::new();
        for step in steps {
            let Step::Assign { segment, attempt, avoid } = step else { continue };
            let (kind, cores) = (plan::kind(*segment), plan::cores_of(job, *segment));
            let group = if kind == SegmentKind::Load { plan::group(job) } else { 0 };
            // Segments of a core group share the cores of the first one on their worker.
            let shares = taken.keys().next().copied().filter(|_| group > 0 && self.rng.bool());
            let (worker, boot, grant) = match shares {
                Some(worker) => group_of(&self.replica)
                    .machine()
                    .register()
                    .worker(worker)
                    .map(|it| (worker, it.boot, it.grant))?,
                None => self.choose(cores, *avoid, &taken, idle)?,
            };
            if shares.is_none() {
                *taken.entry(worker).or_default() += cores;
            }
            segments.push(AssignSegment {
                workflow: plan::WORKFLOW.to_owned(),
                number: *segment,
                kind,
                attempt: *attempt,
                worker,
                boot,
                grant,
                group,
                cores,
                vus: cores,
                elapsed_ms: 0,
                iterations_left: None,
            });
        }
        Some(Body::Assign(Assign { job, segments }))
    }

    /// The better of two random workers with enough cores; the one that lost the last attempt only if there is no other.
    fn choose(
        &mut self,
        cores: u32,
        avoid: Option<NodeId>,
        taken: &BTreeMap<NodeId, u32>,
        idle: bool,
    ) -> Option<(NodeId, BootEpoch, Token)> {
        let register: &Register = group_of(&self.replica).machine().register();
        let free = |id: &NodeId, worker: &Worker| {
            let free = if idle { worker.cores } else { worker.free() };
            free.saturating_sub(taken.get(id).copied().unwrap_or(0))
        };
        let is_fit =
            |(id, worker): &(&NodeId, &Worker)| free(id, worker) >= cores && !self.driver.dead.contains(id);
        let mut fit: Vec<_> = register.workers().filter(is_fit).collect();
        if fit.iter().any(|(id, _)| Some(**id) != avoid) {
            fit.retain(|(id, _)| Some(**id) != avoid);
        }
        let two = [self.rng.usize(..fit.len().max(1)), self.rng.usize(..fit.len().max(1))];
        let best = two.into_iter().filter_map(|at| fit.get(at)).max_by_key(|(id, worker)| free(id, worker));
        best.map(|(id, worker)| (**id, worker.boot, worker.grant))
    }
}
