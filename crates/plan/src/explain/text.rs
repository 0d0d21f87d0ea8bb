//! The explanation as text.

use std::fmt::{self, Display, Formatter};

use hyperscale_types::{Priority, Span};

use super::{
    Argument, Explanation, LoadExplanation, Made, PartExplanation, StepExplanation, WorkflowExplanation,
};

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan {}", self.plan)?;
        for workflow in &self.workflows {
            write!(f, "\n{}", Of(workflow, self.cores_total))?;
        }
        writeln!(f, "\ncores {}", self.cores_total)?;
        for (number, batch) in (1..).zip(&self.batches) {
            writeln!(f, "  batch {number}     {batch}")?;
        }
        if !self.thresholds.is_empty() {
            writeln!(f, "\nthresholds")?;
        }
        for rule in &self.thresholds {
            writeln!(f, "  {rule}")?;
        }
        Ok(())
    }
}

/// A workflow, and the cores there are.
struct Of<'e>(&'e WorkflowExplanation, u32);

impl Display for Of<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (workflow, total) = (self.0, self.1);
        let kind = if workflow.test { "test" } else { "not a test" };
        writeln!(f, "workflow {} ({kind}, priority {})", workflow.name, priority(workflow.priority))?;
        let cores = match (workflow.cores_least, workflow.cores_most) {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let waits =
            if workflow.waits_for_cores { "; ready, waiting_for_cores until others have ended" } else { "" };
        writeln!(f, "  cores       {cores} of {total}{waits}")?;
        writeln!(f, "  load        {}", workflow.load)?;
        for (label, names) in [
            ("requires", &workflow.requires),
            ("depends", &workflow.depends),
            ("uses", &workflow.uses),
            ("provides", &workflow.provides),
            ("data", &workflow.data),
        ] {
            if !names.is_empty() {
                writeln!(f, "  {label:<11} {}", names.join(", "))?;
            }
        }
        workflow.parts.iter().try_for_each(|part| write!(f, "{part}"))
    }
}

impl Display for LoadExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.model)?;
        match self.rate_max {
            Some(rate) => write!(f, "up to {rate}/s, at most {} VUs", self.vus_max)?,
            None => write!(f, "{} VUs", self.vus_max)?,
        }
        if let Some(length) = self.length {
            write!(f, ", {length}")?;
        }
        if let Some(starts) = self.starts {
            write!(f, ", {starts} iterations")?;
        }
        if self.start_after > Span::ZERO {
            write!(f, ", begins after {}", self.start_after)?;
        }
        write!(f, "; ramp {}, graceful stop {}", self.ramp, self.graceful_stop)
    }
}

impl Display for PartExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let order: Vec<&str> = self.steps.iter().map(|step| step.name.as_str()).collect();
        let order = if self.sequence { order.join(" → ") } else { order.join(", ") };
        writeln!(f, "  {:<11} {order}", self.part)?;
        self.steps.iter().try_for_each(|step| Step(step, self.sequence).fmt(f))
    }
}

/// A step, and whether its graph is a sequence: then it goes without saying what it waits for.
struct Step<'e>(&'e StepExplanation, bool);

impl Display for Step<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Step(step, sequence) = self;
        write!(f, "    {} ({})", step.name, step.kind)?;
        match &*step.after {
            _ if *sequence => {}
            [] => write!(f, ", waits for nothing")?,
            after => write!(f, ", waits for {}", after.join(", "))?,
        }
        if !step.keeps.is_empty() {
            write!(f, ", keeps {}", step.keeps.join(", "))?;
        }
        writeln!(f)?;
        step.arguments.iter().try_for_each(|argument| write!(f, "{argument}"))
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.made {
            Made::Prepared => writeln!(f, "      {:<28} prepared", self.name),
            Made::Filled => writeln!(f, "      {:<28} filled: {}", self.name, self.holes.join(" · ")),
        }
    }
}

fn priority(priority: Priority) -> &'static str {
    Priority::WORDS.iter().find(|(_, known)| *known == priority).map_or("auto", |(word, _)| word)
}
