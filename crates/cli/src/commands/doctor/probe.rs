//! Where the facts come from: files of the kernel below a root, so that any machine can be shown to the checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Readings of the clock that are compared with each other.
const CLOCK_READINGS: usize = 1_000;

/// A machine.
pub(super) struct Probe {
    root: PathBuf,
}

impl Probe {
    /// The machine whose `/proc` and `/sys` are below this folder.
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The content of a file, without white space around it.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path.trim_start_matches('/'))).ok()?;
        Some(text.trim().to_owned())
    }

    /// A number that stands alone in a file.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.read(path)?.parse().ok()
    }

    /// The value behind `name:` in a file of such lines.
    pub(super) fn field(&self, path: &str, name: &str) -> Option<String> {
        let text = self.read(path)?;
        let of_name = |line: &str| {
            line.split_once(':')
                .filter(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
        };
        text.lines().find_map(of_name)
    }

    /// A file of the control group this process is in, or of the root group.
    pub(super) fn cgroup(&self, file: &str) -> Option<String> {
        let groups = self.read("/proc/self/cgroup").unwrap_or_default();
        let own =
            groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").trim_end_matches('/');
        self.read(&format!("/sys/fs/cgroup{own}/{file}"))
            .or_else(|| self.read(&format!("/sys/fs/cgroup/{file}")))
    }

    /// The shortest time that the clock of this process can tell from none.
    #[expect(clippy::unused_self, reason = "a fact of the machine like the others")]
    pub(super) fn clock_resolution(&self) -> Duration {
        let mut least = Duration::MAX;
        let mut before = Instant::now();
        for _ in 0..CLOCK_READINGS {
            let now = Instant::now();
            if now > before {
                least = least.min(now - before);
            }
            before = now;
        }
        least
    }
}
