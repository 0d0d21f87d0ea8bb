//! Clocks and timers: what every number is made of.

use std::time::Duration;

use super::probe::Probe;
use super::{Finding, Verdict};

/// Clock sources that are read without asking the kernel.
const FAST_SOURCES: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];
/// Slack of timers that disturbs nothing.
const SLACK_GOOD: Duration = Duration::from_micros(100);
/// Resolution that disturbs nothing, and one with which nothing can be measured.
const RESOLUTION_GOOD: Duration = Duration::from_micros(10);
const RESOLUTION_BAD: Duration = Duration::from_millis(1);

/// Whether the clock is cheap to read.
pub(super) fn clock_source(probe: &Probe) -> Finding {
    const WHY: &str = "the clock is read several times per request; a slow one costs throughput";
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let Some(source) = probe.read(&format!("{folder}/current_clocksource")) else {
        return Finding::unknown("clock source", WHY);
    };
    let available = probe.read(&format!("{folder}/available_clocksource")).unwrap_or_default();
    let finding = Finding::ok("clock source", source.clone(), WHY);
    if FAST_SOURCES.contains(&source.as_str()) {
        return finding;
    }
    let fix = match FAST_SOURCES.iter().find(|fast| available.split_whitespace().any(|word| word == **fast)) {
        Some(fast) => format!("echo {fast} > {folder}/current_clocksource (as root)"),
        None => {
            "this machine has no faster one; trust rates less, use another machine for large ones".to_owned()
        }
    };
    finding.but(Verdict::Warn, fix)
}

/// Whether the clock is fine enough.
pub(super) fn resolution(resolution: Duration) -> Finding {
    const WHY: &str = "latencies shorter than a tick of the clock cannot be told apart";
    const FIX: &str = "choose another clock source (see above), or another machine";
    let finding = Finding::ok("clock resolution", format!("{resolution:?}"), WHY);
    if resolution > RESOLUTION_BAD {
        finding.but(Verdict::Fail, FIX)
    } else if resolution > RESOLUTION_GOOD {
        finding.but(Verdict::Warn, FIX)
    } else {
        finding
    }
}

/// Whether timers fire when they should.
pub(super) fn timer_slack(probe: &Probe) -> Finding {
    const WHY: &str = "starts of an open model come from timers; slack makes them late";
    let Some(slack) = probe.number("/proc/self/timerslack_ns").map(Duration::from_nanos) else {
        return Finding::unknown("timer slack", WHY);
    };
    let finding = Finding::ok("timer slack", format!("{slack:?}"), WHY);
    if slack > SLACK_GOOD {
        finding.but(Verdict::Warn, "echo 50000 > /proc/$$/timerslack_ns, in the shell that starts the run")
    } else {
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_clocks_are_bad_clocks() {
        let verdict = |resolution| super::resolution(resolution).verdict;
        assert_eq!(verdict(Duration::from_nanos(30)), Verdict::Ok);
        assert_eq!(verdict(Duration::from_micros(100)), Verdict::Warn);
        assert_eq!(verdict(Duration::from_millis(15)), Verdict::Fail);
    }
}
