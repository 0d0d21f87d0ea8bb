//! Who watches a run: one stream of events, fanned out to faces that can neither slow the run nor each other.
//!
//! ```text
//!                    ┌─ 16 events ─► thread ─► progress lines | screen
//! session ─ Faces ───┼─ 16 events ─► thread ─► recording
//!                    └─ 16 events ─► thread ─► exporters, which have threads of their own
//! ```
//! Every face has a thread and a short queue of its own. Where the queue is full, snapshots are left out and counted;
//! other events are few and wait. A recording that is shown again slows nothing down: there the faces are waited for.

mod exports;
mod progress;
mod recorder;
pub(crate) mod screen;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread;

use hyperscale_engine::Event;

use crate::errors::CommandError;

pub(crate) use exports::{Source, export};
pub(crate) use progress::ProgressLog;
pub(crate) use recorder::Recorder;
pub(crate) use screen::{LiveScreen, Wishes};

/// Events waiting for one face: at one snapshot per second more than anybody can be behind and still be live.
const WAITING_MAX: usize = 16;
/// Events other than snapshots kept for a face whose queue is full. Beyond that it has long been of no use.
const KEPT_MAX: usize = 4_096;

/// Somebody who watches a run.
pub(crate) trait Face: Send {
    /// Shows, writes or sends it. May take its time.
    fn event(&mut self, event: &Event);

    /// No event will follow.
    fn close(self: Box<Self>) -> Result<(), CommandError> {
        Ok(())
    }
}

/// All faces of one run.
#[derive(Default)]
pub(crate) struct Faces {
    seats: Vec<Seat>,
}

/// What became of a face.
#[derive(Debug)]
pub(crate) struct Closed {
    /// What people call it.
    pub(crate) name: &'static str,
    /// Events it was too slow for, in the whole run.
    pub(crate) missed: u64,
    /// Why it could not do its work.
    pub(crate) outcome: Result<(), CommandError>,
}

impl Faces {
    /// Gives a face a thread.
    pub(crate) fn add(&mut self, name: &'static str, face: impl Face + 'static) -> Result<(), CommandError> {
        let (sender, events) = mpsc::sync_channel::<Arc<Event>>(WAITING_MAX);
        let waiting = Arc::new(AtomicUsize::new(0));
        let waits = Arc::clone(&waiting);
        let watch = move || {
            let mut face: Box<dyn Face> = Box::new(face);
            for event in &events {
                face.event(&event);
                waits.fetch_sub(1, Ordering::Relaxed);
            }
            face.close()
        };
        let thread =
            thread::Builder::new().name(format!("face-{name}")).spawn(watch).map_err(CommandError::System)?;
        self.seats.push(Seat { name, sender, waiting, kept: VecDeque::new(), missing: 0, missed: 0, thread });
        Ok(())
    }

    /// Hands an event to everybody. Never waits.
    pub(crate) fn show(&mut self, event: Event) {
        let event = Arc::new(event);
        self.seats.iter_mut().for_each(|seat| seat.hand(&event));
    }

    /// Whether everybody could take one more.
    pub(crate) fn have_room(&self) -> bool {
        self.seats
            .iter()
            .all(|seat| seat.waiting.load(Ordering::Relaxed) < WAITING_MAX || seat.thread.is_finished())
    }

    /// Waits until everybody has seen everything.
    pub(crate) fn close(self) -> Vec<Closed> {
        self.seats.into_iter().map(Seat::close).collect()
    }
}

/// One face, its queue and its thread.
struct Seat {
    name: &'static str,
    sender: SyncSender<Arc<Event>>,
    /// Events that were handed over and not yet seen.
    waiting: Arc<AtomicUsize>,
    kept: VecDeque<Arc<Event>>,
    /// Snapshots left out since the last one that went through.
    missing: u64,
    /// Everything left out in the whole run.
    missed: u64,
    thread: thread::JoinHandle<Result<(), CommandError>>,
}

impl Seat {
    fn hand(&mut self, event: &Arc<Event>) {
        self.flush();
        match &**event {
            Event::Snapshot(_) if !self.kept.is_empty() => self.miss(),
            Event::Snapshot(_) => {
                if self.send(self.told(event)).is_err() {
                    self.miss();
                } else {
                    self.missing = 0;
                }
            }
            _ => {
                if self.kept.len() < KEPT_MAX {
                    self.kept.push_back(Arc::clone(event));
                } else {
                    self.missed += 1;
                }
                self.flush();
            }
        }
    }

    fn miss(&mut self) {
        self.missing += 1;
        self.missed += 1;
    }

    /// The snapshot, with what this face has missed before it.
    fn told(&self, event: &Arc<Event>) -> Arc<Event> {
        match &**event {
            Event::Snapshot(snapshot) if self.missing > 0 => {
                let mut snapshot = snapshot.clone();
                snapshot.missed += self.missing;
                Arc::new(Event::Snapshot(snapshot))
            }
            _ => Arc::clone(event),
        }
    }

    fn flush(&mut self) {
        while let Some(first) = self.kept.pop_front() {
            if let Err(first) = self.send(first) {
                self.kept.push_front(first);
                return;
            }
        }
    }

    /// Hands an event over unless the queue is full. A face that has crashed takes everything.
    fn send(&self, event: Arc<Event>) -> Result<(), Arc<Event>> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        match self.sender.try_send(event) {
            Err(TrySendError::Full(event)) => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                Err(event)
            }
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
        }
    }

    fn close(self) -> Closed {
        for event in self.kept {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            // A face that has crashed gets nothing more; its thread says so.
            drop(self.sender.send(event));
        }
        drop(self.sender);
        let outcome = self.thread.join().unwrap_or(Err(CommandError::Face(self.name)));
        Closed { name: self.name, missed: self.missed, outcome }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Takes an event only when it gets a permit.
    struct Slow {
        permits: mpsc::Receiver<()>,
        seen: Arc<Mutex<Vec<String>>>,
    }

    impl Face for Slow {
        fn event(&mut self, event: &Event) {
            // The sender is dropped when the test wants everything to run.
            self.permits.recv().ok();
            let word = match event {
                Event::Snapshot(snapshot) => format!("snapshot after {}", snapshot.missed),
                Event::Changed { what, .. } => what.clone(),
                other => format!("{other:?}"),
            };
            self.seen.lock().unwrap().push(word);
        }
    }

    fn snapshot() -> Event {
        serde_json::from_str(include_str!("snapshot.test.json")).unwrap()
    }

    #[test]
    fn slow_face_misses_snapshots_but_no_other_event_and_never_blocks() {
        let (permit, permits) = mpsc::channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut faces = Faces::default();
        faces.add("slow", Slow { permits, seen: Arc::clone(&seen) }).unwrap();
        for number in 0..100 {
            faces.show(snapshot());
            faces.show(Event::Changed { what: format!("change {number}"), change: None });
        }
        drop(permit);
        let closed = faces.close();
        let seen = seen.lock().unwrap();
        let snapshots = seen.iter().filter(|word| word.starts_with("snapshot")).count() as u64;
        assert_eq!(closed[0].missed, 100 - snapshots);
        assert!(closed[0].missed > 80, "{}", closed[0].missed);
        let changes: Vec<_> = seen.iter().filter(|word| word.starts_with("change")).collect();
        assert_eq!(changes.len(), 100);
        assert_eq!((changes[0].as_str(), changes[99].as_str()), ("change 0", "change 99"));
    }

    #[test]
    fn snapshot_after_missed_ones_says_how_many() {
        let (permit, permits) = mpsc::channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut faces = Faces::default();
        faces.add("slow", Slow { permits, seen: Arc::clone(&seen) }).unwrap();
        (0..100).for_each(|_| faces.show(snapshot()));
        (0..WAITING_MAX).for_each(|_| permit.send(()).unwrap());
        // Whether the queue has room again is only known when something went through.
        while seen.lock().unwrap().len() < WAITING_MAX {
            thread::yield_now();
        }
        faces.show(snapshot());
        drop(permit);
        faces.close();
        let seen = seen.lock().unwrap();
        let after = |word: &String| word.trim_start_matches("snapshot after ").parse::<u64>().unwrap();
        assert!(after(&seen[seen.len() - 1]) > 0, "{seen:?}");
        assert_eq!(seen.iter().map(after).sum::<u64>() + seen.len() as u64, 101, "{seen:?}");
    }

    #[test]
    fn who_waits_for_room_leaves_nothing_out() {
        let (permit, permits) = mpsc::channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut faces = Faces::default();
        faces.add("slow", Slow { permits, seen: Arc::clone(&seen) }).unwrap();
        let permits = thread::spawn(move || (0..100).try_for_each(|_| permit.send(())));
        for _ in 0..100 {
            while !faces.have_room() {
                thread::yield_now();
            }
            faces.show(snapshot());
        }
        permits.join().unwrap().unwrap();
        assert_eq!(faces.close()[0].missed, 0);
        assert_eq!(seen.lock().unwrap().len(), 100);
    }

    /// Crashes at once.
    struct Crash;

    impl Face for Crash {
        fn event(&mut self, _: &Event) {
            panic!("on purpose");
        }
    }

    #[test]
    fn face_that_crashes_takes_nobody_with_it() {
        let mut faces = Faces::default();
        faces.add("crash", Crash).unwrap();
        (0..100).for_each(|_| faces.show(Event::Abort { rule: "x".into() }));
        let closed = faces.close();
        assert!(matches!(closed[0].outcome, Err(CommandError::Face("crash"))), "{closed:?}");
    }
}
