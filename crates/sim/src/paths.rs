//! Rare paths: what must have happened somewhere in a batch of seeds. A simulator that never goes there shows nothing about
//! them, however many seeds hold.

use std::fmt::Write;

macro_rules! paths {
    ($($name:ident: $text:literal,)*) => {
        /// A path that is rarely taken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each has its sentence in the table")]
        pub enum Path { $($name,)* }

        impl Path {
            /// All of them, in the order of the table.
            pub const ALL: &[Path] = &[$(Path::$name,)*];

            /// What happens on it.
            pub fn describe(self) -> &'static str {
                match self { $(Path::$name => $text,)* }
            }
        }
    };
}

paths! {
    LeaderHitWhenElected: "a leader is hit right after its election",
    LeaderHitInJointChange: "a leader is hit while its group is in a joint configuration",
    LeaderHitWhileSendingSnapshot: "a leader is hit while it sends a snapshot",
    LeaderSteppedDown: "a leader that runs loses its majority and steps down",
    LeaderTransferred: "an ill leader hands over",
    JointLeftByAnother: "a joint configuration is left by another leader than the one that entered it",
    LearnerPromoted: "a learner becomes a voter",
    VoterRemoved: "a voter is removed",
    SnapshotRestored: "a replica takes the leader's snapshot",
    SnapshotSentAgain: "a leader sends the same replica a snapshot again in one term",
    EntryReplaced: "an entry that was proposed is replaced by another leader's",
    CircuitOpened: "a proposal is refused because the circuit to the quorum is open",
    Overloaded: "a proposal is refused because too much waits",
    DiskFull: "a replica's disk has no room for a batch",
    WholeGroupDown: "all replicas of a group are down at once",
    FounderLostDiskEarly: "a founder loses its disk before its group has decided anything",
    FounderLostDiskLater: "a founder loses its disk after its group has decided something",
    FounderMissing: "a founder that only acknowledged starts after the others have decided something",
    FoundingAbandoned: "the operator empties the directories of all founders, as one lost its disk too early",
    BlobFetched: "a replica gets a blob from another that it misses",
    BlobFromThirdPeer: "a replica gets a blob from another peer than the one it asked first",
    SealedChunkFetched: "a replica fetches a sealed chunk of ended jobs before it applies on",
    JobSealed: "ended jobs are sealed in a chunk",
    VersionRaised: "a group of upgraded builds agrees on the newer version of commands",
    TooEarlyRefused: "a command of the newer version is refused because not everybody understands it",
    BuildOutdated: "a replica of the older build stops at what its group agreed on, and is updated",
    LeaseEndedWhileRunning: "a worker's lease ends though its process runs",
    GrantSuperseded: "a worker gets a new grant while the lease of its former life still runs",
    TwoLives: "two processes of one worker run at once, the first with load",
    OwnerMoved: "a worker is owned by another manager under the same grant",
    ClaimWaited: "a job waits for cores with a claim, and is assigned later",
    OvertakingRefused: "an assignment is refused because it overtakes an older claim",
    AttemptRepeated: "a segment is assigned again after its attempt was lost",
    SegmentRestarted: "a segment that was lost runs again from the beginning",
    WindowsCommitted: "what the windows of a lost attempt said is committed",
    WindowsLost: "windows of a lost attempt are lost with its leader, or on their way",
    DirectiveOvertaken: "a directive that was overtaken by a newer one is not obeyed",
    LoadPaused: "the load of a job is paused",
    StaleTokenRefused: "a command of a replaced job leader is refused",
    TakeoverDuringCancel: "a job that is being cancelled gets another leader",
    RepeatAfterEnd: "a submission is repeated after its job has ended",
    MinorityDead: "a minority stays dead while the rest makes progress",
    MinorityCutOff: "a minority stays cut off while the rest makes progress",
    LeaderAway: "a leader is among those who stay away",
    ClusterGivenUp: "a cluster is given up by another",
    JudgementHeld: "judgement about other clusters is held",
    Contradicted: "a node that was accused contradicts",
}

/// How often each path was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths(Vec<u64>);

impl Default for Paths {
    fn default() -> Self {
        Self(vec![0; Path::ALL.len()])
    }
}

impl Paths {
    /// It was taken.
    pub fn take(&mut self, path: Path) {
        self.0[path as usize] += 1;
    }

    /// How often.
    pub fn count(&self, path: Path) -> u64 {
        self.0[path as usize]
    }
}

/// The paths of a batch of seeds: in how many seeds each was taken, and how often.
#[derive(Clone, Debug, Default)]
pub struct PathTable {
    seeds: Paths,
    times: Paths,
}

impl PathTable {
    /// A seed took these.
    pub fn add(&mut self, paths: &Paths) {
        for path in Path::ALL {
            let times = paths.count(*path);
            self.times.0[*path as usize] += times;
            self.seeds.0[*path as usize] += u64::from(times > 0);
        }
    }

    /// Those that no seed took.
    pub fn untaken(&self) -> Vec<Path> {
        Path::ALL.iter().copied().filter(|path| self.seeds.count(*path) == 0).collect()
    }

    /// As a table of Markdown.
    pub fn to_text(&self) -> String {
        let mut text = String::from("| path | seeds | times |\n| --- | ---: | ---: |\n");
        for path in Path::ALL {
            let (seeds, times) = (self.seeds.count(*path), self.times.count(*path));
            let _ = writeln!(text, "| {} | {seeds} | {times} |", path.describe());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_that_no_seed_took_is_named() {
        let mut table = PathTable::default();
        let mut paths = Paths::default();
        for path in Path::ALL.iter().skip(1) {
            paths.take(*path);
            paths.take(*path);
        }
        table.add(&paths);
        table.add(&Paths::default());
        assert_eq!(table.untaken(), [Path::ALL[0]]);
        let text = table.to_text();
        assert!(text.contains("is hit right after its election | 0 | 0 |"), "{text}");
        assert!(text.contains("| a learner becomes a voter | 1 | 2 |"), "{text}");
    }
}
