//! `--vus`, `--duration`, `--rate`, `--iterations` on top of a plan: they replace the numbers of every workflow, and
//! are refused where a load model has no such number.

use hyperscale_types::limits::VUS_MAX;
use hyperscale_types::{Rate, Span};

use super::command_line::COMMAND_LINE;
use super::load::{default_ramp, too_few};
use crate::load::Curve;
use crate::model::Plan;
use crate::model::workflow::{IterationCount, Load, default_max_vus};
use crate::problem::Problem;

/// Numbers that replace those of the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// Virtual users.
    pub vus: Option<u32>,
    /// How long the load lasts.
    pub duration: Option<Span>,
    /// Starts per second.
    pub rate: Option<Rate>,
    /// Iterations.
    pub iterations: Option<u64>,
}

/// Replaces numbers in every workflow of a plan. On problems the plan is as it was.
pub fn override_load(plan: &mut Plan, overrides: &Overrides) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    let mut changed = plan.workflows.clone();
    let mut mix = plan.mix.clone();
    let mut parts = vec![None; changed.len()];
    if let Some(mix) = &mut mix {
        apply("the plan's `load`", &mut mix.load, overrides, &mut problems);
        let members = mix.members.len() as u64;
        if let Some((what, number)) = too_few(&mix.load, members) {
            let message = format!("{members} workflows share the plan's `load`; {number} {what} are too few");
            problems.push(Problem::general(COMMAND_LINE, message));
        }
        for (member, load) in mix.members.iter().zip(mix.loads()) {
            parts[member.workflow] = Some(load);
        }
    }
    for (workflow, part) in changed.iter_mut().zip(parts) {
        let ramp_is_default = workflow.timing.ramp == default_ramp(&workflow.load);
        match part {
            Some(part) => workflow.load = part,
            None => {
                apply(&format!("workflow `{}`", workflow.name), &mut workflow.load, overrides, &mut problems);
            }
        }
        if ramp_is_default {
            workflow.timing.ramp = default_ramp(&workflow.load);
        }
    }
    if problems.is_empty() {
        (plan.workflows, plan.mix) = (changed, mix);
        Ok(())
    } else {
        Err(problems)
    }
}

fn apply(what: &str, load: &mut Load, overrides: &Overrides, problems: &mut Vec<Problem>) {
    let mut refuse = |flag: &str, why: &str| {
        problems.push(Problem::general(COMMAND_LINE, format!("{flag} does not fit {what}: {why}")));
    };
    if let Some(vus) = overrides.vus {
        match load {
            _ if vus == 0 || vus > VUS_MAX => refuse("--vus", &format!("it must be 1 … {VUS_MAX}")),
            Load::Closed { vus: curve } => match flat(curve) {
                Some((_, length)) => *curve = Curve::constant(f64::from(vus), length),
                None => refuse("--vus", "its VUs are given by stages"),
            },
            Load::Iterations { vus: number, .. } | Load::Paced { vus: number, .. } => *number = vus,
            Load::Open { max_vus, .. } => *max_vus = vus,
        }
    }
    if let Some(span) = overrides.duration {
        match load {
            _ if span.is_zero() => refuse("--duration", "it must be longer than nothing"),
            Load::Closed { vus: curve } | Load::Open { rate: curve, .. } => match flat(curve) {
                Some((value, _)) => *curve = Curve::constant(value, span),
                None => refuse("--duration", "its length is given by stages"),
            },
            Load::Paced { duration, .. } => *duration = span,
            Load::Iterations { .. } => refuse("--duration", "it runs a number of iterations"),
        }
    }
    if let Some(rate) = overrides.rate {
        match load {
            _ if rate.as_per_second() <= 0.0 => refuse("--rate", "it must be more than nothing"),
            Load::Open { rate: curve, max_vus, .. } => match flat(curve) {
                Some((before, length)) => {
                    if *max_vus == default_max_vus(Rate::per_second(before)) {
                        *max_vus = default_max_vus(rate);
                    }
                    *curve = Curve::constant(rate.as_per_second(), length);
                }
                None => refuse("--rate", "its rate is given by stages"),
            },
            _ => refuse("--rate", "its load model is not open"),
        }
    }
    if let Some(iterations) = overrides.iterations {
        match load {
            _ if iterations == 0 => refuse("--iterations", "it must be at least 1"),
            Load::Iterations {
                count: IterationCount::Shared(count) | IterationCount::PerVu(count), ..
            } => {
                *count = iterations;
            }
            _ => refuse("--iterations", "its load model does not count iterations"),
        }
    }
}

/// Value and length of a curve that is the same all the time.
fn flat(curve: &Curve) -> Option<(f64, Span)> {
    let same = |value: f64| value.to_bits() == curve.start.to_bits();
    (curve.stages.len() == 1 && same(curve.stages[0].to)).then(|| (curve.start, curve.length()))
}
