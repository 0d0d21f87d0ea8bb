//! New ids: the one place that reads the machine's clock and randomness for them. The time only sorts.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::domain::{BootId, ScheduleId, TaskId};

/// A new task id.
pub fn new_task_id() -> TaskId {
    TaskId::new(unix_ms(), random())
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
