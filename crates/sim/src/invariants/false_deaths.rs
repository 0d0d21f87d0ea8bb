//! In calm weather – loss up to 10 %, nothing cut, nobody frozen – no node that runs is declared dead. Who is cut off for
//! good is neither judged nor a reason to object: the others must declare it dead, and it must declare them dead.

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
        let is_cut_off = seen.truth.absent.contains(&seen.node);
        if lives && !is_cut_off && seen.truth.is_calm(seen.at, CALM_FOR_S) {
            return Err(format!("{node} was declared dead ({cause:?}) in calm weather, and it runs"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_swim::{Cause, Witnesses};

    use super::*;
    use crate::invariants::scene::Scene;
    use crate::moment::Moment;
    use crate::process::Crash;
    use crate::world::id_of;

    /// What is said when the second node is declared dead, `seconds` after the last trouble.
    fn verdict(scene: &Scene, seconds: u64) -> Verdict {
        let (cause, witnesses) = (Cause::SuspicionExpired, Witnesses::default());
        let died = Event::Died { node: id_of(1), cause, witnesses };
        scene.ask(&mut FalseDeaths, 0, 100 + seconds, What::Event(&died))
    }

    fn scene() -> Scene {
        let mut scene = Scene::of(&[0, 0]);
        scene.truth.disturbed_until(Moment::seconds(100));
        scene
    }

    #[test]
    fn death_of_a_node_that_runs_is_objected_to_in_calm_weather() {
        assert!(verdict(&scene(), CALM_FOR_S).is_err());
    }

    #[test]
    fn death_soon_after_trouble_is_fine() {
        assert_eq!(verdict(&scene(), CALM_FOR_S - 1), Ok(()));
    }

    #[test]
    fn death_of_a_node_that_does_not_run_is_fine() {
        let mut scene = scene();
        assert!(scene.truth.nodes[1].process.crash(Crash::Machine));
        assert_eq!(verdict(&scene, CALM_FOR_S), Ok(()));
    }
}
