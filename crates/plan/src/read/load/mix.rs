//! The plan's own `load`, shared by the workflows that have none.

use hyperscale_types::Span;

use super::{Said, nothing};
use crate::document::{Key, Node, Place};
use crate::load::mix::{PERIOD_MAX, period};
use crate::model::workflow::{ArrivalKind, IterationCount};
use crate::model::{Load, Mix, MixMember};
use crate::read::Reader;
use crate::read::context::Links;
use crate::read::fields::Named;

/// What a load counts besides VUs.
const ITERATIONS: &str = "iterations";
/// The largest weight.
const WEIGHT_MAX: u32 = 1_000_000;

/// `load` at the top of a plan.
pub(in crate::read) struct PlanLoad<'n> {
    /// `None` if it could not be read; the problem is reported.
    load: Option<Load>,
    /// Workflows that all members wait for.
    pub(in crate::read) depends: Option<&'n Node>,
    pub(super) start_after: Option<Span>,
    pub(super) ramp: Option<Span>,
    pub(super) graceful_stop: Option<Span>,
    place: Place,
    /// Where its VUs and its iterations are said, or where it begins.
    vus_place: Place,
    count_place: Place,
}

/// The mix of a plan, and what each workflow gets of it.
#[derive(Default)]
pub(in crate::read) struct Shared<'p, 'n> {
    pub(in crate::read) plan: Option<&'p PlanLoad<'n>>,
    pub(in crate::read) mix: Option<Mix>,
    /// By workflow; `None` for those that run by keys of their own.
    parts: Vec<Option<Load>>,
}

impl<'p, 'n> Shared<'p, 'n> {
    /// What the workflow at this position gets.
    pub(in crate::read) fn part(&self, at: usize) -> Option<(&'p PlanLoad<'n>, &Load)> {
        self.plan.zip(self.parts.get(at).and_then(Option::as_ref))
    }
}

impl Reader<'_> {
    /// Reads the plan's `load`.
    pub(in crate::read) fn plan_load<'n>(&self, entry: Option<(&'n Key, &'n Node)>) -> Option<PlanLoad<'n>> {
        let (key, node) = entry?;
        let fields = self.fields(node, "`load`")?;
        let depends = fields.take("depends");
        let said: Said<'n> = self.said(None, Some(&fields), key.place);
        fields.finish(self, "`load`");
        let load = if said.says_nothing() {
            self.problems
                .error(key.place, "the plan's `load` has no load keys")
                .hint("add for example `rate: 500/s` and `duration: 5m`, or `vus` and `duration`");
            None
        } else {
            self.load_said(&said, "the plan's `load`")
        };
        let place = |keys: &[&str]| {
            let said = keys.iter().find_map(|key| said.keys.get(key));
            said.map_or(key.place, |node| node.place)
        };
        Some(PlanLoad {
            load,
            depends,
            start_after: said.start_after.map(|(_, span)| span),
            ramp: said.ramp.map(|(_, span)| span),
            graceful_stop: said.graceful_stop,
            place: key.place,
            vus_place: place(&["vus", "max_vus", "stages"]),
            count_place: place(&["iterations"]),
        })
    }

    /// Who takes part in the plan's load, and with what. Members wait for the same workflows, so that they begin together.
    pub(in crate::read) fn shared<'p, 'n>(
        &self,
        plan: Option<&'p PlanLoad<'n>>,
        named: &[Named<'_>],
        links: &mut [Links<'_>],
    ) -> Shared<'p, 'n> {
        let Some(plan) = plan else { return Shared::default() };
        let takes_part = |at: &usize| !Self::has_own_load(&named[*at].fields);
        let members: Vec<usize> = (0..named.len()).filter(takes_part).collect();
        self.share_depends(plan, &members, named, links);
        let weight = |at: &usize| {
            let weight = named[*at].fields.take("weight").map(|node| self.integer(node, 1..=WEIGHT_MAX));
            weight.unwrap_or(Some(1)).map(|weight| MixMember { workflow: *at, weight })
        };
        // Every wrong weight is reported, not only the first.
        let weighted: Vec<Option<MixMember>> = members.iter().map(weight).collect();
        let weighted: Option<Vec<MixMember>> = weighted.into_iter().collect();
        let mix = plan.load.clone().zip(weighted).map(|(load, members)| Mix { load, members });
        let mix = mix.filter(|mix| self.mix_fits(mix, plan));
        let mut parts = vec![None; named.len()];
        let loads = mix.as_ref().map_or_else(|| vec![nothing(); members.len()], Mix::loads);
        for (member, load) in members.into_iter().zip(loads) {
            parts[member] = Some(load);
        }
        Shared { plan: Some(plan), mix, parts }
    }

    fn mix_fits(&self, mix: &Mix, plan: &PlanLoad<'_>) -> bool {
        let members = mix.members.len() as u64;
        let weights: Vec<u32> = mix.members.iter().map(|member| member.weight).collect();
        if members == 0 {
            self.problems
                .error(plan.place, "no workflow shares the plan's `load`: all have load keys of their own")
                .hint(
                    "remove `load` from the plan, or the load keys from the workflows that should share it",
                );
            return false;
        }
        if let Some((what, number)) = too_few(&mix.load, members) {
            let message = format!("{members} workflows share {number} {what}: too few for one each");
            let place = if what == ITERATIONS { plan.count_place } else { plan.vus_place };
            self.problems.error(place, message).hint(format!("{members} {what} or more are needed"));
            return false;
        }
        let dealt = matches!(mix.load, Load::Open { arrivals: ArrivalKind::Uniform, .. });
        if dealt && period(&weights) > PERIOD_MAX {
            let message = format!("the weights of the mix add up to more than {PERIOD_MAX}");
            self.problems.error(plan.place, message).hint("use smaller numbers in the same proportion");
            return false;
        }
        true
    }

    fn share_depends(
        &self,
        plan: &PlanLoad<'_>,
        members: &[usize],
        named: &[Named<'_>],
        links: &mut [Links<'_>],
    ) {
        let mut all = self.depends(plan.depends, None, named);
        for member in members {
            for link in &links[*member].depends {
                if !all.iter().any(|(at, _)| *at == link.0) {
                    all.push(*link);
                }
            }
        }
        for (at, place) in all.extract_if(.., |(at, _)| members.contains(at)) {
            let name = &named[at].name;
            let message =
                format!("`{name}` is part of the mix: its workflows run together and cannot wait for it");
            self.problems.error(place, message).hint(format!("give `{name}` load keys of its own"));
        }
        for member in members {
            links[*member].depends.clone_from(&all);
        }
    }
}

/// What a load has too little of for so many workflows.
pub(in crate::read) fn too_few(load: &Load, members: u64) -> Option<(&'static str, u64)> {
    let vus = match load {
        Load::Closed { vus } => vus.peak_vus(),
        Load::Iterations { vus, .. } | Load::Paced { vus, .. } => *vus,
        Load::Open { max_vus, .. } => *max_vus,
    };
    match load {
        _ if u64::from(vus) < members => Some(("VUs", u64::from(vus))),
        Load::Iterations { count: IterationCount::Shared(count), .. } if *count < members => {
            Some((ITERATIONS, *count))
        }
        _ => None,
    }
}
