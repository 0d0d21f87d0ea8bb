//! One workflow: names and graph first, then everything whose templates refer to them.

use std::collections::BTreeSet;

use hyperscale_types::{Name, Priority};

use super::Reader;
use super::context::Links;
use super::fields::Named;
use super::load::PlanLoad;
use super::names::{DataNames, PlanNames, WorkflowNames};
use super::plan::Defaults;
use super::steps::PartSteps;
use super::view::{Sees, View};
use crate::document::{Node, Place};
use crate::model::{Load, Mix, Part, StepGraph, Workflow};

/// Capabilities that a workflow may require, and the length of one. All of them fit the log, which keeps those of a worker.
const REQUIRES_MAX: usize = 16;
const CAPABILITY_BYTES_MAX: usize = 128;

impl Reader<'_> {
    /// All workflows, and the load that some of them share.
    pub(super) fn workflows(
        &self,
        named: &[Named<'_>],
        plan: PlanNames<'_>,
        defaults: Defaults<'_>,
        load: Option<&PlanLoad<'_>>,
    ) -> (Vec<Workflow>, Option<Mix>) {
        let mut links = self.links(named);
        let shared = self.shared(load, named, &mut links);
        let each = named.iter().zip(&links).enumerate();
        let read = each.map(|(at, (me, links))| self.workflow(me, links, plan, defaults, shared.part(at)));
        let workflows: Vec<Workflow> = read.collect();
        self.check_links(named, &links);
        (workflows, shared.mix)
    }

    fn workflow(
        &self,
        me: &Named<'_>,
        links: &Links<'_>,
        plan: PlanNames<'_>,
        defaults: Defaults<'_>,
        part: Option<(&PlanLoad<'_>, &Load)>,
    ) -> Workflow {
        let fields = &me.fields;
        let what = format!("workflow `{}`", me.name);
        let own_defaults = self.defaults(fields.take("defaults"), "`defaults`");
        let keep = fields.take("keep");
        let parts = Part::ALL.map(|part| self.part_steps(fields.take(part.key()), part));
        let names = WorkflowNames::new(
            links.uses.iter().map(|used| used.key.clone()).collect(),
            self.keep_names(keep),
            parts.each_ref().map(PartSteps::names),
        );
        self.names_once(&names, &parts, plan, links);
        if parts[Part::Steps as usize].steps.is_empty() {
            self.problems.error(me.place, format!("{what} has no `steps`"));
        }
        let mut graphs =
            parts.each_ref().map(|part| self.graph(part, plan, &names, [own_defaults, defaults]));
        let view = View::new(plan, &names, Part::Steps, Sees::All);
        let keep = self.keep(keep, view);
        let provides = self.provides(links, view);
        let (load, timing) = self.load(fields, part, me.place, &what);
        let priority = fields.take("priority").and_then(|node| self.word(node, &Priority::WORDS));
        let requires = self.requires(fields.take("requires"));
        fields.finish(self, &what);
        self.data_and_steps(&names, plan.data, &parts);
        for (part, graph) in Part::ALL.into_iter().zip(&mut graphs) {
            for (at, step) in graph.steps.iter_mut().enumerate() {
                let needs = names.needs(part, at);
                step.needs.result |= needs.result;
                step.needs.headers |= needs.headers;
                step.needs.body |= needs.body;
            }
        }
        let [steps, setup, vu_setup, vu_teardown, teardown]: [StepGraph; 5] = graphs;
        Workflow {
            name: me.name.clone(),
            depends: links.depends.iter().map(|(at, _)| *at).collect(),
            uses: links.uses.iter().map(super::context::Used::to_model).collect(),
            provides,
            priority: priority.unwrap_or_default(),
            requires,
            load,
            timing,
            keep,
            data: names.data(),
            setup,
            vu_setup,
            steps,
            vu_teardown,
            teardown,
        }
    }

    /// Capabilities as workers announce them.
    fn requires(&self, node: Option<&Node>) -> BTreeSet<String> {
        let mut requires = BTreeSet::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(text) = self.text(item, "a capability like `gpu=nvidia`") else { continue };
            if text.is_empty() || text.len() > CAPABILITY_BYTES_MAX {
                let message = format!("a capability has 1 to {CAPABILITY_BYTES_MAX} bytes");
                self.problems.error(item.place, message);
            } else if !requires.insert(text.to_owned()) {
                self.problems.error(item.place, format!("`{text}` is named twice"));
            } else if requires.len() > REQUIRES_MAX {
                let message = format!("a workflow requires at most {REQUIRES_MAX} capabilities");
                self.problems.error(item.place, message);
                break;
            }
        }
        requires
    }

    /// A name means one thing: variables, data files, used context and the steps of all graphs of a workflow. Steps and
    /// data files are compared in [`Reader::data_and_steps`].
    fn names_once(
        &self,
        names: &WorkflowNames,
        parts: &[PartSteps<'_>; 5],
        plan: PlanNames<'_>,
        links: &Links<'_>,
    ) {
        let mut seen: Vec<(&Name, &str)> = plan.vars.iter().map(|(name, _)| (name, "a variable")).collect();
        let mut add = |name, place: Place, what| {
            if let Some((_, other)) = seen.iter().find(|(seen, _)| *seen == name) {
                self.problems.error(place, format!("`{name}` is already {other}; choose another name"));
            }
            seen.push((name, what));
        };
        for used in &links.uses {
            add(&used.key, used.place, "a used context value");
            if plan.data.iter().any(|data| data.name == used.key) {
                let message = format!("`{}` is already a data file; choose another name", used.key);
                self.problems.error(used.place, message);
            }
        }
        for part in Part::ALL {
            let steps = names.parts[part as usize].iter().zip(&parts[part as usize].steps);
            steps.for_each(|(step, named)| add(&step.name, named.place, "a step"));
        }
    }

    /// A step must not have the name of a data file of which the workflow takes rows.
    fn data_and_steps(&self, names: &WorkflowNames, data: &[DataNames], parts: &[PartSteps<'_>; 5]) {
        for used in names.data() {
            let steps = parts.iter().flat_map(|part| &part.steps);
            for step in steps.filter(|step| step.name == data[used].name) {
                let message = format!("`{}` is also a data file that this workflow takes rows of", step.name);
                self.problems.error(step.place, message).hint("choose another name for the step");
            }
        }
    }
}
