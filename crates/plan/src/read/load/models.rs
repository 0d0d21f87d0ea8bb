//! The numbers of each load model.

use hyperscale_types::limits::VUS_MAX;
use hyperscale_types::{Rate, Span};

use super::super::Reader;
use super::LoadKeys;

use crate::document::{Node, Place};
use crate::load::Curve;
use crate::model::workflow::{ArrivalKind, IterationCount, Late, Load, default_max_vus};

impl Reader<'_> {
    pub(super) fn closed(&self, keys: &LoadKeys<'_>, what: &str) -> Option<Load> {
        let vus = |node: &Node| self.integer(node, 0..=VUS_MAX).map(f64::from);
        if let Some(stages) = keys.get("stages") {
            self.not_with_stages(keys, &["vus", "duration"], "start");
            let start = keys.get("start").map_or(Some(0.0), vus)?;
            return self.curve(start, stages, &vus).map(|vus| Load::Closed { vus });
        }
        if let Some(node) = keys.get("start") {
            self.problems
                .error(node.place, "`start` is the number of VUs at the start of `stages`; there are none");
        }
        let (vus, over) = (self.vus(keys), self.length(keys, "duration"));
        if !keys.has("duration") {
            let message = format!("{what} does not say how long its load lasts");
            self.problems.error(keys.place, message).hint("add `duration`, `iterations` or `stages`");
        }
        Some(Load::Closed { vus: Curve::constant(f64::from(vus?), over?) })
    }

    pub(super) fn iterations(&self, keys: &LoadKeys<'_>, what: &str) -> Option<Load> {
        let vus = self.vus(keys)?;
        let count = |key| keys.get(key).map(|node| self.integer(node, 1..=u64::from(u32::MAX)));
        let count = match (count("iterations"), count("iterations_per_vu")) {
            (Some(shared), None) => IterationCount::Shared(shared?),
            (None, Some(each)) => IterationCount::PerVu(each?),
            (None, None) if keys.found.is_empty() => IterationCount::Shared(1),
            (None, None) => {
                let message = format!("{what} does not say how many iterations it runs");
                self.problems.error(keys.place, message).hint("add `iterations` or `iterations_per_vu`");
                return None;
            }
            (Some(_), Some(_)) => {
                let place = keys.get("iterations_per_vu").map_or(keys.place, |node| node.place);
                self.problems
                    .error(place, "`iterations` (shared) and `iterations_per_vu` exclude each other");
                return None;
            }
        };
        let max_duration =
            if keys.has("max_duration") { Some(self.length(keys, "max_duration")?) } else { None };
        Some(Load::Iterations { vus, count, max_duration })
    }

    pub(super) fn open(&self, keys: &LoadKeys<'_>, what: &str) -> Option<Load> {
        let rate_of = |node: &Node| self.parsed::<Rate>(node, "a rate").map(Rate::as_per_second);
        let rate = match (keys.get("rate"), keys.get("stages")) {
            (rate, Some(stages)) => {
                self.not_with_stages(keys, &["duration"], "");
                self.curve(rate.map_or(Some(0.0), rate_of)?, stages, &rate_of)?
            }
            (Some(node), None) => {
                let rate = rate_of(node);
                let over = self.length(keys, "duration");
                if !keys.has("duration") {
                    let message = format!("{what} does not say how long its load lasts");
                    self.problems.error(keys.place, message).hint("add `duration` or `stages`");
                }
                let rate = rate.filter(|rate| self.some_load(*rate, node.place))?;
                Curve::constant(rate, over?)
            }
            (None, None) => {
                self.problems
                    .error(keys.place, format!("{what} has an open model but neither `rate` nor `stages`"));
                return None;
            }
        };
        let word = |key| keys.get(key);
        let poisson =
            word("arrivals").and_then(|node| self.word(node, &[("uniform", false), ("poisson", true)]));
        let arrivals = if poisson.unwrap_or_default() { ArrivalKind::Poisson } else { ArrivalKind::Uniform };
        let late = [("queue", Late::Queue), ("drop", Late::Drop)];
        let late = word("late").and_then(|node| self.word(node, &late)).unwrap_or_default();
        let max_vus = match keys.get("max_vus") {
            Some(node) => self.integer(node, 1..=VUS_MAX)?,
            None => default_max_vus(Rate::per_second(rate.peak())),
        };
        Some(Load::Open { rate, arrivals, max_vus, late })
    }

    pub(super) fn paced(&self, keys: &LoadKeys<'_>, what: &str) -> Option<Load> {
        let (vus, interval, duration) =
            (self.vus(keys), self.length(keys, "interval"), self.length(keys, "duration"));
        for key in ["interval", "duration"] {
            if !keys.has(key) {
                self.problems.error(keys.place, format!("{what} is paced and needs `{key}`"));
            }
        }
        Some(Load::Paced { vus: vus?, interval: interval?, duration: duration? })
    }

    fn vus(&self, keys: &LoadKeys<'_>) -> Option<u32> {
        keys.get("vus").map_or(Some(1), |node| self.integer(node, 1..=VUS_MAX))
    }

    /// A duration that is not zero.
    fn length(&self, keys: &LoadKeys<'_>, key: &str) -> Option<Span> {
        let node = keys.get(key)?;
        let span: Span = self.parsed(node, "a duration")?;
        if span.is_zero() {
            self.problems.error(node.place, format!("`{key}` must be longer than nothing"));
        }
        Some(span).filter(|span| !span.is_zero())
    }

    pub(super) fn some_load(&self, peak: f64, place: Place) -> bool {
        if peak <= 0.0 {
            self.problems.error(place, "this is no load at all: it is zero all the time");
        }
        peak > 0.0
    }

    fn not_with_stages(&self, keys: &LoadKeys<'_>, others: &[&str], start: &str) {
        for (key, _) in keys.found.iter().filter(|(key, _)| others.contains(&&*key.text)) {
            let message = format!("`{}` and `stages` exclude each other", key.text);
            let hint = match &*key.text {
                "duration" => "the stages say how long the load lasts".to_owned(),
                _ => format!("the value at the start of the stages is called `{start}`"),
            };
            self.problems.error(key.place, message).hint(hint);
        }
    }
}
