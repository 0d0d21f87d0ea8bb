//! Wishes to stop: signals and keys, each counted.
//!
//! The runtime wakes whoever waits for a signal, but two that come back to back are one wake-up. They are therefore
//! counted where the system delivers them. What the system itself delivers once – a signal that is still waiting to be
//! delivered when it is sent again – cannot be counted twice.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::errors::CommandError;
use crate::identity;

/// Wishes to stop, counted.
pub(super) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal is gone. `None` once that is known, and where nobody is to mind it (`nohup`): a hang-up is one wish,
    /// however often the kernel and the shell say it.
    hangup: Option<Signal>,
    /// Signals that were delivered.
    signals: Arc<AtomicU32>,
    /// Wishes that came by other ways.
    others: u32,
    /// How many [`Interrupts::next`] has told of.
    told: u32,
}

impl Interrupts {
    /// Listens from now on.
    pub(super) fn listen() -> Result<Self, CommandError> {
        let signals = Arc::default();
        // Asked before listening, which would undo it.
        let is_minded = !identity::ignores_hangups();
        let listen = |kind| {
            // Counted first: who is woken sees the count.
            count(kind, &signals).and_then(|()| signal(kind)).map_err(CommandError::System)
        };
        let (interrupt, terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        let hangup = is_minded.then(|| signal(SignalKind::hangup())).transpose();
        let hangup = hangup.map_err(CommandError::System)?;
        Ok(Self { interrupt, terminate, hangup, signals, others: 0, told: 0 })
    }

    /// Counts one more that is no signal; returns how many there were.
    pub(super) fn count(&mut self) -> u32 {
        self.others += 1;
        self.told = self.total();
        self.told
    }

    /// Counts one more that is no signal, if it is the first of all; `None` if there was one before.
    pub(super) fn first(&mut self) -> Option<u32> {
        (self.total() == 0).then(|| self.count())
    }

    /// Waits for the next signal; returns how many wishes there were.
    pub(super) async fn next(&mut self) -> u32 {
        while self.told == self.total() {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
                () = hung_up(&mut self.hangup) => {
                    self.hangup = None;
                    self.others += 1;
                }
            }
        }
        self.told = self.total();
        self.told
    }

    fn total(&self) -> u32 {
        self.signals.load(Ordering::Relaxed).saturating_add(self.others)
    }
}

/// Waits for the terminal to go away; for ever, where that means nothing.
async fn hung_up(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Counts every delivery of a signal, from now to the end of the process.
fn count(kind: SignalKind, signals: &Arc<AtomicU32>) -> io::Result<()> {
    let signals = Arc::clone(signals);
    let deliver = move || {
        signals.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: the handler does nothing but add to an atomic number, which may happen at any point of any thread.
    #[expect(unsafe_code, reason = "there is no safe way to count what is delivered")]
    let registered = unsafe { signal_hook_registry::register(kind.as_raw_value(), deliver) };
    registered.map(drop)
}

#[cfg(test)]
mod tests {
    use std::process::{self, Command};
    use std::thread;

    use super::*;

    /// Sends a signal to this process and waits until it was delivered.
    fn send(interrupts: &Interrupts, name: &str) {
        let before = interrupts.total();
        let status = Command::new("kill").args(["-s", name, &process::id().to_string()]).status();
        assert!(status.expect("kill is there").success());
        while interrupts.total() == before {
            thread::yield_now();
        }
    }

    #[tokio::test]
    async fn signals_back_to_back_are_all_counted() {
        let mut interrupts = Interrupts::listen().expect("signals can be listened to");
        send(&interrupts, "INT");
        send(&interrupts, "INT");
        assert_eq!(interrupts.next().await, 2, "one wake-up, two wishes");
        send(&interrupts, "TERM");
        assert_eq!(interrupts.next().await, 3);
        assert_eq!(interrupts.count(), 4, "a key counts too");
        assert_eq!(interrupts.first(), None, "there were others before");
    }
}
