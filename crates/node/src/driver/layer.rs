//! What stands on top of a replica: the core of a role. The loop tells it what happens and performs what it wants.

use hyperscale_consensus::Machine;
use hyperscale_consensus::replica::{Input, Output, Replica};
use hyperscale_swim::{Command, Event};
use hyperscale_types::{NodeId, Now, Role};
use hyperscale_wire::connection::{Incoming, Outgoing};

/// Something that a layer wants done, in this order.
#[derive(Debug)]
pub enum Want {
    /// Give the replica an input. Calls of layers are numbered from 2⁶³.
    Replica(Input),
    /// Send a message.
    Send(NodeId, Box<Outgoing>),
    /// Give the failure detector a command.
    Membership(Command),
}

/// The core of a role.
pub trait Layer<M: Machine> {
    /// The replica put something out; the loop performs it after this.
    fn output(&mut self, now: Now, replica: &Replica<M>, output: &Output<M::Outcome>, wants: &mut Vec<Want>);

    /// A message arrived that is neither of the log nor of membership.
    fn incoming(&mut self, now: Now, from: (NodeId, Role), message: Incoming, wants: &mut Vec<Want>);

    /// The failure detector says something.
    fn membership(&mut self, now: Now, event: &Event, wants: &mut Vec<Want>);
}

/// Nothing on top of the replica.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLayer;

impl<M: Machine> Layer<M> for NoLayer {
    fn output(&mut self, _: Now, _: &Replica<M>, _: &Output<M::Outcome>, _: &mut Vec<Want>) {}
    fn incoming(&mut self, _: Now, _: (NodeId, Role), _: Incoming, _: &mut Vec<Want>) {}
    fn membership(&mut self, _: Now, _: &Event, _: &mut Vec<Want>) {}
}
