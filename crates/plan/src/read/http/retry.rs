//! `retry`: when a request that the server has not processed is sent again.

use super::Reader;
use crate::document::{Kind, Node};
use crate::model::http::{Retry, Unprocessed};

impl Reader<'_> {
    /// `{ on: [goaway, refused_stream, stale], max: 1 }`, or `false` where defaults say otherwise.
    pub(super) fn retry(&self, node: &Node) -> Option<Retry> {
        if matches!(node.kind, Kind::Bool(false)) {
            return None;
        }
        let fields = self.fields(node, "`retry`")?;
        let on = fields.take("on");
        let max = fields.take("max").map_or(Some(1), |node| self.integer(node, 1..=Retry::MAX));
        fields.finish(self, "`retry`");
        let Some(on) = on.filter(|node| !node.items().is_empty()) else {
            self.problems.error(node.place, "`retry` needs `on`: goaway, refused_stream or stale");
            return None;
        };
        Some(Retry { on: self.causes(on), max: max? })
    }

    fn causes(&self, node: &Node) -> Vec<Unprocessed> {
        let mut causes = Vec::new();
        for item in node.items() {
            let Some(cause) = self.word(item, &Unprocessed::WORDS) else { continue };
            if causes.contains(&cause) {
                self.problems.error(item.place, format!("`{}` is there twice", cause.word()));
            } else {
                causes.push(cause);
            }
        }
        causes
    }
}
