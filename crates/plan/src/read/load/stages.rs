//! Stages: a curve written down piece by piece.

use super::super::Reader;
use crate::document::{Kind, Node};
use crate::load::{Curve, Stage};

/// Stages of one curve.
const STAGES_MAX: usize = 1_000;

impl Reader<'_> {
    /// The curve that begins at `start` and follows the stages; `value` reads what a stage moves to.
    pub(super) fn curve(
        &self,
        start: f64,
        node: &Node,
        value: &dyn Fn(&Node) -> Option<f64>,
    ) -> Option<Curve> {
        let Kind::Seq(items) = &node.kind else {
            self.problems.error(node.place, format!("`stages` must be a list, not {}", node.what()));
            return None;
        };
        if items.is_empty() || items.len() > STAGES_MAX {
            self.problems
                .error(node.place, format!("`stages` has 1 … {STAGES_MAX} entries, not {}", items.len()));
            return None;
        }
        let mut last = start;
        let stages: Vec<Option<Stage>> = items
            .iter()
            .map(|item| {
                let stage = self.stage(last, item, value);
                last = stage.map_or(last, |stage| stage.to);
                stage
            })
            .collect();
        let curve = Curve { start, stages: stages.into_iter().collect::<Option<_>>()? };
        if curve.length().is_zero() {
            self.problems.error(node.place, "the stages together take no time");
            return None;
        }
        self.some_load(curve.peak(), node.place).then_some(curve)
    }

    /// `{ to: n, over: t }` or `{ hold: t }`.
    fn stage(&self, last: f64, node: &Node, value: &dyn Fn(&Node) -> Option<f64>) -> Option<Stage> {
        let fields = self.fields(node, "a stage")?;
        let (to, over, hold) = (fields.take("to"), fields.take("over"), fields.take("hold"));
        fields.finish(self, "a stage");
        match (to, over, hold) {
            (Some(to), Some(over), None) => {
                let (to, over) = (value(to), self.parsed(over, "a duration"));
                Some(Stage { to: to?, over: over? })
            }
            (None, None, Some(hold)) => Some(Stage { to: last, over: self.parsed(hold, "a duration")? }),
            _ => {
                self.problems.error(node.place, "a stage is `{ to: …, over: … }` or `{ hold: … }`");
                None
            }
        }
    }
}
