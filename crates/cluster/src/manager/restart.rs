//! Jobs that the log gave to an earlier life of this manager.
//!
//! A token belongs to one life: events and directives are numbered under it, and a process that starts again would number them
//! from the beginning. So a manager that starts leads nothing that was granted before; it proposes new grants of those jobs to itself.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::register::{Body, JobId};
use hyperscale_types::{NodeId, Now, Token};

use super::calls::Purpose;
use super::{JobMachine, Manager};

/// A grant that was proposed and is not applied is proposed again after this time.
const AGAIN: Duration = Duration::from_millis(500);

/// What was granted before this life began.
#[derive(Debug, Default)]
pub(super) struct EarlierGrants {
    /// The last entry of the log when this life began.
    until: u64,
    /// Jobs led by an earlier life, with its token, and when a new grant was last proposed.
    jobs: BTreeMap<JobId, (Token, Option<Now>)>,
}

impl EarlierGrants {
    pub(super) fn before(until: u64) -> Self {
        Self { until, jobs: BTreeMap::new() }
    }

    /// Whether a grant to this manager is one of this life; one of an earlier life is remembered.
    pub(super) fn is_own(&mut self, job: JobId, token: Token) -> bool {
        let is_own = token.0 > self.until;
        if is_own {
            self.jobs.remove(&job);
        } else {
            // An earlier life may have had several grants of one job; the last one is in force.
            let known = self.jobs.entry(job).or_insert((token, None));
            if known.0 < token {
                *known = (token, None);
            }
        }
        is_own
    }

    /// Grants that are to be proposed now, of those that are still in force.
    fn due(
        &mut self,
        now: Now,
        in_force: impl Fn(JobId) -> Option<(NodeId, Token)>,
        me: NodeId,
    ) -> Vec<(JobId, Token)> {
        self.jobs.retain(|job, (token, _)| in_force(*job) == Some((me, *token)));
        let is_due = |asked: &Option<Now>| asked.is_none_or(|asked| now.since(asked) >= AGAIN);
        let due = self.jobs.iter_mut().filter(|(_, (_, asked))| is_due(asked));
        due.map(|(job, (token, asked))| {
            *asked = Some(now);
            (*job, *token)
        })
        .collect()
    }
}

impl<M: JobMachine> Manager<M> {
    /// Proposes that this manager leads what an earlier life of it led. Its clocks were kept, or begin with what the log says.
    pub(super) fn regrant(&mut self, now: Now) {
        let Some(group) = self.replica.group() else { return };
        let register = group.machine().register();
        let in_force = |job| register.job(job).filter(|job| job.end.is_none())?.leader;
        let leader = self.options.node;
        for (job, token) in self.earlier.due(now, in_force, leader) {
            let elapsed = self.clocks.elapsed(now, job);
            let body =
                Body::JobLeader { job, leader, elapsed, reason: "its leader has restarted".to_owned() };
            self.propose(now, Purpose::Other, token, body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_of_an_earlier_life_are_asked_for_again_until_they_are_replaced() {
        let me = NodeId::new(1).unwrap();
        let (old, new) = (JobId([1; 16]), JobId([2; 16]));
        let at = |millis| Now::after_start(Duration::from_millis(millis));
        let mut grants = EarlierGrants::before(10);
        assert!(!grants.is_own(old, Token(7)), "the first of two grants");
        assert!(!grants.is_own(old, Token(10)) && grants.is_own(new, Token(11)));
        let stands = |_| Some((me, Token(10)));
        assert_eq!(grants.due(at(0), stands, me), [(old, Token(10))]);
        assert_eq!(grants.due(at(499), stands, me), []);
        assert_eq!(grants.due(at(500), stands, me), [(old, Token(10))]);
        assert_eq!(grants.due(at(2000), |_| Some((me, Token(12))), me), [], "a new grant replaced it");
        assert_eq!(grants.due(at(9000), stands, me), [], "and is forgotten then");
    }
}
