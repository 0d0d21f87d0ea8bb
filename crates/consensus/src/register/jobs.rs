//! The jobs that the register keeps whole, shared with views of it: a snapshot is encoded from such a view elsewhere, while
//! commands are applied here. Making a view copies no job, and a job is copied when it is changed while a view has it.

use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::Arc;

use super::command::JobId;
use super::job::Job;

/// Open jobs, and ended ones that are neither sealed nor forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Jobs(pub(super) BTreeMap<JobId, Arc<Job>>);

impl Jobs {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn contains_key(&self, id: &JobId) -> bool {
        self.0.contains_key(id)
    }

    pub(super) fn get(&self, id: &JobId) -> Option<&Job> {
        self.0.get(id).map(Arc::as_ref)
    }

    pub(super) fn get_mut(&mut self, id: &JobId) -> Option<&mut Job> {
        self.0.get_mut(id).map(Arc::make_mut)
    }

    pub(super) fn insert(&mut self, id: JobId, job: Job) {
        self.0.insert(id, Arc::new(job));
    }

    pub(super) fn remove(&mut self, id: &JobId) -> Option<Job> {
        self.0.remove(id).map(Arc::unwrap_or_clone)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&JobId, &Job)> {
        self.0.iter().map(|(id, job)| (id, job.as_ref()))
    }

    /// From this id on.
    pub(super) fn range(&self, first: JobId) -> impl Iterator<Item = (&JobId, &Job)> {
        self.0.range(first..).map(|(id, job)| (id, job.as_ref()))
    }
}

impl Index<&JobId> for Jobs {
    type Output = Job;

    fn index(&self, id: &JobId) -> &Job {
        &self.0[id]
    }
}
