//! How the datacenters are, as the gates have decided: every gate proposes what it sees, the log decides, all route alike.

use hyperscale_types::NodeId;

use super::change::Change;
use super::command::DatacenterClass;
use super::limits::Limit;
use super::{CommandRefusal, Outcome, Register};

/// Most datacenters whose class is kept.
pub const DATACENTERS_MAX: usize = 1024;

/// A datacenter as the gates have decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Datacenter {
    /// What routing may expect of it.
    pub class: DatacenterClass,
    /// The gate whose proposal was decided.
    pub proposer: NodeId,
    /// The entry that decided it.
    pub index: u64,
}

impl Register {
    pub(super) fn dc_state(
        &mut self,
        index: u64,
        name: String,
        class: DatacenterClass,
        proposer: NodeId,
    ) -> Result<Outcome, CommandRefusal> {
        let known = self.datacenters.get(&name);
        if known.is_some_and(|known| known.class == class) {
            return Ok(Outcome::Repeated);
        }
        let others = self.datacenters.len() - usize::from(known.is_some());
        Limit::Datacenters.hold(others + 1, DATACENTERS_MAX)?;
        Limit::name(&name)?;
        self.changes.push(Change::Datacenter(name.clone()));
        self.datacenters.insert(name, Datacenter { class, proposer, index });
        Ok(Outcome::Done)
    }
}
