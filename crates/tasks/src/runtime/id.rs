//! New ids: the one place that reads the machine's clock and randomness for them. The time only sorts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::domain::{BootId, ScheduleId, TaskId};

/// A new task id, above all that this process has made before: tasks that are submitted together keep their order. Within a
/// millisecond the first random bits count, as RFC 9562 (section 6.2, method 1) has it; beyond 4 096 the next one begins.
pub fn new_task_id() -> TaskId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = unix_ms() << 12;
    let next = |last: u64| now.max(last + 1);
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
    let tick = next(last.unwrap_or_else(|last| last));
    let mut random: [u8; 10] = random();
    [random[0], random[1]] = [(tick >> 8) as u8 & 0xf, tick as u8];
    TaskId::new(tick >> 12, random)
}

/// A new boot id, one per process start.
pub fn new_boot_id() -> BootId {
    BootId::new(unix_ms(), random())
}

/// A new schedule id.
pub fn new_schedule_id() -> ScheduleId {
    ScheduleId::new(unix_ms(), random())
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A new secret for signing lease tokens.
pub fn new_secret() -> [u8; 32] {
    random()
}

fn random<const BYTES: usize>() -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    aws_lc_rs::rand::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_ids_of_a_process_rise() {
        let ids: Vec<TaskId> = (0..20_000).map(|_| new_task_id()).collect();
        assert!(ids.is_sorted_by(|first, second| first < second));
        assert!(ids.iter().all(|id| id.0.get_version_num() == 7));
    }
}
