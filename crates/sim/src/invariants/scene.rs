//! A made-up scene for tests of judges: what they are shown never came from a core, so it may be anything, also what no core
//! would ever do.

use std::time::Duration;

use hyperscale_swim::{Command, Config, Datagram, Incarnation, Input, LocalNode, Message, Sender, Swim};
use hyperscale_types::{BootEpoch, Now, Role};

use super::{Invariant, Seen, Verdict, What};
use crate::clock::Clock;
use crate::moment::Moment;
use crate::process::{Process, Version};
use crate::world::node::peer_of;
use crate::world::{Fact, Truth};

/// Nodes that all run in their first life, and the view of the first one, who knows the others.
pub(super) struct Scene {
    pub(super) truth: Truth,
    pub(super) clock: Clock,
    swim: Swim,
}

impl Scene {
    /// One node for each cluster that is named.
    pub(super) fn of(clusters: &[u8]) -> Self {
        let truth =
            Truth { nodes: clusters.iter().map(|cluster| fact(*cluster)).collect(), ..Truth::default() };
        let identity = LocalNode { peer: peer_of(0, Role::Manager), boot: BootEpoch(1) };
        let mut swim = Swim::new(Config::lan(), identity, 1).unwrap();
        let (now, mut out) = (Now::after_start(Duration::from_secs(1)), Vec::new());
        swim.handle(now, Input::Command(Command::Join { contacts: Vec::new() }), &mut out);
        for index in 1..clusters.len() {
            swim.handle(now, Input::Datagram(greeting(index)), &mut out);
        }
        Self { truth, clock: Clock::exact(), swim }
    }

    /// One more node, which the first one hears of from the second one and has not reached.
    pub(super) fn hear_of(&mut self, index: usize, cluster: u8) {
        self.truth.nodes.push(fact(cluster));
        let members = vec![greeting(index).from.alive()];
        let (now, mut out) = (Now::after_start(Duration::from_secs(1)), Vec::new());
        self.swim.handle(now, Input::Datagram(Datagram { members, ..greeting(1) }), &mut out);
    }

    /// What the judge says about something that happens at a node.
    pub(super) fn ask(
        &self,
        judge: &mut dyn Invariant,
        node: usize,
        seconds: u64,
        what: What<'_>,
    ) -> Verdict {
        let (at, clock, swim) = (Moment::seconds(seconds), &self.clock, &self.swim);
        judge.see(&Seen { at, node, clock, swim, truth: &self.truth, what })
    }
}

fn fact(cluster: u8) -> Fact {
    Fact {
        role: Role::Manager,
        cluster,
        process: Process::started(Version::New),
        since: Moment::ZERO,
        leaving: false,
    }
}

/// A datagram that says nothing but that its sender is there.
pub(super) fn greeting(index: usize) -> Datagram {
    let from =
        Sender { peer: peer_of(index, Role::Manager), boot: BootEpoch(1), incarnation: Incarnation(0) };
    Datagram { from, message: Message::Gossip, embedded: None, members: Vec::new(), workers: Vec::new() }
}
