//! Teeth: every deliberate bug must be caught within [`SEEDS_MAX`] seeds, each by a seed that holds without it: another
//! breach proves nothing about the bug. What caught it is recorded in `teeth.txt` and replayed with the tests, so that no
//! invariant goes blunt unnoticed.
//!
//! A bug that every seed catches shows little: any test would. The hunt tells how many of the first [`SHARE_OF`] seeds catch
//! each, and also which seed does with the judges away that look inside of cores.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use crate::bug::Bug;
use crate::run::{Options, run};

/// Seeds within which a bug must be caught.
pub const SEEDS_MAX: u64 = 200;
/// Seeds of which the share that catches a bug is told.
pub const SHARE_OF: u64 = 4;
/// The recorded catches.
pub const RECORDED: &str = include_str!("../teeth.txt");

const HEAD: &str = "\
# Deliberate bugs: the first seed that catches each and the invariant that does; how many of the first 4 seeds catch it (one
# that all of them catch does not count as a tooth); the first of these seeds that catches it with the judges away that look
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
    /// How many of the first [`SHARE_OF`] seeds catch it, where that was counted.
    pub share: Option<u64>,
    /// Seed and invariant without the judges that look inside.
    pub from_outside: Option<(u64, String)>,
}

impl Catch {
    /// Whether not all of the first seeds catch it: as they were counted, or because the very first one does not.
    pub fn is_tooth(&self) -> bool {
        self.share.map_or(self.seed > 0, |share| share < SHARE_OF)
    }
}

/// Looks for the first seed that catches the bug and holds without it.
pub fn hunt(bug: Bug) -> Option<Catch> {
    let options = Options { bug: Some(bug), ..Options::small() };
    let mut caught = (0..SEEDS_MAX).filter_map(|seed| Some((seed, broken(seed, options)?)));
    let (seed, invariant) = caught.find(|(seed, _)| breach(*seed).is_none())?;
    Some(Catch { bug, seed, invariant, share: None, from_outside: None })
}

/// The same, and how many of the first seeds catch it, and whether one of these does from outside.
pub fn hunt_thoroughly(bug: Bug) -> Option<Catch> {
    let options = Options { bug: Some(bug), ..Options::small() };
    let caught = |seed: u64, options: Options| Some((seed, broken(seed, options)?));
    let is_clean = |(seed, _): &(u64, String)| breach(*seed).is_none();
    let early: Vec<_> = (0..SHARE_OF).filter_map(|seed| caught(seed, options)).collect();
    let share = Some(early.len() as u64);
    let mut clean: Vec<_> = early.into_iter().filter(is_clean).collect();
    if clean.is_empty() {
        let later = (SHARE_OF..SEEDS_MAX).filter_map(|seed| caught(seed, options));
        clean.extend(later.filter(is_clean).take(1));
    }
    let outside = Options { black_box: true, ..options };
    let from_outside = clean.iter().find_map(|(seed, _)| caught(*seed, outside));
    let (seed, invariant) = clean.into_iter().next()?;
    Some(Catch { bug, seed, invariant, share, from_outside })
}

fn broken(seed: u64, options: Options) -> Option<String> {
    run(seed, options).violation.map(|violation| violation.invariant.to_owned())
}

/// What is said if a seed breaks a promise without any deliberate bug.
pub fn breach(seed: u64) -> Option<String> {
    static KNOWN: Mutex<BTreeMap<u64, Option<String>>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().get(&seed).cloned();
    let invariant = found.unwrap_or_else(|| {
        let invariant = broken(seed, Options::small());
        known().insert(seed, invariant.clone());
        invariant
    })?;
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
    let (name, share) = (bug.to_string(), share.map_or("-".to_owned(), |share| share.to_string()));
    format!("{name:<40} {seed:>4} {invariant:<24} {share:>2}/{SHARE_OF} {outside}")
}

fn read(line: &str) -> Option<Catch> {
    let mut words = line.split_whitespace();
    let (bug, seed, invariant, share) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let from_outside = match words.next()? {
        "-" => None,
        seed => Some((seed.parse().ok()?, words.next()?.to_owned())),
    };
    let share = match share.strip_suffix(&format!("/{SHARE_OF}"))? {
        "-" => None,
        share => Some(share.parse().ok()?),
    };
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
