//! What makes one run different from every other: its id, its seed, its begin, and the machine it ran on.
//!
//! The only place of this crate that reads the clock, randomness and facts about the machine.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};

use jiff::{Timestamp, Unit};

/// A number nobody can guess, from the keys the system gives to hash maps.
pub(crate) fn random_u64() -> u64 {
    RandomState::new().hash_one("hyperscale")
}

/// Now, RFC 3339 with milliseconds.
pub(crate) fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now).to_string()
}

/// Now, milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// A time as RFC 3339; empty for zero, which stands for an unknown time.
pub(crate) fn time(since_1970_ms: u64) -> String {
    let time = i64::try_from(since_1970_ms).ok().filter(|ms| *ms > 0);
    let time = time.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.to_string()).unwrap_or_default()
}

/// An id that no other run has: its second, for people, and something random.
pub(crate) fn job_id() -> String {
    format!("run-{}-{:08x}", Timestamp::now().strftime("%Y%m%dT%H%M%S"), random_u64() as u32)
}

/// The name of this machine, as far as it is known.
pub(crate) fn worker_id() -> String {
    read("/proc/sys/kernel/hostname").unwrap_or_else(|| "local".to_owned())
}

/// Facts about this program and machine; what cannot be found out is left out.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let facts = [
        ("version", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("os", Some(os())),
        ("arch", Some(std::env::consts::ARCH.to_owned())),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("cpus", std::thread::available_parallelism().ok().map(|n| n.to_string())),
        ("cpu_model", fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| field(&text, "model name"))),
        ("memory", fs::read_to_string("/proc/meminfo").ok().and_then(|text| field(&text, "MemTotal"))),
    ];
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

/// Whether whoever started this process said that a closed terminal does not matter to it, as `nohup` does.
pub(crate) fn ignores_hangups() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_hangup_ignored(&status))
}

/// The mask of ignored signals is hexadecimal, signal 1 its lowest bit.
fn is_hangup_ignored(status: &str) -> bool {
    let mask = field(status, "SigIgn").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

fn os() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    pretty.map_or_else(|| std::env::consts::OS.to_owned(), |name| name.trim_matches('"').to_owned())
}

fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The first `name : value` line of a file in the style of /proc.
fn field(text: &str, name: &str) -> Option<String> {
    let of_name = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    };
    text.lines().find_map(of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_never_share_an_id() {
        assert_ne!(job_id(), job_id());
    }

    #[test]
    fn begin_is_rfc_3339_in_utc() {
        let now = now();
        assert!(now.ends_with('Z') && now.contains('T'), "{now}");
    }

    #[test]
    fn ignored_hangups_are_seen() {
        assert!(is_hangup_ignored("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"));
        assert!(!is_hangup_ignored("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"));
        assert!(!is_hangup_ignored(""));
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 1\nmodel name\t: Some CPU\nMemTotal:  16 kB\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Some CPU"));
        assert_eq!(field(text, "MemTotal").as_deref(), Some("16 kB"));
        assert_eq!(field(text, "absent"), None);
    }
}
