//! The simulated world: nodes that run the production cores on models of clock, processor, network and process.
//!
//! [`World::step`] lets one event happen. Whatever a core does is shown to the judges at once, so that a broken promise
//! is known at the event that broke it. Nothing here decides what is right: that is the business of the invariants.

mod cross;
mod fault;
mod happening;
mod life;
mod links;
mod log;
mod membership;
pub mod node;
mod registry;
mod shape;
mod state;
mod truth;
mod wire;

use std::time::Duration;

use fastrand::Rng;
use hyperscale_swim::{Action, Command, Config};
use hyperscale_types::Role;

pub use cross::cluster_name;
pub use happening::{Happening, Thread};
pub use log::{Absence, Absent, LogSetup};
pub use node::{Node, id_of, index_of};
pub use shape::{Shape, Size};
pub use truth::{Fact, Truth};
pub use wire::Wire;

use crate::cpu::{Admission, Arrival};
use crate::invariants::{Judges, Seen, What};
use crate::jobs::client::Clients;
use crate::kernel::Kernel;
use crate::moment::Moment;
use crate::network::{Network, Weather};
use crate::paths::Paths;
use crate::process::Version;
use crate::recorder::Recorder;
use registry::Registry;

/// Events of one moment after which time counts as standing still.
const EVENTS_PER_MOMENT_MAX: u32 = 1_000_000;
/// Loss up to which healthy nodes must not look dead.
const CALM_LOSS: f64 = 0.1;

/// What a world is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Decides everything that is drawn.
    pub seed: u64,
    /// How many nodes.
    pub shape: Shape,
    /// Settings of the membership cores; gates take those for wide areas.
    pub config: Config,
    /// The network at the start.
    pub weather: Weather,
    /// Whether clocks are wrong.
    pub skewed_clocks: bool,
    /// Whether workers register with managers.
    pub registers: bool,
    /// The replicated log, if there is one.
    pub log: Option<LogSetup>,
    /// What the nodes run at first.
    pub version: Version,
    /// Over which time the nodes start.
    pub start_within: Duration,
}

/// A simulated world.
#[derive(Debug)]
pub struct World {
    setup: Setup,
    /// Events to come.
    pub kernel: Kernel<Happening>,
    /// What is really so.
    pub truth: Truth,
    /// The network.
    pub network: Network,
    /// All nodes ever started.
    pub nodes: Vec<Node>,
    /// Who watches.
    pub judges: Judges,
    /// The last events per node, if they are kept.
    pub recorder: Recorder,
    /// Those who order jobs.
    pub clients: Clients,
    /// Rare paths that were taken.
    pub paths: Paths,
    rng: Rng,
    registry: Registry,
    actions: Vec<Action>,
    sealing: Option<wire::Sealing>,
    /// Connections that were opened, in sealed worlds.
    links_opened: u64,
    log: Option<log::LogWorld>,
}

impl World {
    /// A world whose nodes are about to start.
    pub fn new(setup: Setup, judges: Judges, recorder: Recorder) -> Self {
        let mut rng = Rng::with_seed(setup.seed ^ 0x5eed_0f00_d000_0001);
        let network = Network::new(rng.u64(..), setup.weather.clone());
        let mut world = Self {
            kernel: Kernel::default(),
            truth: Truth::default(),
            network,
            nodes: Vec::new(),
            judges,
            recorder,
            paths: Paths::default(),
            rng,
            registry: Registry::default(),
            actions: Vec::new(),
            sealing: None,
            links_opened: 0,
            clients: Clients::default(),
            log: None,
            setup,
        };
        let weather = &world.setup.weather;
        if weather.loss > CALM_LOSS || weather.bytes_per_second.is_some() {
            world.truth.calm_from = Moment(u64::MAX);
        }
        if *weather != Weather::fair() {
            world.truth.still_from = Moment(u64::MAX);
        }
        world.prepare_log();
        for (role, cluster) in world.setup.shape.nodes() {
            let after = world.setup.start_within.mul_f64(world.rng.f64());
            world.add(role, cluster, after);
        }
        if world.setup.registers {
            world.kernel.after(registry::ROUND, Happening::Registry);
        }
        world
    }

    /// Lets one event happen; false if there is none up to that moment.
    pub fn step(&mut self, until: Moment) -> bool {
        let Some(happening) = self.kernel.next(until) else { return false };
        let Some(happening) = self.admit(happening) else { return true };
        let parts = happening.fingerprint();
        self.kernel.trace.mix(&[self.kernel.now().0, parts[0], parts[1], parts[2]]);
        match happening {
            Happening::Start { node } => self.start(node),
            Happening::Datagram { to, datagram, .. } => self.datagram(to, datagram),
            Happening::Sealed { from, to, bytes } => self.sealed(from, to, &bytes),
            Happening::Stream { from, to, message } => self.stream(from, to, message),
            Happening::Timer { node, boot, at, timer } => self.timer(node, boot, at, timer),
            Happening::Command { node, boot, command } => self.command(node, boot, command),
            Happening::State { node, boot } => self.new_state(node, boot),
            Happening::Cross { to, message, .. } => self.cross_message(to, *message),
            Happening::CrossStream { from, to, message } => self.cross_stream(from, to, *message),
            Happening::CrossTimer { node, boot, timer, .. } => self.cross_timer(node, boot, timer),
            Happening::Letter { from, to, boot, letter } => self.letter(from, to, boot, *letter),
            Happening::HungUp { node, boot, by } => self.hung_up(node, boot, by),
            Happening::Tick { node, boot, at } => self.log_tick(node, boot, at),
            Happening::Duty { node, boot } => self.duty(node, boot),
            Happening::Step { node, boot, attempt } => self.step_attempt(node, boot, attempt),
            Happening::Disk { node, boot } => self.disk(node, boot),
            Happening::BlobSynced { node, boot, blob, bytes } => self.blob_synced(node, boot, blob, bytes),
            Happening::SnapshotMade { node, boot, snapshot } => self.snapshot_made(node, boot, *snapshot),
            Happening::Update { node, boot } => self.updated(node, boot),
            Happening::Bytes { from, to, boot, place, bytes } => {
                self.link_bytes(from, to, boot, place, bytes);
            }
            Happening::Client { client_job } => self.client(client_job),
            Happening::Answered { client_job, answer } => self.answered(client_job, answer),
            Happening::Operator => self.operator_round(),
            Happening::Registry => self.registry_round(),
            Happening::Fault(fault) => self.fault(fault),
            Happening::Deferred(_) => unreachable!("admission unwraps what waited"),
        }
        true
    }

    /// Lets everything happen up to that moment, or until a promise is broken.
    pub fn run_until(&mut self, until: Moment) {
        let (mut moment, mut events) = (self.kernel.now(), 0);
        while self.judges.violation().is_none() && self.step(until) {
            let now = self.kernel.now();
            events = if now == moment { events + 1 } else { 0 };
            moment = now;
            if events > EVENTS_PER_MOMENT_MAX {
                let what = "time stands still: a node is woken again and again for nothing".to_owned();
                self.judges.object("time_goes_on", now, None, what);
            }
        }
    }

    /// The same for a span.
    pub fn run(&mut self, span: Duration) {
        self.run_until(self.kernel.now().plus(span));
    }

    /// Runs until the condition holds, looking every 100 ms; how long that took, or `None` if it did not within `limit`.
    pub fn run_while(&mut self, limit: Duration, mut holds: impl FnMut(&Self) -> bool) -> Option<Duration> {
        let start = self.kernel.now();
        while !holds(self) {
            if self.kernel.now().since(start) >= limit || self.judges.violation().is_some() {
                return None;
            }
            self.run(Duration::from_millis(100));
        }
        Some(self.kernel.now().since(start))
    }

    /// What the world was made of.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Makes a node do something, now.
    pub fn tell(&mut self, node: usize, command: Command) {
        let boot = self.truth.nodes[node].process.boot;
        self.kernel.at(self.kernel.now(), Happening::Command { node, boot, command });
    }

    /// A name to read in reports.
    pub fn name_of(&self, index: usize) -> String {
        let Some(fact) = self.truth.nodes.get(index) else { return format!("node-{index}") };
        match fact.role {
            Role::Gate => format!("gate-{index}"),
            role => format!("dc{}-{role}-{index}", fact.cluster),
        }
    }

    /// Lets an event through if its node has time for it now; else it waits or is lost.
    fn admit(&mut self, happening: Happening) -> Option<Happening> {
        let now = self.kernel.now();
        let (happening, waited) = match happening {
            Happening::Deferred(inner) => (*inner, true),
            other => (other, false),
        };
        let Some((node, thread, arrival)) = happening.target() else { return Some(happening) };
        let cpu = match thread {
            Thread::Gossip => &mut self.nodes[node].cpu,
            Thread::Control => &mut self.nodes[node].control,
        };
        if waited {
            cpu.release(arrival);
            if !cpu.is_frozen(now) {
                return Some(happening);
            }
        }
        if arrival == Arrival::Datagram && cpu.is_asleep(now) {
            return None;
        }
        match cpu.admit(now, arrival) {
            Admission::Now => Some(happening),
            Admission::Later(at) => {
                self.kernel.at(at, Happening::Deferred(Box::new(happening)));
                None
            }
            Admission::Lost => None,
        }
    }

    /// Something sent arrives as often as the network says: once, twice or never.
    fn arrives<T: Clone>(
        &mut self,
        [first, second]: [Option<Moment>; 2],
        sent: T,
        happening: impl Fn(T) -> Happening,
    ) {
        if let Some(at) = second {
            self.kernel.at(at, happening(sent.clone()));
        }
        if let Some(at) = first {
            self.kernel.at(at, happening(sent));
        }
    }

    fn show(&mut self, index: usize, what: What<'_>) {
        let at = self.kernel.now();
        let node = &self.nodes[index];
        let seen = Seen { at, node: index, clock: &node.clock, swim: &node.swim, truth: &self.truth, what };
        self.judges.see(&seen);
    }
}
