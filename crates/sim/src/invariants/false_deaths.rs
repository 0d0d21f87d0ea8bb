//! In calm weather – loss up to 10 %, nothing cut, nobody frozen – no node that runs is declared dead.

use hyperscale_swim::Event;

use super::{Invariant, Seen, Verdict, What};

/// Suspicions that began before it was calm have ended by then.
const CALM_FOR_S: u64 = 90;

#[derive(Debug)]
pub(super) struct FalseDeaths;

impl Invariant for FalseDeaths {
    fn name(&self) -> &'static str {
        "false_deaths"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Event(Event::Died { node, cause, .. }) = &seen.what else { return Ok(()) };
        let Some(member) = seen.swim.member(*node) else { return Ok(()) };
        let lives = seen.truth.lives(*node, member.claim.boot);
        if lives && seen.truth.is_calm(seen.at, CALM_FOR_S) {
            return Err(format!("{node} was declared dead ({cause:?}) in calm weather, and it runs"));
        }
        Ok(())
    }
}
