//! What the templates of a virtual user see.

use hyperscale_plan::lookup::Key;
use hyperscale_plan::template::{Root, Scope};
use minijinja::Value;

use super::values::StepValue;
use super::vu::Vu;
use super::{Core, Slice};

/// A virtual user in the middle of an iteration.
pub(crate) struct VuScope<'a> {
    pub(crate) core: &'a Core,
    pub(crate) vu: &'a Vu,
}

impl Scope for VuScope<'_> {
    fn root(&self, root: Root) -> Value {
        let (core, vu) = (self.core, self.vu);
        match root {
            Root::Data(at) => item(&vu.rows.borrow(), at),
            Root::VuSetup(at) => item(&vu.setup.borrow(), at),
            Root::Step(at) => item(&vu.results.borrow(), at),
            Root::VuId => Value::from(vu.id),
            Root::VuIteration => Value::from(vu.iteration.get()),
            Root::VuKept(at) => item(&vu.kept.borrow(), at),
            Root::NowMs => core.builtins.now_ms.clone(),
            Root::Uuid => {
                core.builtins.seed(vu.random());
                core.builtins.uuid.clone()
            }
            Root::Random => {
                core.builtins.seed(vu.random());
                core.builtins.random.clone()
            }
            constant => SliceScope(&core.slice).root(constant),
        }
    }

    fn shortcut(&self, root: Root, keys: &[Key]) -> Option<Value> {
        let (values, at) = match root {
            Root::Step(at) => (&self.vu.results, at),
            Root::VuSetup(at) => (&self.vu.setup, at),
            _ => return None,
        };
        values.borrow().get(at)?.downcast_object_ref::<StepValue>()?.shortcut(keys)
    }
}

/// What is known before any virtual user runs: enough to prepare arguments.
pub(crate) struct SliceScope<'a>(pub(crate) &'a Slice);

impl Scope for SliceScope<'_> {
    fn root(&self, root: Root) -> Value {
        let segment = self.0;
        match root {
            Root::Var(at) => segment.plan.vars.get(at).map_or(Value::UNDEFINED, |(_, value)| value.clone()),
            Root::Context(at) => item(&segment.given.context, at),
            Root::Setup(at) => item(&segment.given.setup, at),
            Root::WorkerId => Value::from(segment.identity.worker.as_str()),
            Root::JobId => Value::from(segment.identity.job.as_str()),
            Root::RunSeed => Value::from(segment.identity.seed),
            _ => Value::UNDEFINED,
        }
    }
}

fn item(values: &[Value], at: usize) -> Value {
    values.get(at).cloned().unwrap_or(Value::UNDEFINED)
}
