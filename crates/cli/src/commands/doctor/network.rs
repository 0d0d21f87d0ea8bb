//! Ports and queues of TCP.

use super::probe::Probe;
use super::{Finding, Verdict};

/// Ports that a machine for load tests should have.
const PORTS_GOOD: u64 = 20_000;
/// Waiting connections that a listening socket should take.
const BACKLOG_GOOD: u64 = 1_024;

/// Whether there are local ports for all connections to one address.
pub(super) fn local_ports(probe: &Probe, vus: u64) -> Finding {
    const WHY: &str = "every connection to the same address and port needs a local port of its own";
    const FIX: &str =
        "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\", or several `source` addresses in the plan";
    let range = probe.read("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(low)), Some(Ok(high))) = (ends.next(), ends.next()) else {
        return Finding::unknown("local ports", WHY);
    };
    let count = (high + 1).saturating_sub(low);
    let finding =
        Finding::ok("local ports", format!("{count} ({low} to {high}) for {vus} virtual users"), WHY);
    if count < vus {
        finding.but(Verdict::Fail, FIX)
    } else if count < PORTS_GOOD || count < vus * 2 {
        finding.but(Verdict::Warn, FIX)
    } else {
        finding
    }
}

/// Whether ports of closed connections can be used again soon.
pub(super) fn time_wait(probe: &Probe, target: Option<&str>) -> Finding {
    const WHY: &str = "a closed connection keeps its port for a minute; without keep-alive ports run out";
    let Some(reuse) = probe.number("/proc/sys/net/ipv4/tcp_tw_reuse") else {
        return Finding::unknown("TIME_WAIT reuse", WHY);
    };
    let waiting = waiting(probe).map(|count| format!("; {count} connections wait now")).unwrap_or_default();
    let word = match reuse {
        0 => "off",
        2 => "for loopback only",
        _ => "on",
    };
    let finding = Finding::ok("TIME_WAIT reuse", format!("{word}{waiting}"), WHY);
    let is_remote =
        target.is_some_and(|url| !["127.", "localhost", "[::1]"].iter().any(|local| url.contains(local)));
    if reuse == 0 || (reuse == 2 && is_remote) {
        finding.but(Verdict::Warn, "sysctl -w net.ipv4.tcp_tw_reuse=1")
    } else {
        finding
    }
}

/// Connections in TIME_WAIT: `TCP: inuse 4 orphan 0 tw 12 …`.
fn waiting(probe: &Probe) -> Option<u64> {
    let line = probe.field("/proc/net/sockstat", "TCP")?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw").skip(1);
    words.next()?.parse().ok()
}

/// How many connections a server on this machine can have waiting.
pub(super) fn backlog(probe: &Probe) -> Finding {
    const WHY: &str = "a target on this machine drops connections beyond this while it is busy";
    let Some(backlog) = probe.number("/proc/sys/net/core/somaxconn") else {
        return Finding::unknown("listen backlog", WHY);
    };
    let finding = Finding::ok("listen backlog", backlog.to_string(), WHY);
    if backlog < BACKLOG_GOOD {
        finding.but(Verdict::Warn, "sysctl -w net.core.somaxconn=4096")
    } else {
        finding
    }
}
