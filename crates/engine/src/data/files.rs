//! The data files of a plan: opened, and held against the virtual users that want rows of them.

use std::sync::Arc;

use hyperscale_plan::model::{DataOrder, DataSource, Load, Plan, Workflow};

use super::{DataError, DataFile};

/// Data files by position in the plan; `None` where no workflow uses it.
pub type Files = Arc<[Option<Arc<DataFile>>]>;

/// Opens and checks every file that is used.
pub fn open(plan: &Plan) -> Result<Files, DataError> {
    let used = |at: usize| plan.workflows.iter().any(|workflow| workflow.data.contains(&at));
    let open = |(at, source)| {
        if used(at) { DataFile::open(source).map(|file| Some(Arc::new(file))) } else { Ok(None) }
    };
    plan.data.iter().enumerate().map(open).collect()
}

/// Checks the data files of a plan exactly as a run does, and says where rows will not suffice.
pub fn check(plan: &Plan) -> Result<Vec<String>, DataError> {
    open(plan).map(|files| warnings(plan, &files))
}

/// Where there are fewer unique rows than virtual users.
pub(crate) fn warnings(plan: &Plan, files: &Files) -> Vec<String> {
    let mut warnings = Vec::new();
    for workflow in &plan.workflows {
        for (source, rows) in unique(plan, files, workflow) {
            let vus = workflow.vus_max();
            if rows >= u64::from(vus) {
                continue;
            }
            let (Workflow { name, load, .. }, DataSource { name: data, .. }) = (workflow, source);
            let effect = match load {
                Load::Open { .. } => "no more than that run at once".to_owned(),
                _ => format!("{} of {vus} virtual users have none and end at once", u64::from(vus) - rows),
            };
            warnings.push(format!("workflow `{name}`: data `{data}` has {rows} unique rows; {effect}"));
        }
    }
    warnings
}

/// Virtual users of open models are made on demand: more than there are rows are never made, so that no start
/// goes to one that has none.
pub fn limit_vus(plan: &mut Arc<Plan>, files: &Files) {
    for at in 0..plan.workflows.len() {
        let fewest = unique(plan, files, &plan.workflows[at]).map(|(_, rows)| rows).min();
        let Load::Open { max_vus, .. } = &plan.workflows[at].load else { continue };
        if let Some(rows) = fewest.filter(|rows| *rows < u64::from(*max_vus)) {
            let Load::Open { max_vus, .. } = &mut Arc::make_mut(plan).workflows[at].load else { continue };
            *max_vus = rows as u32;
        }
    }
}

/// The files of which each virtual user of a workflow wants rows of its own, with their rows.
fn unique<'a>(
    plan: &'a Plan,
    files: &'a Files,
    workflow: &'a Workflow,
) -> impl Iterator<Item = (&'a DataSource, u64)> {
    workflow.data.iter().filter_map(|at| {
        let (source, file) = (&plan.data[*at], files[*at].as_ref()?);
        (source.order == DataOrder::Unique).then(|| (source, file.rows()))
    })
}
