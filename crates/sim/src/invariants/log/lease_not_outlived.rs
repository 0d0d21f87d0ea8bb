//! No lease is outlived: a worker stops before the cluster leader may end it, and sends nothing under a grant that ended.

use std::collections::BTreeSet;

use hyperscale_consensus::register::{Body, Outcome};
use hyperscale_types::Token;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// Grants that ended, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct LeaseNotOutlived {
    gone: BTreeSet<(u8, Token)>,
}

impl Invariant for LeaseNotOutlived {
    fn name(&self) -> &'static str {
        "lease_not_outlived"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Log(Logged::Decided(written)) => {
                if let (Body::WorkerGone { grant, .. }, Outcome::Done) =
                    (&written.command.body, &written.outcome)
                {
                    self.gone.insert((seen.cluster(), *grant));
                }
                Ok(())
            }
            What::Log(Logged::Load { segment, grant, .. })
                if self.gone.contains(&(seen.cluster(), *grant)) =>
            {
                Err(format!("{segment:?}: sends load under grant {grant}, which has ended"))
            }
            What::Log(Logged::Renewed { until, arrived, lease }) => {
                let ends = arrived.plus(*lease);
                if *until <= ends {
                    return Ok(());
                }
                Err(format!("uses its lease until {until}; it was renewed until {ends}"))
            }
            _ => Ok(()),
        }
    }
}
