//! From names to ids: a submitted tree is checked as a whole, before anything is stored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::effect::hex;
use super::placement::canonical;
use super::{Placement, TaskId, TaskSpec, TreeMessage, TreeSpec};

/// Tasks a tree may have.
pub const TASKS_MAX: usize = 10_000;

/// Bytes a name or a key may have.
const NAME_BYTES_MAX: usize = 256;

/// Why a tree is not accepted. Nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// No tasks.
    #[error("the tree has no tasks")]
    Empty,
    /// Too many tasks.
    #[error("the tree has {0} tasks; at most {TASKS_MAX} are allowed")]
    TooLarge(usize),
    /// A name or key that is empty or too long.
    #[error("`{0}` is not a name: use 1 to {NAME_BYTES_MAX} bytes")]
    BadName(String),
    /// Two tasks with the same name.
    #[error("two tasks are named `{0}`; names must be unique in a tree")]
    Duplicate(String),
    /// A parent or dependency that is not in the tree.
    #[error("task `{task}` refers to `{missing}`, which is not in the tree")]
    MissingReference {
        /// The task that refers.
        task: String,
        /// The name it refers to.
        missing: String,
    },
    /// Tasks that wait for each other, or contain each other.
    #[error("circular dependency: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// An executor that no node of this version has.
    #[error("task `{task}` wants executor `{executor}`, which does not exist; known: {}", known.join(", "))]
    UnknownExecutor {
        /// The task.
        task: String,
        /// The executor it names.
        executor: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// Inputs or settings that cannot be used.
    #[error("task `{task}`: {problem}")]
    Invalid {
        /// The task.
        task: String,
        /// What is wrong.
        problem: String,
    },
}

/// An edge of a task that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The task that must end first.
    pub on: TaskId,
    /// Whether it must complete.
    pub required: bool,
}

/// A task with ids instead of names.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// The task it is a part of.
    pub parent: Option<TaskId>,
    /// Everything else about it.
    pub spec: TaskSpec,
    /// What it waits for.
    pub dependencies: Vec<Dependency>,
    /// Its placement class.
    pub placement: Placement,
}

/// A tree that can be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTree {
    /// The tasks; the first one's id is the tree's.
    pub tasks: Vec<NewTask>,
    /// The key of the submission.
    pub key: Option<String>,
    /// What was submitted, as a digest: the same key with another digest is another submission.
    pub digest: String,
    /// What the client said, if it submitted the tree with a message. It is no part of the digest.
    pub message: Option<TreeMessage>,
}

impl NewTree {
    /// Checks a tree and gives its tasks ids. `validate` says what is wrong with an executor's inputs; `executors` are those
    /// that exist.
    pub fn new(
        spec: TreeSpec,
        executors: &BTreeSet<String>,
        validate: impl Fn(&str, &Value) -> Result<(), String>,
        mut new_id: impl FnMut() -> TaskId,
    ) -> Result<Self, TreeError> {
        check_size(&spec)?;
        let ids = ids_by_name(&spec, &mut new_id)?;
        for task in &spec.tasks {
            check_task(task, executors, &validate)?;
        }
        check_cycles(&spec)?;
        let digest = digest(&spec);
        let key = spec.idempotency_key;
        let tasks = spec.tasks.into_iter().map(|task| resolve(task, &ids)).collect();
        Ok(Self { tasks, key, digest, message: None })
    }

    /// The tree's id.
    pub fn id(&self) -> TaskId {
        self.tasks.first().expect("trees are not empty").id
    }
}

fn check_size(spec: &TreeSpec) -> Result<(), TreeError> {
    match spec.tasks.len() {
        0 => return Err(TreeError::Empty),
        1..=TASKS_MAX => {}
        count => return Err(TreeError::TooLarge(count)),
    }
    let names = spec.tasks.iter().map(|task| &task.name).chain(&spec.idempotency_key);
    match names.into_iter().find(|name| name.is_empty() || name.len() > NAME_BYTES_MAX) {
        Some(name) => Err(TreeError::BadName(name.clone())),
        None => Ok(()),
    }
}

fn ids_by_name(
    spec: &TreeSpec,
    new_id: &mut impl FnMut() -> TaskId,
) -> Result<BTreeMap<String, TaskId>, TreeError> {
    let mut ids = BTreeMap::new();
    for task in &spec.tasks {
        if ids.insert(task.name.clone(), new_id()).is_some() {
            return Err(TreeError::Duplicate(task.name.clone()));
        }
    }
    for task in &spec.tasks {
        let mut names = task.depends_on.iter().map(|edge| &edge.task).chain(&task.parent);
        if let Some(missing) = names.find(|name| !ids.contains_key(*name)) {
            return Err(TreeError::MissingReference { task: task.name.clone(), missing: missing.clone() });
        }
    }
    Ok(ids)
}

fn check_task(
    task: &TaskSpec,
    executors: &BTreeSet<String>,
    validate: &impl Fn(&str, &Value) -> Result<(), String>,
) -> Result<(), TreeError> {
    if !executors.contains(&task.executor) {
        return Err(TreeError::UnknownExecutor {
            task: task.name.clone(),
            executor: task.executor.clone(),
            known: executors.iter().cloned().collect(),
        });
    }
    let invalid = |problem: String| TreeError::Invalid { task: task.name.clone(), problem };
    if task.max_attempts == 0 || task.max_attempts > i32::MAX as u32 {
        return Err(invalid("max_attempts must be at least 1".to_owned()));
    }
    if task.timeout_seconds == Some(0) {
        return Err(invalid("timeout_seconds must be at least 1".to_owned()));
    }
    if task.placement.max_parallel_per_node == Some(0) {
        return Err(invalid("max_parallel_per_node must be at least 1".to_owned()));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = task.depends_on.iter().find(|edge| !seen.insert(&edge.task)) {
        return Err(invalid(format!("depends on `{}` twice", twice.task)));
    }
    if let Some(problem) = task.backoff.problem() {
        return Err(invalid(problem.to_owned()));
    }
    validate(&task.executor, &task.inputs).map_err(|problem| invalid(format!("bad inputs: {problem}")))
}

/// Neither dependencies nor parents may lead back to where they began.
fn check_cycles(spec: &TreeSpec) -> Result<(), TreeError> {
    let edges = |task: &'_ TaskSpec| task.depends_on.iter().map(|edge| edge.task.clone()).collect();
    let parents = |task: &'_ TaskSpec| task.parent.iter().cloned().collect();
    find_cycle(spec, edges)
        .or_else(|| find_cycle(spec, parents))
        .map_or(Ok(()), |cycle| Err(TreeError::Cycle(cycle)))
}

/// Removes tasks that wait for nothing until none is left; from what remains one cycle is read off.
fn find_cycle(spec: &TreeSpec, edges: impl Fn(&TaskSpec) -> Vec<String>) -> Option<Vec<String>> {
    let mut waits: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut waited: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for task in &spec.tasks {
        let on = edges(task);
        for name in &on {
            waited.entry(name.clone()).or_default().push(&task.name);
        }
        waits.insert(&task.name, on);
    }
    let mut left: BTreeMap<&str, usize> = waits.iter().map(|(name, on)| (*name, on.len())).collect();
    let mut free: VecDeque<&str> =
        left.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    while let Some(name) = free.pop_front() {
        left.remove(name);
        for waiting in waited.get(name).into_iter().flatten() {
            if let Some(count) = left.get_mut(waiting) {
                *count -= 1;
                if *count == 0 {
                    free.push_back(waiting);
                }
            }
        }
    }
    let mut at = (*left.keys().next()?).to_owned();
    let mut path: Vec<String> = Vec::new();
    loop {
        if let Some(begin) = path.iter().position(|name| *name == at) {
            path.drain(..begin);
            path.push(at);
            return Some(path);
        }
        let next = waits.get(at.as_str())?.iter().find(|name| left.contains_key(name.as_str()))?.clone();
        path.push(std::mem::replace(&mut at, next));
    }
}

/// Everything that was submitted but the key.
fn digest(spec: &TreeSpec) -> String {
    let tasks = serde_json::to_value(&spec.tasks).unwrap_or(Value::Null);
    hex(&[canonical(&tasks).as_bytes()])
}

fn resolve(mut task: TaskSpec, ids: &BTreeMap<String, TaskId>) -> NewTask {
    let id_of = |name: &String| ids[name];
    NewTask {
        id: id_of(&task.name),
        parent: task.parent.as_ref().map(id_of),
        dependencies: task
            .depends_on
            .iter()
            .map(|edge| Dependency { on: id_of(&edge.task), required: edge.required })
            .collect(),
        placement: std::mem::take(&mut task.placement).with_executor(&task.executor),
        spec: task,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::DependencySpec;

    fn task(name: &str, on: &[&str]) -> TaskSpec {
        let depends_on =
            on.iter().map(|name| DependencySpec { task: (*name).to_owned(), required: true }).collect();
        TaskSpec { depends_on, ..TaskSpec::new(name, "wait", json!({})) }
    }

    fn tree(tasks: Vec<TaskSpec>) -> Result<NewTree, TreeError> {
        let mut next = 0;
        let executors = BTreeSet::from(["wait".to_owned(), "http".to_owned()]);
        let validate = |_: &str, inputs: &Value| match inputs.get("bad") {
            Some(_) => Err("`bad` is not known".to_owned()),
            None => Ok(()),
        };
        NewTree::new(TreeSpec { tasks, idempotency_key: None }, &executors, validate, || {
            next += 1;
            TaskId::new(next, [0; 10])
        })
    }

    fn error(tasks: Vec<TaskSpec>) -> String {
        tree(tasks).unwrap_err().to_string()
    }

    #[test]
    fn names_become_ids() {
        let part = TaskSpec { parent: Some("first".to_owned()), ..task("second", &["first"]) };
        let tree = tree(vec![task("first", &[]), part]).unwrap();
        let first = tree.tasks[0].id;
        assert_eq!(tree.id(), first);
        assert_eq!(tree.tasks[1].parent, Some(first));
        assert_eq!(tree.tasks[1].dependencies, [Dependency { on: first, required: true }]);
        assert!(tree.tasks[1].placement.requires_executors.contains("wait"));
    }

    #[test]
    fn cycles_are_named_whole() {
        let cycle = vec![task("free", &[]), task("a", &["b", "free"]), task("b", &["c"]), task("c", &["a"])];
        assert_eq!(error(cycle), "circular dependency: a -> b -> c -> a");
        assert_eq!(error(vec![task("a", &["a"])]), "circular dependency: a -> a");
        let nested =
            |name: &str, parent: &str| TaskSpec { parent: Some(parent.to_owned()), ..task(name, &[]) };
        assert_eq!(error(vec![nested("a", "b"), nested("b", "a")]), "circular dependency: a -> b -> a");
    }

    #[test]
    fn what_is_wrong_names_the_task() {
        assert_eq!(error(vec![task("a", &["b"])]), "task `a` refers to `b`, which is not in the tree");
        assert_eq!(
            error(vec![task("a", &[]), task("a", &[])]),
            "two tasks are named `a`; names must be unique in a tree"
        );
        let unknown = TaskSpec { executor: "magic".to_owned(), ..task("a", &[]) };
        assert_eq!(
            error(vec![unknown]),
            "task `a` wants executor `magic`, which does not exist; known: http, wait"
        );
        let bad = TaskSpec { inputs: json!({"bad": 1}), ..task("a", &[]) };
        assert_eq!(error(vec![bad]), "task `a`: bad inputs: `bad` is not known");
        let none = TaskSpec { max_attempts: 0, ..task("a", &[]) };
        assert_eq!(error(vec![none]), "task `a`: max_attempts must be at least 1");
        assert_eq!(error(vec![]), "the tree has no tasks");
        assert_eq!(error(vec![task("a", &["b", "b"]), task("b", &[])]), "task `a`: depends on `b` twice");
    }

    #[test]
    fn deep_chain_is_checked_without_recursion() {
        let names: Vec<String> = (0..TASKS_MAX).map(|number| format!("t{number}")).collect();
        let mut tasks = vec![task(&names[0], &[])];
        tasks.extend(names.windows(2).map(|pair| task(&pair[1], &[&pair[0]])));
        assert_eq!(tree(tasks).unwrap().tasks.len(), TASKS_MAX);
        assert!(matches!(tree(vec![task("a", &[]); TASKS_MAX + 1]), Err(TreeError::TooLarge(_))));
    }

    #[test]
    fn digest_is_of_what_was_submitted_and_not_of_ids() {
        let one = tree(vec![task("a", &[])]).unwrap();
        assert_eq!(one.digest, tree(vec![task("a", &[])]).unwrap().digest);
        assert_ne!(one.digest, tree(vec![task("b", &[])]).unwrap().digest);
    }
}
