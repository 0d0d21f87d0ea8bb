//! The kinds of trouble, and the subset a seed draws.

use fastrand::Rng;

/// A kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is described where it is planned; the names say the rest")]
pub enum FaultKind {
    Loss,
    Duplication,
    Reordering,
    Delay,
    Bandwidth,
    Spikes,
    Partitions,
    SkewedClocks,
    ClockJumps,
    Pauses,
    Sleeps,
    SlowCpu,
    MinorityCrash,
    RollingRestart,
    PowerLoss,
    KilledWorkers,
    Replacement,
    Upgrade,
    KeyRotation,
    Leave,
    SyncStalls,
    LostWrites,
    TornTail,
    FullDisk,
    SecondProcess,
    LeaderFaults,
    FounderFaults,
    Drains,
    WorkerPressure,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [FaultKind; 29] = [
        FaultKind::Loss,
        FaultKind::Duplication,
        FaultKind::Reordering,
        FaultKind::Delay,
        FaultKind::Bandwidth,
        FaultKind::Spikes,
        FaultKind::Partitions,
        FaultKind::SkewedClocks,
        FaultKind::ClockJumps,
        FaultKind::Pauses,
        FaultKind::Sleeps,
        FaultKind::SlowCpu,
        FaultKind::MinorityCrash,
        FaultKind::RollingRestart,
        FaultKind::PowerLoss,
        FaultKind::KilledWorkers,
        FaultKind::Replacement,
        FaultKind::Upgrade,
        FaultKind::KeyRotation,
        FaultKind::Leave,
        FaultKind::SyncStalls,
        FaultKind::LostWrites,
        FaultKind::TornTail,
        FaultKind::FullDisk,
        FaultKind::SecondProcess,
        FaultKind::LeaderFaults,
        FaultKind::FounderFaults,
        FaultKind::Drains,
        FaultKind::WorkerPressure,
    ];
}

/// Share of the seeds in which leaders are hit, whatever else happens.
const LEADER_FAULTS: f64 = 0.5;
/// Share of the seeds in which founders lose their disks or die while they found.
const FOUNDER_FAULTS: f64 = 0.2;

/// A subset of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultKinds(Vec<FaultKind>);

impl FaultKinds {
    /// Each kind is in or out by itself; how many are in on average is drawn too, from few to most. Some have a probability of
    /// their own.
    pub fn draw(rng: &mut Rng) -> Self {
        let share = 0.1 + 0.6 * rng.f64();
        let probability = |kind: FaultKind| match kind {
            FaultKind::LeaderFaults => LEADER_FAULTS,
            FaultKind::FounderFaults => FOUNDER_FAULTS,
            _ => share,
        };
        Self(FaultKind::ALL.into_iter().filter(|kind| rng.f64() < probability(*kind)).collect())
    }

    /// This one alone.
    #[cfg(test)]
    pub(super) fn of(kind: FaultKind) -> Self {
        Self(vec![kind])
    }

    /// Whether it is in.
    pub fn has(&self, kind: FaultKind) -> bool {
        self.0.contains(&kind)
    }

    /// All that are in, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = FaultKind> + '_ {
        self.0.iter().copied()
    }
}
