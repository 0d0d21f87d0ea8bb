//! Words of the register and their numbers on the wire. Zero and unknown numbers are errors.

use hyperscale_types::Priority;
use hyperscale_wire::messages as wire;

use super::command::{CommandError, DatacenterClass};
use super::end::EndStatus;
use super::options::{OnIsolation, OnWorkerLoss, Split};
use super::workflow::SegmentKind;

/// A word of ours that has a number on the wire.
pub(super) trait Word: Copy + PartialEq + 'static {
    type Wire: Copy + Into<i32>;
    /// Every word once.
    const TABLE: &'static [(Self, Self::Wire)];
    /// What is said of a number that is no such word.
    const UNKNOWN: CommandError;
}

pub(super) fn word_out<W: Word>(word: W) -> i32 {
    W::TABLE.iter().find(|(ours, _)| *ours == word).expect("every word is in its table").1.into()
}

pub(super) fn word_in<W: Word>(number: i32) -> Result<W, CommandError> {
    let found = W::TABLE.iter().find(|(_, theirs)| (*theirs).into() == number);
    found.map(|(ours, _)| *ours).ok_or(W::UNKNOWN)
}

macro_rules! words {
    ($($type:ident, $unknown:literal { $($word:ident),+ $(,)? })+) => {$(
        impl Word for $type {
            type Wire = wire::$type;
            const TABLE: &'static [(Self, wire::$type)] = &[$((Self::$word, wire::$type::$word)),+];
            const UNKNOWN: CommandError = CommandError($unknown);
        }
    )+};
}

words! {
    EndStatus, "unknown status" { Completed, Partial, Failed, Cancelled, TimedOut, Skipped, Lost, Refused }
    DatacenterClass, "unknown class" { Unhealthy, Degraded, Busy, Healthy }
    OnIsolation, "unknown policy without contact" { Stop, Finish }
    OnWorkerLoss, "unknown policy without a worker" { Resume, Restart, Fail }
    Split, "unknown split" { Replicate, Divide }
    SegmentKind, "unknown kind of segment" { SetUp, Load, TearDown }
    Priority, "unknown priority" { Low, Auto, Normal, High, Exclusive }
}
