//! What a name means at one place of a plan: variables, data rows, used context, steps whose results are there,
//! built-ins.

use hyperscale_types::Name;
use minijinja::Value;

use super::names::{Gives, PlanNames, StepNames, WorkflowNames};
use super::value::HINT;
use crate::model::Part;
use crate::problem::{listed, nearest};
use crate::template::{Resolver, Root};

/// Which steps of the running graph are seen.
#[derive(Clone, Copy)]
pub(super) enum Sees<'w> {
    /// None: only what does not change with the iteration.
    None,
    /// All: after the iteration.
    All,
    /// What a step waits for, directly or not, and maybe its own answer.
    Ancestors { step: usize, ancestors: &'w [bool], own: bool },
}

/// What a template at one place sees.
#[derive(Clone, Copy)]
pub(super) struct View<'w> {
    plan: PlanNames<'w>,
    workflow: Option<&'w WorkflowNames>,
    part: Part,
    sees: Sees<'w>,
    stats: bool,
}

impl<'w> View<'w> {
    /// Variables only.
    pub(super) fn of_vars(plan: &PlanNames<'w>) -> Self {
        View { plan: *plan, workflow: None, part: Part::Steps, sees: Sees::None, stats: false }
    }

    /// A place in a workflow.
    pub(super) fn new(plan: PlanNames<'w>, workflow: &'w WorkflowNames, part: Part, sees: Sees<'w>) -> Self {
        View { plan, workflow: Some(workflow), part, sees, stats: false }
    }

    /// The same, and the workflow's final statistics.
    pub(super) fn with_stats(self) -> Self {
        View { stats: true, ..self }
    }

    /// The same place after the step's call: its own answer is there.
    pub(super) fn after_call(self) -> Self {
        let sees = match self.sees {
            Sees::Ancestors { step, ancestors, .. } => Sees::Ancestors { step, ancestors, own: true },
            other => other,
        };
        View { sees, ..self }
    }

    /// Only what is the same for the whole run.
    pub(super) fn constants(&self) -> View<'w> {
        View::of_vars(&self.plan)
    }

    /// The variables.
    pub(super) fn vars(&self) -> &'w [(Name, Value)] {
        self.plan.vars
    }

    fn data(&self, words: &[&str]) -> Result<(Root, usize), String> {
        let names = || self.plan.data.iter().map(|data| data.name.as_str());
        let [name, rest @ ..] = words else {
            return Err("`data` alone is nothing; write `data.<name>.<column>`".to_owned());
        };
        let Some(workflow) = self.workflow else { return Err(only_variables("data")) };
        let Some(at) = self.plan.data.iter().position(|data| data.name == **name) else {
            return Err(with_nearest(format!("there is no data file `{name}`"), name, names()));
        };
        if self.part != Part::Steps {
            let part = self.part.key();
            return Err(format!("a data row is taken once per iteration; `{part}` has none"));
        }
        if let (Some(columns), Some(column)) = (&self.plan.data[at].columns, rest.first())
            && !columns.iter().any(|c| c == column)
        {
            let message = format!("`data.{name}` has no column `{column}`");
            return Err(with_nearest(message, column, columns.iter().map(String::as_str)));
        }
        workflow.need_data(at);
        Ok((Root::Data(at), 2))
    }

    fn vu(&self, words: &[&str]) -> Result<(Root, usize), String> {
        let Some(workflow) = self.workflow else { return Err(only_variables("vu")) };
        if !self.part.has_vu() {
            return Err(format!("`{}` runs once, not for a VU; there is no `vu` here", self.part.key()));
        }
        match words {
            ["id", ..] => Ok((Root::VuId, 2)),
            ["iteration", ..] => Ok((Root::VuIteration, 2)),
            [name, ..] => workflow.keep.iter().position(|keep| keep == *name).map_or_else(
                || {
                    let known = workflow.keep.iter().map(Name::as_str).chain(["id", "iteration"]);
                    Err(with_nearest(
                        format!("`vu` has no `{name}`; `keep` declares what it has"),
                        name,
                        known,
                    ))
                },
                |at| Ok((Root::VuKept(at), 2)),
            ),
            [] => Err("`vu` alone is nothing; write `vu.id` or `vu.iteration`".to_owned()),
        }
    }

    fn built_in(&self, words: &[&str]) -> Option<Result<(Root, usize), String>> {
        let root = match words {
            ["data", rest @ ..] => return Some(self.data(rest)),
            ["vu", rest @ ..] => return Some(self.vu(rest)),
            ["env", ..] => {
                let message = "environment variables are read in `vars` only";
                return Some(Err(format!("{message}{HINT}add a variable, for example `key: ${{env:KEY}}`")));
            }
            ["stats", ..] if self.stats => return Some(Ok((Root::Stats, 1))),
            ["stats", ..] => {
                return Some(Err("statistics are known after the load, in `provide` only".to_owned()));
            }
            ["now_ms"] => (Root::NowMs, 1),
            ["uuid"] => (Root::Uuid, 1),
            ["random"] => (Root::Random, 1),
            ["worker", "id", ..] => (Root::WorkerId, 2),
            ["job", "id", ..] => (Root::JobId, 2),
            ["run", "seed", ..] => (Root::RunSeed, 2),
            ["worker" | "job", ..] => return Some(Err(format!("`{0}` has only `{0}.id`", words[0]))),
            ["run", ..] => return Some(Err("`run` has only `run.seed`".to_owned())),
            _ => return None,
        };
        Some(if self.workflow.is_some() { Ok(root) } else { Err(only_variables(words[0])) })
    }

    /// A step of this graph or of one that ran before it.
    fn step(&self, words: &[&str]) -> Option<Result<(Root, usize), String>> {
        let workflow = self.workflow?;
        let found = self.locate(workflow, words[0])?.and_then(|(part, at, root)| {
            let field = words.get(1).copied();
            gives(&workflow.parts[part as usize][at], field)?;
            workflow.need(part, at, field);
            Ok((root, 1))
        });
        Some(found)
    }

    /// Where a step is, and under which root its result stands; an error if it cannot be seen from here.
    fn locate(&self, workflow: &WorkflowNames, name: &str) -> Option<Result<(Part, usize, Root), String>> {
        let position = |part: Part| workflow.parts[part as usize].iter().position(|step| step.name == *name);
        let (part, at) = Part::ALL.into_iter().find_map(|part| Some((part, position(part)?)))?;
        Some(self.root_of(workflow, part, at).map(|root| (part, at, root)))
    }

    fn root_of(&self, workflow: &WorkflowNames, part: Part, at: usize) -> Result<Root, String> {
        match (part, self.part) {
            (part, mine) if part == mine => self.sees_step(workflow, at).map(|()| Root::Step(at)),
            (Part::Setup, _) => Ok(Root::Setup(at)),
            (Part::VuSetup, Part::Steps | Part::VuTeardown) => Ok(Root::VuSetup(at)),
            (part, mine) => {
                let (name, part, mine) = (&workflow.parts[part as usize][at].name, part.key(), mine.key());
                Err(format!("`{name}` is a step of `{part}`; `{mine}` does not see its result"))
            }
        }
    }

    fn sees_step(&self, workflow: &WorkflowNames, at: usize) -> Result<(), String> {
        let name = |step: usize| &workflow.parts[self.part as usize][step].name;
        match self.sees {
            Sees::All => Ok(()),
            Sees::None => Err(format!("the result of the step `{}` is not known here", name(at))),
            Sees::Ancestors { step, own, .. } if step == at && own => Ok(()),
            Sees::Ancestors { step, .. } if step == at => {
                let step = name(step);
                Err(format!("`{step}` has no result before its own call; only its `check` sees it"))
            }
            Sees::Ancestors { ancestors, .. } if ancestors[at] => Ok(()),
            Sees::Ancestors { step, .. } => {
                let (step, other) = (name(step), name(at));
                let hint = format!("add it: `after: [{other}]`");
                Err(format!(
                    "the step `{step}` does not wait for `{other}` and cannot see its result{HINT}{hint}"
                ))
            }
        }
    }

    /// All names that lead somewhere here.
    fn visible(&self) -> Vec<String> {
        let mut names: Vec<String> = self.plan.vars.iter().map(|(name, _)| name.to_string()).collect();
        let Some(workflow) = self.workflow else { return names };
        names.extend(workflow.uses.iter().map(Name::to_string));
        for part in Part::ALL {
            let steps = workflow.parts[part as usize].iter().enumerate();
            let seen = steps.filter(|(at, step)| {
                !matches!(step.gives, Gives::Nothing(_)) && self.root_of(workflow, part, *at).is_ok()
            });
            names.extend(seen.map(|(_, step)| step.name.to_string()));
        }
        if self.part == Part::Steps {
            names.extend(self.plan.data.iter().map(|data| format!("data.{}", data.name)));
        }
        if self.part.has_vu() {
            names.extend(["vu.id", "vu.iteration"].map(str::to_owned));
            names.extend(workflow.keep.iter().map(|keep| format!("vu.{keep}")));
        }
        names.extend(
            ["worker.id", "job.id", "run.seed", "now_ms()", "uuid()", "random(a, b)"].map(str::to_owned),
        );
        names
    }
}

impl Resolver for View<'_> {
    fn resolve(&self, words: &[&str]) -> Result<(Root, usize), String> {
        let [first, ..] = words else { return Err("a name is missing".to_owned()) };
        if let Some(found) = self.built_in(words) {
            return found;
        }
        if let Some(at) = self.plan.vars.iter().position(|(name, _)| name == *first) {
            return Ok((Root::Var(at), 1));
        }
        if let Some(at) = self.workflow.and_then(|w| w.uses.iter().position(|name| name == *first)) {
            return Ok((Root::Context(at), 1));
        }
        if let Some(found) = self.step(words) {
            return found;
        }
        if self.workflow.is_some_and(|workflow| !workflow.takes_hint()) {
            return Err(format!("unknown name `{first}`"));
        }
        let visible = self.visible();
        if visible.iter().any(|name| name.starts_with(&format!("{first}-"))) {
            let message = format!("unknown name `{first}`");
            return Err(format!("{message}{HINT}in an expression `-` is a minus; use names with `_` there"));
        }
        Err(with_nearest(format!("unknown name `{first}`"), first, visible.iter().map(String::as_str)))
    }
}

/// Whether a step has such a field.
fn gives(step: &StepNames, field: Option<&str>) -> Result<(), String> {
    match (&step.gives, field) {
        (Gives::Nothing(kind), _) => Err(format!("`{}` is a {kind} step; it has no result", step.name)),
        (Gives::Value, _) | (Gives::Answer(..), None) => Ok(()),
        (Gives::Answer(protocol, extracted), Some(field)) => {
            let own = || protocol.result_fields().iter().map(|field| field.name);
            let known = || own().chain(extracted.iter().map(String::as_str));
            if known().any(|name| name == field) {
                return Ok(());
            }
            Err(with_nearest(format!("the result of `{}` has no `{field}`", step.name), field, known()))
        }
    }
}

fn only_variables(name: &str) -> String {
    format!("`{name}` is not known when the plan is read; only variables are")
}

fn with_nearest<'a>(message: String, word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    match nearest(word, known.iter().copied()) {
        Some(name) => format!("{message}{HINT}did you mean `{name}`?"),
        None if known.is_empty() => message,
        None => format!("{message}{HINT}known here: {}", listed(&known)),
    }
}
