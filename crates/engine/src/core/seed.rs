//! Seeds: everything random in a run is drawn from the run's seed, each by a stream of its own.
//!
//! Streams must not meet: two virtual users that draw the same identifiers, or two workflows whose arrivals fall
//! together, are not the load that the plan describes.

use hyperscale_plan::model::Part;
use hyperscale_types::split_mix;

/// Who draws. Every field tells streams apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The arrivals of an open workflow; its cores make streams of their own out of it.
    Arrivals,
    /// The clients of one core.
    Clients { core: u32 },
    /// A set-up or tear-down.
    Once(Part),
    /// A virtual user, and how often one with that number has lived before.
    Vu { id: u32, lives: u32 },
}

impl Stream {
    fn words(self) -> [u64; 3] {
        match self {
            Stream::Arrivals => [0, 0, 0],
            Stream::Clients { core } => [1, u64::from(core), 0],
            Stream::Once(part) => [2, part as u64, 0],
            Stream::Vu { id, lives } => [3, u64::from(id), u64::from(lives)],
        }
    }
}

/// The seed of a stream of one workflow.
pub(crate) fn seed(run: u64, workflow: usize, stream: Stream) -> u64 {
    let absorb = |state: u64, word: u64| split_mix::step(split_mix::step(state).1.wrapping_add(word)).1;
    stream.words().into_iter().fold(absorb(run, workflow as u64), absorb)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Seeds of many streams of a run.
    fn seeds(run: u64) -> Vec<u64> {
        let mut streams = vec![Stream::Arrivals, Stream::Once(Part::Setup), Stream::Once(Part::Teardown)];
        streams.extend((0..4).map(|core| Stream::Clients { core }));
        streams.extend((0..50).flat_map(|id| (0..4).map(move |lives| Stream::Vu { id, lives })));
        let of = |workflow| streams.iter().map(move |stream| seed(run, workflow, *stream));
        (0..5).flat_map(of).collect()
    }

    #[test]
    fn no_two_streams_of_any_runs_are_the_same() {
        // Seeds that differ in few bits, and in those that numbers of virtual users would reach.
        let runs = [0, 1, 2, 3, 1 << 32, 2 << 32, 1 << 63, u64::MAX];
        let all: Vec<u64> = runs.into_iter().flat_map(seeds).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn the_same_run_draws_the_same() {
        assert_eq!(seeds(7), seeds(7));
    }
}
