//! What the machine allows and gives: CPUs to pin to, open files, memory.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a run needs beside its connections: runtimes, timers, data files, standard streams.
const FILES_BESIDE: u64 = 128;

/// The CPUs this process may run on.
pub fn cpus() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        Err(_) => Vec::new(),
    }
}

/// How many cores a run uses unless it is told otherwise.
pub fn available_cores() -> u32 {
    let counted = cpus().len().max(1);
    u32::try_from(counted).unwrap_or(u32::MAX)
}

/// Memory of this process that is in use now, where the system tells.
pub(crate) fn memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = resident.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Raises the limit of open files so that every virtual user can hold a connection, as far as the machine's owner allows
/// (the hard limit). Returns a warning when that is not far enough.
pub fn raise_file_limit(vus: u64) -> Option<String> {
    let needed = vus + FILES_BESIDE;
    let limit = getrlimit(Resource::Nofile);
    let enough = |current: Option<u64>| current.is_none_or(|current| current >= needed);
    if enough(limit.current) {
        return None;
    }
    // Whether it worked is seen from what the limit is now.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let now = getrlimit(Resource::Nofile).current;
    if enough(now) {
        return None;
    }
    Some(format!(
        "{vus} virtual users may need {needed} open files, but the limit is {}; raise it with `ulimit -n {needed}`",
        now.map_or_else(|| "unknown".to_owned(), |now| now.to_string()),
    ))
}
