//! The last events of every node as text, for the report of a failure.
//!
//! Off while seeds are searched: a failed seed is simply run again with the recorder on, as the same seed gives the same
//! run.

use std::collections::VecDeque;

use crate::moment::Moment;

/// Events kept per node.
pub const EVENTS_KEPT: usize = 24;
/// Characters kept of an event.
const TEXT_MAX: usize = 240;

/// Keeps the last events of every node, or nothing.
#[derive(Debug, Default)]
pub struct Recorder {
    is_on: bool,
    nodes: Vec<VecDeque<(Moment, String)>>,
}

impl Recorder {
    /// Keeps nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// Keeps the last events.
    pub fn on() -> Self {
        Self { is_on: true, nodes: Vec::new() }
    }

    /// Something happened at a node; the text is only made if it is kept.
    pub fn note(&mut self, at: Moment, node: usize, text: impl FnOnce() -> String) {
        if !self.is_on {
            return;
        }
        if self.nodes.len() <= node {
            self.nodes.resize_with(node + 1, VecDeque::new);
        }
        let events = &mut self.nodes[node];
        if events.len() >= EVENTS_KEPT {
            events.pop_front();
        }
        let mut text = text();
        if text.len() > TEXT_MAX {
            let end = (0..=TEXT_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        events.push_back((at, text));
    }

    /// The last events of a node, oldest first.
    pub fn last_of(&self, node: usize) -> impl Iterator<Item = &(Moment, String)> {
        self.nodes.get(node).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_events_are_kept_and_long_ones_cut() {
        let mut recorder = Recorder::on();
        for number in 0..100 {
            recorder.note(Moment(number), 3, || format!("{number} {}", "é".repeat(500)));
        }
        assert_eq!(recorder.last_of(3).count(), EVENTS_KEPT);
        let (at, text) = recorder.last_of(3).last().unwrap();
        assert!(*at == Moment(99) && text.len() < TEXT_MAX + 10);
        assert_eq!(recorder.last_of(0).count(), 0);
    }

    #[test]
    fn nothing_is_made_while_it_is_off() {
        let mut recorder = Recorder::off();
        recorder.note(Moment(0), 0, || unreachable!("not wanted"));
        assert_eq!(recorder.last_of(0).count(), 0);
    }
}
