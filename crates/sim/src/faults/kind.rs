//! The kinds of trouble, and the subset a seed draws.

use fastrand::Rng;

/// A kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is described where it is planned; the names say the rest")]
pub enum Kind {
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
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 25] = [
        Kind::Loss,
        Kind::Duplication,
        Kind::Reordering,
        Kind::Delay,
        Kind::Bandwidth,
        Kind::Spikes,
        Kind::Partitions,
        Kind::SkewedClocks,
        Kind::ClockJumps,
        Kind::Pauses,
        Kind::Sleeps,
        Kind::SlowCpu,
        Kind::MinorityCrash,
        Kind::RollingRestart,
        Kind::PowerLoss,
        Kind::KilledWorkers,
        Kind::Replacement,
        Kind::Upgrade,
        Kind::KeyRotation,
        Kind::Leave,
        Kind::SyncStalls,
        Kind::LostWrites,
        Kind::TornTail,
        Kind::FullDisk,
        Kind::SecondProcess,
    ];
}

/// A subset of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(Vec<Kind>);

impl Kinds {
    /// Each kind is in or out by itself; how many are in on average is drawn too, from few to most.
    pub fn draw(rng: &mut Rng) -> Self {
        let share = 0.1 + 0.6 * rng.f64();
        Self(Kind::ALL.into_iter().filter(|_| rng.f64() < share).collect())
    }

    /// This one alone.
    #[cfg(test)]
    pub(super) fn of(kind: Kind) -> Self {
        Self(vec![kind])
    }

    /// Whether it is in.
    pub fn has(&self, kind: Kind) -> bool {
        self.0.contains(&kind)
    }

    /// All that are in, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = Kind> + '_ {
        self.0.iter().copied()
    }
}
