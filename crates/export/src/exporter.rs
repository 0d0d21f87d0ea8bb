//! All exporters of one run. Whoever feeds them is never made to wait; only the end waits, for a bounded time.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hyperscale_stats::event::Event;
use hyperscale_stats::result::ExportResult;
use tokio::time::Instant;

use crate::gather::Readings;
use crate::place::Place;
use crate::queue::{Parcel, Queue};
use crate::reading::Reading;
use crate::send::{OpenError, Opened, SEND_TIME};
use crate::tally::Tally;

/// How long after the end of a run its final numbers may take to be delivered.
pub const FLUSH_TIME: Duration = Duration::from_secs(5);
/// How long beyond its time an exporter may take to notice that it is over.
const SLACK: Duration = Duration::from_millis(500);

/// All exporters of one run.
pub struct Exporters {
    readings: Readings,
    seats: Vec<Seat>,
}

/// One exporter, its queue and its thread.
struct Seat {
    queue: Arc<Queue>,
    tally: Arc<Tally>,
    listens: Option<String>,
    /// How long the end may take.
    patience: Duration,
    /// Hears that the thread is done; then nothing will be counted any more.
    done: Receiver<()>,
}

impl Exporters {
    /// Opens every place and gives each a thread. What cannot be opened is told before any load is made.
    pub fn open(places: &[Place]) -> Result<Self, OpenError> {
        let mut known = HashSet::new();
        for place in places {
            if !known.insert((place.kind(), place.shown())) {
                return Err(OpenError::Twice { shown: place.shown().to_owned() });
            }
        }
        let opened: Vec<_> = places.iter().map(Opened::open).collect::<Result<_, _>>()?;
        let seats = places.iter().zip(opened).map(|(place, opened)| Seat::start(place, opened));
        Ok(Self { readings: Readings::default(), seats: seats.collect::<Result<_, _>>()? })
    }

    /// Where endpoints listen, as URLs.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.seats.iter().filter_map(|seat| seat.listens.as_deref())
    }

    /// Hands an event to every exporter. Never waits.
    pub fn event(&mut self, event: &Event) {
        if self.seats.is_empty() {
            return;
        }
        match event {
            Event::Snapshot(snapshot) => {
                self.seats.iter().for_each(|seat| seat.miss(snapshot.missed, "this machine was too busy"));
                let reading = self.readings.so_far(snapshot, &self.results());
                self.push(reading, None);
            }
            Event::Finished(result) => {
                let reading = self.readings.finished(result, &self.results());
                self.push(reading, Some(Instant::now() + FLUSH_TIME));
            }
            Event::Started(_) | Event::Workflow { .. } | Event::Abort { .. } | Event::Changed { .. } => {}
        }
    }

    /// Waits until every exporter has dealt with what it got: for a recorded run, where there is nothing to slow down.
    /// Who has lost something before is not waited for.
    pub fn settle(&self) {
        for seat in self.seats.iter().filter(|seat| seat.listens.is_none() && seat.tally.get().lost == 0) {
            seat.queue.wait_until_idle(SEND_TIME);
        }
    }

    /// Waits until everything is delivered, or too late; says what became of it.
    pub fn close(self) -> Vec<ExportResult> {
        self.seats.iter().for_each(|seat| seat.queue.close());
        let now = Instant::now();
        self.seats.into_iter().map(|seat| seat.close(now)).collect()
    }

    fn results(&self) -> Vec<ExportResult> {
        self.seats.iter().map(|seat| seat.tally.get()).collect()
    }

    fn push(&self, reading: Reading, until: Option<Instant>) {
        let reading = Arc::new(reading);
        for seat in &self.seats {
            let gone = seat.queue.push(Parcel { reading: Arc::clone(&reading), until });
            seat.miss(gone, "the receiver was too slow");
        }
    }
}

impl Seat {
    fn start(place: &Place, opened: Opened) -> Result<Self, OpenError> {
        let listens = opened.address().map(|address| format!("http://{address}/metrics"));
        let shown = listens.as_deref().unwrap_or(place.shown());
        let (queue, tally) = (Arc::new(Queue::default()), Arc::new(Tally::new(place.kind(), shown)));
        let patience = FLUSH_TIME.max(opened.linger()) + SLACK;
        let (sender, done) = mpsc::channel();
        let work = {
            let (queue, tally) = (Arc::clone(&queue), Arc::clone(&tally));
            move || {
                opened.work(&queue, &tally);
                // Nobody listens any more if it took too long.
                let _ = sender.send(());
            }
        };
        let name = format!("export-{}", place.kind());
        // Not joined: a file on a disk that hangs must not hang the run. The process ends it.
        thread::Builder::new().name(name).spawn(work).map_err(OpenError::Thread)?;
        Ok(Self { queue, tally, listens, patience, done })
    }

    /// Counts readings that will never be delivered. An endpoint has no use for any but the newest.
    fn miss(&self, count: u64, why: &str) {
        if self.listens.is_none() {
            self.tally.lost(count, why);
        }
    }

    fn close(self, began: Instant) -> ExportResult {
        let left = (began + self.patience).saturating_duration_since(Instant::now());
        match self.done.recv_timeout(left) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => self.tally.lost(1, "it did not end in time"),
            Err(RecvTimeoutError::Disconnected) => self.tally.lost(1, "it has crashed: this is a bug"),
        }
        self.tally.get()
    }
}
