//! Metric steps: values of the user's own.

use super::Reader;
use super::view::View;
use crate::document::{Kind, Node};
use crate::model::step::{MetricKind, MetricStep};

const KINDS: [(&str, MetricKind); 5] = [
    ("count", MetricKind::Count),
    ("rate", MetricKind::Rate),
    ("sample", MetricKind::Sample),
    ("distribution", MetricKind::Distribution),
    ("timing", MetricKind::Timing),
];

impl Reader<'_> {
    /// `metric: { distribution: "{{ order.json.total }}" }`
    pub(super) fn metric(&self, node: &Node, view: View<'_>) -> Option<MetricStep> {
        let fields = self.fields(node, "`metric`")?;
        let given: Vec<_> =
            KINDS.iter().filter_map(|(word, kind)| fields.take(word).map(|node| (*kind, node))).collect();
        fields.finish(self, "`metric`");
        let [(kind, value)] = *given else {
            let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
            let message = format!("`metric` has exactly one of {}", words.join(", "));
            self.problems.error(node.place, message).hint("for example `metric: { count: 1 }`");
            return None;
        };
        self.metric_value(value, kind);
        Some(MetricStep { kind, value: self.typed_template(value, &view)? })
    }

    /// A constant that can never be a value of the metric.
    fn metric_value(&self, node: &Node, kind: MetricKind) {
        let Kind::Str(text) = &node.kind else { return };
        if text.contains("{{") || text.contains("{%") {
            return;
        }
        let number = text.trim().parse::<f64>().is_ok_and(f64::is_finite);
        let span = kind == MetricKind::Timing && text.parse::<hyperscale_types::Span>().is_ok();
        if !number && !span {
            let message = format!("`{text}` is not a number");
            self.problems
                .error(node.place, message)
                .hint("to refer to a result, write for example `{{ order.json.total }}`");
        }
    }
}
