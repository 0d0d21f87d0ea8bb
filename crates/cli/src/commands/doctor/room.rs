//! Room for virtual users: files, memory, folders.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;

use super::probe::Probe;
use super::{Finding, Verdict};
use crate::identity;

/// Files that are open beside the connections of virtual users.
const FILES_BESIDE: u64 = 64;
/// Memory of a virtual user with a connection and an answer in work, generously.
const VU_BYTES: u64 = 32 << 10;
/// Memory of the program itself.
const PROGRAM_BYTES: u64 = 128 << 20;

/// Whether there are file descriptors for all connections.
pub(super) fn open_files(probe: &Probe, vus: u64) -> Finding {
    const WHY: &str = "every virtual user has a connection, and every connection is an open file";
    let Some((soft, hard)) = limits(probe) else { return Finding::unknown("open files", WHY) };
    let needed = vus + FILES_BESIDE;
    let show = |limit: u64| if limit == u64::MAX { "unlimited".to_owned() } else { limit.to_string() };
    let found = format!("soft {}, hard {}; {needed} needed for {vus} virtual users", show(soft), show(hard));
    let finding = Finding::ok("open files", found, WHY);
    if hard >= needed {
        return finding; // a run raises the soft limit by itself
    }
    let fix = format!(
        "ulimit -Hn {needed} (as root), or LimitNOFILE={needed} of the systemd unit, or docker run --ulimit nofile={needed}"
    );
    finding.but(Verdict::Fail, fix)
}

fn limits(probe: &Probe) -> Option<(u64, u64)> {
    let text = probe.read("/proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut numbers = line.split_whitespace();
    let mut next = || match numbers.next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    };
    Some((next()?, next()?))
}

/// Whether there is memory for all virtual users.
pub(super) fn memory(probe: &Probe, vus: u64) -> Finding {
    const WHY: &str = "a machine that swaps or kills measures itself";
    let available = probe.field("/proc/meminfo", "MemAvailable").and_then(|text| kilobytes(&text));
    let limit = probe.cgroup("memory.max").and_then(|text| text.parse::<u64>().ok());
    let used = probe.cgroup("memory.current").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let Some(free) = [available, limit.map(|limit| limit.saturating_sub(used))].into_iter().flatten().min()
    else {
        return Finding::unknown("memory", WHY);
    };
    let needed = vus * VU_BYTES + PROGRAM_BYTES;
    let limited = limit.map(|limit| format!(", limited to {} MiB", limit >> 20)).unwrap_or_default();
    let finding =
        Finding::ok("memory", format!("{} MiB free{limited}; {} MiB needed", free >> 20, needed >> 20), WHY);
    if free < needed {
        finding.but(
            Verdict::Fail,
            "give the machine or container more memory, or run fewer virtual users (--vus)",
        )
    } else if free < needed * 2 {
        finding.but(
            Verdict::Warn,
            "close what else runs here, or give the container a higher limit (docker run --memory)",
        )
    } else {
        finding
    }
}

fn kilobytes(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// Whether files can be written to a folder.
pub(super) fn folder(name: &'static str, path: io::Result<PathBuf>) -> Finding {
    const WHY: &str = "reports and recordings are written there";
    let written = path.and_then(|path| {
        let file = path.join(format!(".hyperscale-doctor-{:016x}", identity::random_u64()));
        OpenOptions::new().write(true).create_new(true).open(&file)?;
        fs::remove_file(&file)?;
        Ok(path)
    });
    match written {
        Ok(path) => Finding::ok(name, format!("{} can be written", path.display()), WHY),
        Err(error) => Finding::ok(name, error.to_string(), WHY)
            .but(Verdict::Fail, "change to a folder of your own, or set TMPDIR to one"),
    }
}
