//! Load keys: on the workflow or under `load:`. The model is seen from the keys where they leave no doubt.

mod mix;
mod models;
mod stages;

use hyperscale_types::Span;
use hyperscale_types::limits::GRACEFUL_STOP;

use super::Reader;
use super::fields::Fields;
use super::scalar::any_of;
use crate::document::{Key, Kind, Node, Place};
pub(super) use mix::{PlanLoad, too_few};

use crate::load::{closed, open};
use crate::model::workflow::{IterationCount, Load, Timing};

const KEYS: [&str; 12] = [
    "vus",
    "duration",
    "stages",
    "start",
    "iterations",
    "iterations_per_vu",
    "max_duration",
    "rate",
    "arrivals",
    "max_vus",
    "late",
    "interval",
];

/// A load model, before its numbers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Closed,
    Iterations,
    Open,
    Paced,
}

const MODELS: [(&str, Model); 4] = [
    ("closed", Model::Closed),
    ("iterations", Model::Iterations),
    ("open", Model::Open),
    ("paced", Model::Paced),
];

impl Model {
    fn word(self) -> &'static str {
        MODELS.iter().find(|(_, model)| *model == self).map_or("", |(word, _)| word)
    }

    fn keys(self) -> &'static [&'static str] {
        match self {
            Model::Closed => &["vus", "duration", "stages", "start"],
            Model::Iterations => &["vus", "iterations", "iterations_per_vu", "max_duration"],
            Model::Open => &["rate", "duration", "stages", "arrivals", "max_vus", "late"],
            Model::Paced => &["vus", "interval", "duration"],
        }
    }

    /// Keys that no other model has.
    fn telling(self) -> &'static [&'static str] {
        match self {
            Model::Closed => &["start"],
            Model::Iterations => &["iterations", "iterations_per_vu", "max_duration"],
            Model::Open => &["rate", "arrivals", "max_vus", "late"],
            Model::Paced => &["interval"],
        }
    }
}

/// The load keys of a workflow, wherever they stand.
struct LoadKeys<'n> {
    found: Vec<(&'n Key, &'n Node)>,
    place: Place,
}

impl<'n> LoadKeys<'n> {
    fn get(&self, key: &str) -> Option<&'n Node> {
        self.found.iter().find(|(k, _)| &*k.text == key).map(|(_, node)| *node)
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

/// What stands in for a load that could not be read; the problem is reported.
fn nothing() -> Load {
    Load::Iterations { vus: 1, count: IterationCount::Shared(1), max_duration: None }
}

/// What a plan says about a load, before it is known which model it is.
struct Said<'n> {
    model: Option<&'n Node>,
    keys: LoadKeys<'n>,
    start_after: Option<(Place, Span)>,
    ramp: Option<(Place, Span)>,
    graceful_stop: Option<Span>,
}

impl Said<'_> {
    fn says_nothing(&self) -> bool {
        self.model.is_none() && self.keys.found.is_empty()
    }
}

impl Reader<'_> {
    /// The load of a workflow: its own, or its part of the plan's.
    pub(super) fn load(
        &self,
        workflow: &Fields<'_>,
        part: Option<(&PlanLoad<'_>, &Load)>,
        place: Place,
        what: &str,
    ) -> (Load, Timing) {
        let under = workflow.entry("load").and_then(|(_, node)| self.fields(node, "`load`"));
        let said = self.said(Some(workflow), under.as_ref(), place);
        if let Some(fields) = &under {
            fields.finish(self, "`load`");
        }
        self.weight_fits(workflow, part.is_some(), !said.says_nothing());
        let (load, plan) = match part {
            Some((plan, load)) => (load.clone(), Some(plan)),
            None => (self.load_said(&said, what).unwrap_or_else(nothing), None),
        };
        if let (Some((place, _)), Some(_)) = (said.start_after, plan) {
            self.problems
                .error(place, "workflows that share the plan's `load` begin together")
                .hint("write `start_after` into the plan's `load`");
        }
        self.ramp_fits(&said, &load);
        let of_plan = |of: fn(&PlanLoad<'_>) -> Option<Span>| plan.and_then(of);
        let ramp = said.ramp.map(|(_, ramp)| ramp).or(of_plan(|plan| plan.ramp));
        let graceful_stop = said.graceful_stop.or(of_plan(|plan| plan.graceful_stop));
        let start_after = said.start_after.map(|(_, span)| span).or(of_plan(|plan| plan.start_after));
        let timing = Timing {
            start_after: start_after.unwrap_or(Span::ZERO),
            ramp: ramp.unwrap_or_else(|| default_ramp(&load)),
            graceful_stop: graceful_stop.unwrap_or(GRACEFUL_STOP),
        };
        (load, timing)
    }

    /// Whether a workflow has load keys of its own.
    fn has_own_load(workflow: &Fields<'_>) -> bool {
        let under = workflow.entry("load").map(|(_, node)| node);
        let under =
            under.and_then(|node| if let Kind::Map(entries) = &node.kind { Some(entries) } else { None });
        let is_key = |(key, _): &(Key, Node)| &*key.text == "model" || KEYS.contains(&&*key.text);
        under.is_some_and(|entries| entries.iter().any(is_key))
            || KEYS.iter().any(|key| workflow.entry(key).is_some())
    }

    /// `weight` divides the plan's load, and nothing else.
    fn weight_fits(&self, workflow: &Fields<'_>, takes_part: bool, has_own: bool) {
        let Some((key, _)) = workflow.entry("weight").filter(|_| !takes_part) else { return };
        if has_own {
            self.problems
                .error(key.place, "`weight` and load keys of its own exclude each other")
                .hint("without load keys it shares the plan's `load`; with them it runs outside of the mix");
        } else {
            self.problems
                .error(key.place, "`weight` is a part of the plan's `load`, and the plan has none")
                .hint("add `load` at the top of the plan, for example `load: { rate: 500/s, duration: 5m }`");
        }
    }

    /// Collects the load keys that stand on a map or under its `load`.
    fn said<'n>(&self, here: Option<&Fields<'n>>, under: Option<&Fields<'n>>, place: Place) -> Said<'n> {
        let either = |key: &'static str| {
            let entry = |fields: Option<&Fields<'n>>| fields.and_then(|fields| fields.entry(key));
            let (here, there) = (entry(here), entry(under));
            if let (Some((key, _)), Some(_)) = (here, there) {
                self.problems.error(key.place, format!("`{}` stands here and under `load`", key.text));
            }
            there.or(here)
        };
        let model = under.and_then(|fields| fields.take("model"));
        let found = KEYS.iter().filter_map(|key| either(key)).collect();
        let span = |key| {
            let (_, node) = either(key)?;
            Some((node.place, self.parsed::<Span>(node, "a duration")?))
        };
        Said {
            model,
            keys: LoadKeys { found, place },
            start_after: span("start_after"),
            ramp: span("ramp"),
            graceful_stop: span("graceful_stop").map(|(_, span)| span),
        }
    }

    fn load_said(&self, said: &Said<'_>, what: &str) -> Option<Load> {
        let model = self.model(said.model, &said.keys, what)?;
        let load = self.load_of(model, &said.keys, what)?;
        self.warn_of_nothing(&load, &said.keys);
        Some(load)
    }

    fn ramp_fits(&self, said: &Said<'_>, load: &Load) {
        if let (Some((place, ramp)), Some(planned)) = (said.ramp, planned(load))
            && ramp > planned
            && !matches!(load, Load::Open { .. })
        {
            let message =
                format!("the ramp of {ramp} is longer than the load of {planned}: not all VUs start");
            self.problems.warning(place, message);
        }
    }

    fn model(&self, node: Option<&Node>, keys: &LoadKeys<'_>, what: &str) -> Option<Model> {
        let told = |model: &Model| model.telling().iter().any(|key| keys.has(key));
        let candidates: Vec<Model> = MODELS.iter().map(|(_, model)| *model).filter(told).collect();
        let model = match (node, &*candidates) {
            (Some(node), _) => self.word(node, &MODELS)?,
            (None, []) if keys.found.is_empty() => Model::Iterations,
            (None, []) => Model::Closed,
            (None, [model]) => *model,
            (None, several) => {
                let telling = several.iter().filter_map(|model| {
                    let found = |(key, _): &&(&Key, _)| model.telling().contains(&&*key.text);
                    Some((keys.found.iter().find(found)?.0, model.word()))
                });
                let telling: Vec<(&Key, &str)> = telling.collect();
                let words = telling.iter().map(|(key, model)| format!("`{}` ({model})", key.text));
                let words = words.collect::<Vec<_>>().join(" and ");
                let place = telling.last().map_or(keys.place, |(key, _)| key.place);
                let message = format!("the load keys of {what} contradict each other: {words}");
                self.problems.error(place, message).hint("a workflow has one load model");
                return None;
            }
        };
        for (key, _) in keys.found.iter().filter(|(key, _)| !model.keys().contains(&&*key.text)) {
            let message = format!("`{}` does not belong to the {} model", key.text, model.word());
            self.problems.error(key.place, message).hint(instead(&key.text, model));
        }
        Some(model)
    }

    /// Says so where a rate is so low that its time is over before the first start.
    fn warn_of_nothing(&self, load: &Load, keys: &LoadKeys<'_>) {
        let Load::Open { rate, .. } = load else { return };
        if open::starts_of(rate.area()) == 0 {
            let place = keys.get("rate").map_or(keys.place, |node| node.place);
            let message = format!("this load starts nothing: {} is too short for the rate", rate.length());
            self.problems.warning(place, message).hint("make it last longer, or raise the rate");
        }
    }

    fn load_of(&self, model: Model, keys: &LoadKeys<'_>, what: &str) -> Option<Load> {
        match model {
            Model::Closed => self.closed(keys, what),
            Model::Iterations => self.iterations(keys, what),
            Model::Open => self.open(keys, what),
            Model::Paced => self.paced(keys, what),
        }
    }
}

/// The ramp of a plan that says nothing. A number of iterations has no duration of which a ramp could be a part: it may
/// be over before a ramp would be, and its rate would be that of the ramp.
pub(super) fn default_ramp(load: &Load) -> Span {
    match load {
        Load::Iterations { .. } => Span::ZERO,
        _ => closed::default_ramp(planned(load).unwrap_or(Span::MAX)),
    }
}

/// How long the load lasts, if that is known.
fn planned(load: &Load) -> Option<Span> {
    match load {
        Load::Closed { vus: curve } | Load::Open { rate: curve, .. } => Some(curve.length()),
        Load::Iterations { max_duration, .. } => *max_duration,
        Load::Paced { duration, .. } => Some(*duration),
    }
}

fn instead(key: &str, model: Model) -> String {
    match (key, model) {
        ("vus", Model::Open) => "the open model starts VUs as needed, up to `max_vus`".to_owned(),
        ("max_vus", _) => "use `vus`".to_owned(),
        ("duration", Model::Iterations) => "use `max_duration`".to_owned(),
        ("start", Model::Open) => "the rate at the start of the stages is called `rate`".to_owned(),
        _ => format!("the {} model has {}", model.word(), any_of(model.keys())),
    }
}
