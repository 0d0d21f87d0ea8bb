//! The process of a node: its lives, how it ends, and which version of the software it runs.
//!
//! ```text
//! Up ─crash─► Down ─restart (boot + 1)─► Up
//!  └─leave, killed, disk lost─► Gone
//! ```

use hyperscale_types::BootEpoch;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The process died and its machine lives: open connections are closed, new ones refused.
    Process,
    /// The machine died: nobody answers at all, and what was not synced is lost.
    Machine,
}

/// Where a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Running.
    Up,
    /// Not running; will be started again.
    Down(Crash),
    /// Not running and never started again.
    Gone(Crash),
}

/// Versions of the software that meet in a rolling upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// The build before the present one, which reads its own version only.
    Old,
    /// The present one.
    New,
}

/// The process of one node.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// Counts its lives, from 1.
    pub boot: BootEpoch,
    /// Whether it runs.
    pub life: Life,
    /// What it runs.
    pub version: Version,
}

impl Process {
    /// A process in its first life.
    pub fn started(version: Version) -> Self {
        Self { boot: BootEpoch(1), life: Life::Up, version }
    }

    /// Whether it runs.
    pub fn is_up(&self) -> bool {
        self.life == Life::Up
    }

    /// Whether it will never run again.
    pub fn is_gone(&self) -> bool {
        matches!(self.life, Life::Gone(_))
    }

    /// Whether a connection to it is refused rather than lost.
    pub fn refuses(&self) -> bool {
        matches!(self.life, Life::Down(Crash::Process) | Life::Gone(Crash::Process))
    }

    /// Ends it; false if it does not run.
    pub fn crash(&mut self, how: Crash) -> bool {
        let was_up = self.is_up();
        if was_up {
            self.life = Life::Down(how);
        }
        was_up
    }

    /// Ends it for ever.
    pub fn end(&mut self, how: Crash) {
        self.life = Life::Gone(how);
    }

    /// Starts it in a new life; false if it runs already or never will.
    pub fn restart(&mut self) -> bool {
        let is_down = matches!(self.life, Life::Down(_));
        if is_down {
            self.life = Life::Up;
            self.boot = BootEpoch(self.boot.0 + 1);
        }
        is_down
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_life_has_a_larger_boot() {
        let mut process = Process::started(Version::New);
        assert!(!process.restart());
        assert!(process.crash(Crash::Process) && !process.crash(Crash::Machine));
        assert!(process.refuses());
        assert!(process.restart());
        assert_eq!(process.boot, BootEpoch(2));
        process.end(Crash::Machine);
        assert!(!process.restart() && !process.refuses() && process.is_gone());
    }
}
