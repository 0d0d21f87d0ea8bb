//! When iterations start. One file per kind of load; one loop ([`super::vu::live`]) serves all of them.
//!
//! A pacing spawns virtual users and hands each a [`Feed`]. It returns when its virtual users have ended: by themselves,
//! after `graceful_stop`, or cut off.

mod looping;
mod open;
mod slots;
mod spread;

use std::rc::Rc;

use hyperscale_job::StopPhase;
use hyperscale_plan::model::Load;
use hyperscale_types::{Span, limits};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{self, Instant};

use super::vu::{Start, VuEnd};
use super::{Core, Message};

/// Gives a virtual user its starts, one after the other.
pub(crate) trait Feed {
    /// The next start, or `None` when there is none for this virtual user any more.
    async fn next(&mut self, core: &Core) -> Option<Start>;

    /// The virtual user cannot use a start it was given.
    fn give_back(&mut self, core: &Core, start: Start);
}

/// The virtual users of a core; a result says which slot ended and why.
type Vus = JoinSet<(u32, VuEnd)>;

/// Runs the workflow's load on this core to its end.
pub(crate) async fn run(core: &Rc<Core>) -> std::io::Result<()> {
    match &core.workflow().load {
        Load::Open { .. } => open::run(core).await,
        Load::Closed { .. } | Load::Iterations { .. } | Load::Paced { .. } => {
            looping::run(core).await;
            Ok(())
        }
    }
}

/// Waits until all virtual users have ended: at most `graceful`, less when the run is cancelled meanwhile.
async fn finish(core: &Core, vus: &mut Vus, graceful: Span) {
    core.slice.messages.hint(Message::Finishing);
    let mut deadline = Instant::now() + graceful.to_duration();
    let mut cancelling = false;
    while !vus.is_empty() {
        let changed = core.changed.notified();
        match core.phase.get() {
            StopPhase::Aborted => break,
            StopPhase::Cancelling if !cancelling => {
                cancelling = true;
                deadline = deadline.min(Instant::now() + limits::CANCEL_GRACE.to_duration());
            }
            _ => {}
        }
        tokio::select! {
            Some(ended) = vus.join_next() => {
                let _ = unwind(ended);
            }
            () = time::sleep_until(deadline) => break,
            () = changed => {}
        }
    }
    core.advance(StopPhase::Aborted);
    vus.shutdown().await;
}

/// Passes a panic of a virtual user on to its core; `None` for one that was cut off.
fn unwind(ended: Result<(u32, VuEnd), JoinError>) -> Option<(u32, VuEnd)> {
    match ended {
        Ok(ended) => Some(ended),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_cut_off) => None,
    }
}

impl Core {
    /// Waits while the load is paused; the load clock stands still meanwhile.
    async fn while_paused(&self) {
        while self.time.is_paused() && self.phase.get() == StopPhase::Running {
            self.changed.notified().await;
        }
    }
}
