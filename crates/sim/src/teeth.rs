//! Teeth: every deliberate bug must be caught within [`SEEDS_MAX`] seeds, each by a seed that holds without it: another
//! breach proves nothing about the bug. What caught it is recorded in `teeth.txt` and replayed with the tests, so that no
//! invariant goes blunt unnoticed.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::bug::Bug;
use crate::run::{Options, run};

/// Seeds within which a bug must be caught.
const SEEDS_MAX: u64 = 200;
/// Bugs that need a rare order of events and that no seed below [`SEEDS_MAX`] catches at present: about one seed in 150
/// does. They must be caught by the seeds that every test run simulates. The list may only become shorter.
const RARE: [&str; 2] = ["swim:DeadNotRaised", "swim:ForgottenTombs"];
/// Seeds of a test run.
const TEST_SEEDS: u64 = 300;
/// The recorded catches.
pub const RECORDED: &str = include_str!("../teeth.txt");

const HEAD: &str = "\
# Deliberate bugs, the first seed that catches each, and the invariant that does.
# Written by `cargo xtask sim --teeth`, replayed by `cargo xtask test`.
";

/// A bug that was caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catch {
    /// The bug.
    pub bug: Bug,
    /// The seed that caught it.
    pub seed: u64,
    /// The invariant that was broken.
    pub invariant: String,
}

/// Seeds within which this bug must be caught.
pub fn seeds_max(bug: Bug) -> u64 {
    if RARE.contains(&bug.to_string().as_str()) { TEST_SEEDS } else { SEEDS_MAX }
}

/// Looks for the first seed that catches the bug and holds without it.
pub fn hunt(bug: Bug) -> Option<Catch> {
    (0..seeds_max(bug)).filter_map(|seed| bite(bug, seed)).find(|caught| breach(caught.seed).is_none())
}

/// What is said if a seed breaks a promise without any deliberate bug.
pub fn breach(seed: u64) -> Option<String> {
    let violation = run(seed, Options::small()).violation?;
    Some(format!("seed {seed} breaks {} without a deliberate bug", violation.invariant))
}

/// The seeds of these catches, each once.
pub fn seeds(catches: &[Catch]) -> Vec<u64> {
    let seeds: BTreeSet<u64> = catches.iter().map(|caught| caught.seed).collect();
    seeds.into_iter().collect()
}

/// What the seed says about the bug.
pub fn bite(bug: Bug, seed: u64) -> Option<Catch> {
    let outcome = run(seed, Options { bug: Some(bug), ..Options::small() });
    let violation = outcome.violation?;
    Some(Catch { bug, seed, invariant: violation.invariant.to_owned() })
}

/// What is said if the recorded seed does not catch the bug any more, or another invariant does.
pub fn gone_blunt(recorded: &Catch) -> Option<String> {
    let Catch { bug, seed, invariant } = recorded;
    match bite(*bug, *seed) {
        Some(found) if found.invariant == *invariant => None,
        Some(found) => {
            Some(format!("seed {seed}: {bug} is caught by {}, not by {invariant}", found.invariant))
        }
        None => Some(format!("seed {seed} no longer catches {bug} ({invariant})")),
    }
}

/// The recorded catches; an error names the line that cannot be read.
pub fn recorded() -> Result<Vec<Catch>, String> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.map(|line| read(line).ok_or_else(|| format!("teeth.txt: cannot read '{line}'"))).collect()
}

/// The text of the file.
pub fn write(catches: &[Catch]) -> String {
    let mut text = HEAD.to_owned();
    for Catch { bug, seed, invariant } in catches {
        let name = bug.to_string();
        let _ = writeln!(text, "{name:<40} {seed:>4} {invariant}");
    }
    text
}

fn read(line: &str) -> Option<Catch> {
    let mut words = line.split_whitespace();
    let (bug, seed, invariant) = (words.next()?, words.next()?, words.next()?);
    Some(Catch { bug: bug.parse().ok()?, seed: seed.parse().ok()?, invariant: invariant.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_its_recorded_seed() {
        let recorded = recorded().unwrap();
        for bug in Bug::all() {
            let count = recorded.iter().filter(|it| it.bug == bug).count();
            assert_eq!(count, 1, "{bug}: run 'cargo xtask sim --teeth'");
        }
        assert!(recorded.iter().all(|it| it.seed < seeds_max(it.bug)));
        let names: BTreeSet<String> = recorded.iter().map(|it| it.bug.to_string()).collect();
        assert!(RARE.iter().all(|rare| names.contains(*rare)), "a bug is called as the list calls it");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let catches = recorded().unwrap();
        let text = write(&catches);
        let again: Vec<Catch> = text.lines().filter(|line| !line.starts_with('#')).filter_map(read).collect();
        assert_eq!(again, catches);
    }
}
