//! What runs tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::id::new_task_id;
use crate::domain::{NewTree, TaskId, TreeError, TreeSpec, effect_key};
use crate::store::{Effect, Held, Store, StoreError};

/// Runs tasks of one kind. The same executor runs many at a time.
///
/// Execution is at least once: an attempt may run while an earlier one, whose lease was lost, has not noticed yet. What must
/// happen once is done under an effect key.
#[async_trait]
pub trait Executor: Send + Sync + 'static {
    /// The name tasks refer to it by.
    fn name(&self) -> &'static str;

    /// Its inputs as JSON Schema, for people and tools.
    fn schema(&self) -> Value;

    /// Says what is wrong with inputs, at submission.
    fn check(&self, inputs: &Value) -> Result<(), String>;

    /// Runs one attempt. It is dropped at its deadline, when its lease ends, and some time after it was cancelled: what must be
    /// stopped must stop when it is dropped.
    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure>;
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Another attempt may succeed.
    Retry(String),
    /// Every attempt would fail.
    ForGood(String),
    /// It stopped because it was asked to.
    Cancelled,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Retry(error.to_string())
    }
}

/// What an attempt knows, and what it can do beside its work.
pub struct Context {
    pub(super) store: Arc<dyn Store>,
    pub(super) held: Held,
    pub(super) attempt: u32,
    pub(super) dependencies: Map<String, Value>,
    pub(super) cancelled: CancellationToken,
    /// The bits of a number from 0 to 1; the worker writes it with its next renewal.
    pub(super) progress: Arc<AtomicU32>,
}

impl Context {
    /// The task.
    pub fn task(&self) -> TaskId {
        self.held.task
    }

    /// Which attempt this is, counted from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Results of the dependencies, by name.
    pub fn dependencies(&self) -> &Map<String, Value> {
        &self.dependencies
    }

    /// Is cancelled when the attempt is to stop.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Says how far the attempt is, 0 to 1.
    pub fn progress(&self, part: f32) {
        self.progress.store(part.clamp(0.0, 1.0).to_bits(), Ordering::Relaxed);
    }

    /// The key of a step, the same for all attempts: what outside systems are given as idempotency key.
    pub fn effect_key(&self, step: &str) -> String {
        effect_key(self.held.task, step)
    }

    /// Begins a step that must happen once, and says what is known about it.
    pub async fn begin_effect(&self, step: &str) -> Result<Effect, StoreError> {
        self.store.begin_effect(&self.effect_key(step), self.held).await
    }

    /// Keeps what a step left, for all later attempts.
    pub async fn finish_effect(&self, step: &str, result: Value) -> Result<(), StoreError> {
        self.store.finish_effect(&self.effect_key(step), self.held, result).await
    }
}

/// The executors of a node, by name.
#[derive(Clone, Default)]
pub struct Executors(BTreeMap<&'static str, Arc<dyn Executor>>);

impl Executors {
    /// Adds one; another one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, executor: impl Executor) -> Self {
        self.0.insert(executor.name(), Arc::new(executor));
        self
    }

    /// Their names.
    pub fn names(&self) -> BTreeSet<String> {
        self.0.keys().map(|name| (*name).to_owned()).collect()
    }

    /// The one of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Executor>> {
        self.0.get(name)
    }

    /// Checks a tree and gives its tasks ids.
    pub fn prepare(&self, spec: TreeSpec) -> Result<NewTree, TreeError> {
        let check = |name: &str, inputs: &Value| match self.get(name) {
            Some(executor) => executor.check(inputs),
            None => Err("the executor does not exist".to_owned()),
        };
        NewTree::new(spec, &self.names(), check, new_task_id)
    }
}
