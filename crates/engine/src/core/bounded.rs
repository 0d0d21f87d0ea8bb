//! Steps whose `timeout` is more than the time-out of one call: repeated ones, and pauses.

use std::time::{Duration, Instant};

use hyperscale_job::StopPhase;
use hyperscale_plan::model::{Step, StepKind};
use hyperscale_types::{ErrorKind, Now, Span};
use tokio::time;

use super::Core;
use super::examine::Verdict;
use super::step::{Place, StepEnd, land_local, once, rest};
use super::vu::Vu;

/// The time that a step has for all it does, if its calls do not see to it themselves: the time-out of a single call is
/// part of its preparation.
pub(super) fn limit(step: &Step) -> Option<Span> {
    let is_one_call = step.repeat == 1 && matches!(step.kind, StepKind::Call(_));
    step.timeout.filter(|_| !is_one_call)
}

/// Runs a step as often as it says, within its limit. The pause after the last time is not part of it.
pub(super) async fn run(
    core: &Core,
    vu: &Vu,
    place: Place<'_>,
    intended: &mut Option<Now>,
    limit: Span,
) -> StepEnd {
    let deadline = Instant::now() + limit.to_duration();
    let left = || deadline.saturating_duration_since(Instant::now());
    for more in (0..place.step.repeat).rev() {
        if core.phase.get() >= StopPhase::Cancelling {
            return StepEnd::Cut;
        }
        let time_left = left();
        if time_left.is_zero() {
            return not_begun(core, place, more + 1);
        }
        let end = within(core, time_left, once(core, vu, place, intended)).await;
        let end = end.unwrap_or_else(|| cut_off(core, place, limit));
        if more == 0 || end != StepEnd::Ok {
            return rest(core, vu, place, end, false, intended).await;
        }
        match time::timeout(left(), rest(core, vu, place, end, true, intended)).await {
            Ok(StepEnd::Ok) => {}
            Ok(end) => return end,
            Err(_) => return not_begun(core, place, more),
        }
    }
    StepEnd::Ok
}

/// What a future gives, if it does so in time. One that does not is dropped, and its call recorded as `timeout`.
async fn within<T>(core: &Core, time_left: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = Box::pin(work);
    if let Ok(done) = time::timeout(time_left, &mut work).await {
        return Some(done);
    }
    core.cut_as.set(ErrorKind::Timeout);
    drop(work);
    core.cut_as.set(ErrorKind::Cancelled);
    None
}

/// The time was over in the middle. A call that was cut off has recorded itself ([`super::flight`]); a pause has not.
fn cut_off(core: &Core, place: Place<'_>, limit: Span) -> StepEnd {
    if !matches!(place.step.kind, StepKind::Call(_)) {
        return too_long(core, place, limit);
    }
    core.window.borrow_mut().error_message(place.number, ErrorKind::Timeout, &message(limit));
    StepEnd::Failed
}

/// The time was over between two times: those that are left do not run. None of them began, so none is counted as a call.
fn not_begun(core: &Core, place: Place<'_>, left: u32) -> StepEnd {
    core.window.borrow_mut().skipped(place.number, u64::from(left));
    StepEnd::Failed
}

fn too_long(core: &Core, place: Place<'_>, limit: Span) -> StepEnd {
    land_local(core, place, &Verdict::failed(ErrorKind::Timeout, message(limit)))
}

fn message(limit: Span) -> String {
    format!("the step was not done within {limit}")
}
