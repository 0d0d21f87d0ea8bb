//! Processors: how many, how much of them, how fast.

use super::probe::Probe;
use super::{Finding, Verdict};

/// The part of the processors that may be in use before a run.
const BUSY: f64 = 0.25;

/// Which processors this process may use.
pub(super) fn count(probe: &Probe) -> Finding {
    const WHY: &str = "a run takes one thread per processor; generator and target should not share them";
    let online = probe.read("/sys/devices/system/cpu/online").map(|list| listed(&list));
    let Some(allowed) = allowed(probe) else { return Finding::unknown("processors", WHY) };
    let of = online
        .filter(|online| *online != allowed)
        .map(|online| format!(" of {online} (affinity)"))
        .unwrap_or_default();
    let finding = Finding::ok("processors", format!("{allowed}{of}"), WHY);
    if allowed < 2 {
        finding.but(
            Verdict::Warn,
            "taskset -pc 0-3 $$ gives a shell more, if the machine has more; else use a larger one",
        )
    } else {
        finding
    }
}

fn allowed(probe: &Probe) -> Option<u64> {
    probe.field("/proc/self/status", "Cpus_allowed_list").map(|list| listed(&list)).filter(|count| *count > 0)
}

/// How many `0-3,8` are.
fn listed(list: &str) -> u64 {
    let count = |part: &str| -> Option<u64> {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(high.trim().parse::<u64>().ok()?.checked_sub(low.trim().parse().ok()?)? + 1)
    };
    list.split(',').filter_map(count).sum()
}

/// Whether something else uses the processors already.
pub(super) fn load(probe: &Probe) -> Finding {
    const WHY: &str = "what else runs here takes time from the generator: latencies are partly its doing";
    let average = probe.read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let online = probe.read("/sys/devices/system/cpu/online").map(|list| listed(&list));
    let (Some(average), Some(cpus)) = (average, online.or_else(|| allowed(probe))) else {
        return Finding::unknown("machine load", WHY);
    };
    let finding =
        Finding::ok("machine load", format!("{average:.2} of {cpus} processors in the last minute"), WHY);
    if average > cpus as f64 * BUSY {
        finding.but(Verdict::Warn, "see what runs (top), stop it or wait, then look again")
    } else {
        finding
    }
}

/// Whether a container may use its processors all the time.
pub(super) fn quota(probe: &Probe) -> Finding {
    const WHY: &str = "a process over its quota stands still for the rest of a period: latencies jump";
    let Some(text) = probe.cgroup("cpu.max") else {
        return Finding::ok("processor quota", "none", WHY);
    };
    let mut words = text.split_whitespace();
    let (Some(Ok(quota)), Some(Ok(period))) =
        (words.next().map(str::parse::<f64>), words.next().map(str::parse::<f64>))
    else {
        return Finding::ok("processor quota", "none", WHY);
    };
    let cpus = quota / period.max(1.0);
    let allowed = allowed(probe).unwrap_or(1);
    let finding = Finding::ok("processor quota", format!("{cpus:.2} processors of {allowed}"), WHY);
    if cpus + 0.001 < allowed as f64 {
        let whole = (cpus.floor() as u64).max(1);
        finding.but(Verdict::Warn, format!("remove it (docker update --cpus {allowed} ID, no CPU limit in Kubernetes), or run with --cores {whole}"))
    } else {
        finding
    }
}

/// Whether processors run at their speed.
pub(super) fn governor(probe: &Probe) -> Finding {
    const WHY: &str = "a processor that changes its frequency makes two runs incomparable";
    let Some(governor) = probe.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") else {
        return Finding::unknown("frequency governor", WHY);
    };
    let finding = Finding::ok("frequency governor", governor.clone(), WHY);
    if matches!(governor.as_str(), "performance" | "schedutil") {
        finding
    } else {
        finding.but(Verdict::Warn, "cpupower frequency-set -g performance (as root)")
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn lists_of_processors_are_counted() {
        for (list, wanted) in [("0-3,8", 5), ("0", 1), ("", 0), ("0-1", 2), ("3-1", 0), ("x", 0)] {
            assert_eq!(listed(list), wanted, "{list}");
        }
    }
}
