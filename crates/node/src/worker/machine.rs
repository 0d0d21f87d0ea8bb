//! What a worker's host reads of its machine: how busy the processors are with other things, and how full the memory is.
//!
//! Linux only; elsewhere, and where a file cannot be read, a reading is zero: a worker whose machine says nothing is not taken for a
//! sick one. What this process itself uses is left out of the CPU reading: nearly all of it is load, which is its job.

use std::fs;
use std::time::Duration;

use hyperscale_cluster::worker::Readings;
use hyperscale_types::Now;

/// How often the machine is looked at. Shorter intervals would take a burst for pressure.
const EVERY: Duration = Duration::from_secs(1);

/// The machine, looked at once a second.
#[derive(Debug)]
pub(super) struct Machine {
    before: Option<Times>,
    due: Now,
}

/// Processor times since the machine was started, in ticks of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    busy: u64,
    all: u64,
    /// Of the busy ones those of this process.
    own: u64,
}

impl Machine {
    pub(super) fn new() -> Self {
        Self { before: None, due: Now::ZERO }
    }

    /// When it is looked at next.
    pub(super) fn next(&self) -> Now {
        self.due
    }

    /// What it shows, if it is time to look. The first look has nothing to compare with and shows an idle processor.
    pub(super) fn read(&mut self, now: Now, lhm: u8) -> Option<Readings> {
        if now < self.due {
            return None;
        }
        self.due = now.plus(EVERY);
        let times = times();
        let before = std::mem::replace(&mut self.before, times);
        let cpu_percent = before.zip(times).map_or(0, |(before, times)| others(before, times));
        Some(Readings { cpu_percent, memory_percent: memory(), lhm })
    }
}

fn times() -> Option<Times> {
    let (busy, all) = machine_times(&fs::read_to_string("/proc/stat").ok()?)?;
    let own = own_time(&fs::read_to_string("/proc/self/stat").ok()?)?;
    Some(Times { busy, all, own })
}

/// Busy and all times of the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal. Those of guests are
/// part of user and nice.
fn machine_times(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let (idle, all) = (times.get(3)? + times.get(4)?, times.iter().sum::<u64>());
    Some((all - idle, all))
}

/// User and system time of `/proc/self/stat`. The name of the program may hold blanks and brackets.
fn own_time(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// The share of the processors that others than this process used.
fn others(before: Times, now: Times) -> u8 {
    let busy = now.busy.saturating_sub(before.busy).saturating_sub(now.own.saturating_sub(before.own));
    percent(busy, now.all.saturating_sub(before.all))
}

/// The used share of the machine's memory, or of what the control group allows, whichever is fuller.
fn memory() -> u8 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| machine_memory(&text));
    let group = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok();
    let texts = group("max").zip(group("current")).zip(group("stat"));
    let group = texts.and_then(|((max, current), stat)| group_memory(&max, &current, &stat));
    machine.unwrap_or(0).max(group.unwrap_or(0))
}

fn machine_memory(meminfo: &str) -> Option<u8> {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (total, available) = (field("MemTotal")?, field("MemAvailable")?);
    Some(percent(total.saturating_sub(available), total))
}

/// Pages of files that were not used lately are given back before anybody runs out of memory.
fn group_memory(max: &str, current: &str, stat: &str) -> Option<u8> {
    let (max, current) = (max.trim().parse::<u64>().ok()?, current.trim().parse::<u64>().ok()?);
    let cached =
        stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok());
    Some(percent(current.saturating_sub(cached.unwrap_or(0)), max))
}

fn percent(part: u64, all: u64) -> u8 {
    let percent = part.saturating_mul(100).checked_div(all).unwrap_or(0);
    percent.min(100) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_times_of_this_process_do_not_count() {
        let stat = "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3 4\nintr 1\n";
        assert_eq!(machine_times(stat), Some((150, 1_000)));
        assert_eq!(machine_times("cpu0 1 2 3 4"), None);
        let own = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 9 0 100 1 1";
        assert_eq!(own_time(own), Some(42));
        let before = Times { busy: 100, all: 1_000, own: 40 };
        let now = Times { busy: 190, all: 1_100, own: 110 };
        assert_eq!(others(before, now), 20, "90 of 100 ticks were busy, 70 of them here");
        assert_eq!(others(before, before), 0);
        assert_eq!(others(now, before), 0, "counters went back");
    }

    #[test]
    fn memory_is_that_of_the_machine_or_of_the_group_that_limits_it() {
        let meminfo = "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    250 kB\n";
        assert_eq!(machine_memory(meminfo), Some(75));
        assert_eq!(group_memory("1000\n", "980\n", "anon 1\ninactive_file 30\n"), Some(95));
        assert_eq!(group_memory("max\n", "980\n", ""), None);
    }

    #[test]
    fn machine_is_read_once_a_second() {
        let (mut machine, now) = (Machine::new(), Now::after_start(Duration::from_secs(5)));
        assert_eq!(machine.read(now, 3).map(|readings| readings.lhm), Some(3));
        assert_eq!(machine.read(now.plus(Duration::from_millis(999)), 3), None);
        let readings = machine.read(now.plus(EVERY), 3).unwrap();
        #[cfg(target_os = "linux")]
        assert!(readings.memory_percent > 0, "{readings:?}");
        assert!(readings.cpu_percent <= 100);
    }
}
