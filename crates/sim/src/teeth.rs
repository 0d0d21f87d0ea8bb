//! Teeth: every deliberate bug must be caught within [`SEEDS_MAX`] seeds, each by a seed that holds without it: another
//! breach proves nothing about the bug. What caught it is recorded in `teeth.txt` and replayed with the tests, so that no
//! invariant goes blunt unnoticed.
//!
//! A bug that every seed catches shows little: any test would. The hunt tells how many of the first [`SHARE_OF`] seeds catch
//! each, and also which seed does with the judges away that look inside of cores.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::bug::Bug;
use crate::run::{Options, run};

/// Seeds within which a bug must be caught.
pub const SEEDS_MAX: u64 = 200;
/// Seeds of which the share that catches a bug is told.
pub const SHARE_OF: u64 = 10;
/// Seeds within which a bug is hunted without the judges that look inside.
pub const BLACK_BOX_SEEDS: u64 = 20;
/// The recorded catches.
pub const RECORDED: &str = include_str!("../teeth.txt");

const HEAD: &str = "\
# Deliberate bugs: the first seed that catches each and the invariant that does; how many of the first 10 seeds catch it (one
# that all of them catch does not count as a tooth); the first of 20 seeds that catches it with the judges away that look
# inside of cores, and the invariant, or '-'.
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
    /// How many of the first [`SHARE_OF`] seeds catch it.
    pub share: u64,
    /// Seed and invariant without the judges that look inside.
    pub from_outside: Option<(u64, String)>,
}

impl Catch {
    /// Whether it takes more than any seed to catch it.
    pub fn is_tooth(&self) -> bool {
        self.share < SHARE_OF
    }
}

/// Looks for the first seed that catches the bug and holds without it.
pub fn hunt(bug: Bug) -> Option<Catch> {
    let options = Options { bug: Some(bug), ..Options::small() };
    let first = |options: Options, seeds: u64| {
        let caught = (0..seeds).filter_map(|seed| Some((seed, broken(seed, options)?)));
        caught.into_iter().find(|(seed, _)| breach(*seed).is_none())
    };
    let (seed, invariant) = first(options, SEEDS_MAX)?;
    let share = (0..SHARE_OF).filter(|seed| broken(*seed, options).is_some()).count() as u64;
    let from_outside = first(Options { black_box: true, ..options }, BLACK_BOX_SEEDS);
    Some(Catch { bug, seed, invariant, share, from_outside })
}

fn broken(seed: u64, options: Options) -> Option<String> {
    run(seed, options).violation.map(|violation| violation.invariant.to_owned())
}

/// What is said if a seed breaks a promise without any deliberate bug.
pub fn breach(seed: u64) -> Option<String> {
    let invariant = broken(seed, Options::small())?;
    Some(format!("seed {seed} breaks {invariant} without a deliberate bug"))
}

/// The seeds of these catches, each once.
pub fn seeds(catches: &[Catch]) -> Vec<u64> {
    let seeds: BTreeSet<u64> = catches.iter().map(|caught| caught.seed).collect();
    seeds.into_iter().collect()
}

/// What is said if the recorded seed does not catch the bug any more, or another invariant does.
pub fn gone_blunt(recorded: &Catch) -> Option<String> {
    let Catch { bug, seed, invariant, .. } = recorded;
    match broken(*seed, Options { bug: Some(*bug), ..Options::small() }) {
        Some(found) if found == *invariant => None,
        Some(found) => Some(format!("seed {seed}: {bug} is caught by {found}, not by {invariant}")),
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
    for caught in catches {
        let _ = writeln!(text, "{}", line(caught));
    }
    text
}

/// One line of it.
pub fn line(Catch { bug, seed, invariant, share, from_outside }: &Catch) -> String {
    let outside = from_outside.as_ref().map_or("-".to_owned(), |(seed, name)| format!("{seed} {name}"));
    let name = bug.to_string();
    format!("{name:<40} {seed:>4} {invariant:<24} {share:>2}/{SHARE_OF} {outside}")
}

fn read(line: &str) -> Option<Catch> {
    let mut words = line.split_whitespace();
    let (bug, seed, invariant, share) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let from_outside = match words.next()? {
        "-" => None,
        seed => Some((seed.parse().ok()?, words.next()?.to_owned())),
    };
    let share = share.strip_suffix(&format!("/{SHARE_OF}"))?.parse().ok()?;
    let (bug, seed, invariant) = (bug.parse().ok()?, seed.parse().ok()?, invariant.to_owned());
    Some(Catch { bug, seed, invariant, share, from_outside })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deliberate bugs that have to be teeth, whatever else is in the list.
    const TEETH_MIN: usize = 20;

    #[test]
    fn every_bug_has_its_recorded_seed_and_enough_of_them_are_rare() {
        let recorded = recorded().unwrap();
        for bug in Bug::all() {
            let count = recorded.iter().filter(|it| it.bug == bug).count();
            assert_eq!(count, 1, "{bug}: run 'cargo xtask sim --teeth'");
        }
        assert!(recorded.iter().all(|it| it.seed < SEEDS_MAX));
        assert!(recorded.iter().filter(|it| it.is_tooth()).count() >= TEETH_MIN);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let catches = recorded().unwrap();
        let text = write(&catches);
        let again: Vec<Catch> = text.lines().filter(|line| !line.starts_with('#')).filter_map(read).collect();
        assert_eq!(again, catches);
    }
}
