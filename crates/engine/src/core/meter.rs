//! What a core's thread got of its CPU, as the kernel counts it.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// CPU time and run-queue delay of the thread that made it.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Open as long as the thread lives; not there where the kernel does not count.
    schedstat: Option<File>,
}

impl Meter {
    /// A meter of this thread.
    pub(crate) fn new() -> Self {
        Meter { schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }

    /// Time in which this thread ran.
    pub(crate) fn busy_ns() -> u64 {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    /// Time in which this thread could have run and had no CPU; 0 where that is not known.
    pub(crate) fn waited_ns(&self) -> u64 {
        let mut text = [0; 64];
        let read = self.schedstat.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        read.and_then(|len| delay(&text[..len])).unwrap_or(0)
    }
}

/// The second number: `ran waited timeslices`.
fn delay(schedstat: &[u8]) -> Option<u64> {
    std::str::from_utf8(schedstat).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_delay() {
        assert_eq!(delay(b"4100 46088 1\n"), Some(46_088));
        assert_eq!((delay(b""), delay(b"1\n"), delay(b"1 x 2\n")), (None, None, None));
    }

    #[test]
    fn a_thread_that_shares_its_cpu_waits() {
        let mut set = rustix::thread::CpuSet::new();
        let own = rustix::thread::sched_getaffinity(None).unwrap();
        let cpu = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| own.is_set(*cpu)).unwrap();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set).unwrap();
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let seen = std::sync::Arc::clone(&over);
        let rival = std::thread::spawn(move || {
            while !seen.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let meter = Meter::new();
        let (busy, waited) = (Meter::busy_ns(), meter.waited_ns());
        while Meter::busy_ns() - busy < 50_000_000 {}
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        rival.join().unwrap();
        // The rival, which runs on the same CPU, got about as much as we did.
        assert!(meter.waited_ns() - waited > 10_000_000, "{}", meter.waited_ns() - waited);
    }
}
