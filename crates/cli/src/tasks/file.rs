//! Trees and schedules in files: tasks by name, in YAML, TOML or JSON as plans are. Errors name the place.
//!
//! ```yaml
//! tasks:
//!   seed:   { executor: sql, inputs: { … } }
//!   load:   { executor: load_test, depends: [seed], inputs: { plan: checkout.yaml } }
//!   report: { executor: aggregate, depends: [{ task: load, required: false }] }
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hyperscale_api::CallError;
use hyperscale_plan::Problem;
use hyperscale_plan::document::{Format, Key, Kind, Node, Place, Text, parse};
use hyperscale_plan::problem::Problems;
use hyperscale_tasks::domain::{
    DependencySpec, MissedFires, NewTree, ScheduleSpec, TaskSpec, Timestamp, TreeError, TreeSpec,
};
use hyperscale_tasks::runtime::new_task_id;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::plans;
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::plan_file::{STDIN_OR_STDOUT, limited};

/// What a task is called where a message is about it.
const TASK_KEYS: [&str; 11] = [
    "executor",
    "inputs",
    "depends",
    "depends_on",
    "parent",
    "priority",
    "run_at",
    "placement",
    "max_attempts",
    "timeout_seconds",
    "backoff",
];
const TREE_KEYS: [&str; 2] = ["tasks", "idempotency_key"];
const SCHEDULE_KEYS: [&str; 4] = ["name", "trigger", "missed", "tasks"];

/// A file that was read, with the places of its tasks.
pub(crate) struct TreeFile {
    name: String,
    text: Text,
    root: Node,
    places: BTreeMap<String, Place>,
    /// Where paths of plans begin; none if they are not followed.
    folder: Option<PathBuf>,
}

impl TreeFile {
    /// Reads a file, or stdin.
    pub(crate) fn read(path: &str) -> Result<Self, CommandError> {
        let (name, bytes) = if path == STDIN_OR_STDOUT {
            ("stdin", limited(std::io::stdin().lock(), "stdin")?)
        } else {
            let unreadable =
                |source| CommandError::Unreadable { what: "the file", path: path.into(), source };
            (path, limited(std::fs::File::open(path).map_err(unreadable)?, path)?)
        };
        let folder = Path::new(path).parent().map(Path::to_owned).unwrap_or_default();
        Self::parse(name, &bytes, Format::of_path(Path::new(path)), Some(folder))
    }

    /// Reads a text that somebody sent. It has no folder: paths in it are not followed.
    pub(super) fn of_message(text: &str) -> Result<Self, CommandError> {
        Self::parse("message", text.as_bytes(), None, None)
    }

    fn parse(
        name: &str,
        bytes: &[u8],
        format: Option<Format>,
        folder: Option<PathBuf>,
    ) -> Result<Self, CommandError> {
        let text = Text::new(bytes)
            .map_err(|error| CommandError::Plan(vec![Problem::general(name, error.to_string())]))?;
        let format = format.unwrap_or_else(|| Format::of_text(text.as_str()));
        let problems = Problems::new(name, &text);
        let root = parse(&text, format, &problems);
        let (is_broken, problems) = (problems.any_error(), problems.into_sorted());
        match root.filter(|_| !is_broken) {
            Some(root) => Ok(Self { name: name.to_owned(), text, root, places: BTreeMap::new(), folder }),
            None => Err(CommandError::Plan(problems)),
        }
    }

    /// Everything in it, as JSON.
    pub(super) fn value(&self) -> Value {
        to_json(&self.root)
    }

    /// The tree in it.
    pub(crate) fn tree(&mut self) -> Result<TreeSpec, CommandError> {
        let (places, tree) = self.checked(|reader, root| {
            reader.keys(root, &TREE_KEYS)?;
            let idempotency_key = match root.get("idempotency_key") {
                Some(node) => Some(reader.value(node)?),
                None => None,
            };
            Some(TreeSpec { tasks: reader.tasks(root)?, idempotency_key })
        })?;
        self.places = places;
        Ok(tree)
    }

    /// The schedule in it.
    pub(crate) fn schedule(&mut self) -> Result<ScheduleSpec, CommandError> {
        let (places, schedule) = self.checked(|reader, root| {
            reader.keys(root, &SCHEDULE_KEYS)?;
            let (name, trigger) = (reader.required(root, "name")?, reader.required(root, "trigger")?);
            let (name, trigger) = (reader.value(name)?, reader.trigger(trigger)?);
            let missed = match root.get("missed") {
                Some(node) => reader.value(node)?,
                None => MissedFires::default(),
            };
            let tree = TreeSpec { tasks: reader.tasks(root)?, idempotency_key: None };
            Some(ScheduleSpec { name, trigger, missed, tree })
        })?;
        self.places = places;
        Ok(schedule)
    }

    fn checked<T>(
        &self,
        read: impl FnOnce(&mut Reader<'_, '_>, &Node) -> Option<T>,
    ) -> Result<(BTreeMap<String, Place>, T), CommandError> {
        let problems = Problems::new(&self.name, &self.text);
        let mut reader =
            Reader { problems: &problems, places: BTreeMap::new(), folder: self.folder.as_deref() };
        let found = read(&mut reader, &self.root);
        let (places, is_broken) = (reader.places, problems.any_error());
        match found.filter(|_| !is_broken) {
            Some(found) => Ok((places, found)),
            None => Err(CommandError::Plan(problems.into_sorted())),
        }
    }

    /// What a server refused, at the task that it is about.
    pub(crate) fn refused(&self, error: CallError) -> CommandError {
        if let CallError::Refused(refusal) = &error
            && let Some(place) = refusal.detail("task").and_then(|task| self.places.get(task))
        {
            let problems = Problems::new(&self.name, &self.text);
            let reported = problems.error(*place, refusal.message.clone());
            if let Some(fix) = refusal.detail("fix") {
                reported.hint(fix);
            }
            return CommandError::Refused(problems.into_sorted(), error.exit_code());
        }
        RemoteError::from(error).into()
    }
}

/// Reads nodes and notes what is wrong with them.
struct Reader<'p, 't> {
    problems: &'p Problems<'t>,
    /// Where each task stands.
    places: BTreeMap<String, Place>,
    /// Where paths begin; none if they are not followed.
    folder: Option<&'p Path>,
}

impl Reader<'_, '_> {
    /// Whether a node is a map with known keys only.
    fn keys(&self, node: &Node, known: &[&str]) -> Option<()> {
        for (key, _) in self.entries(node)? {
            if !known.contains(&&*key.text) {
                let wrong = self.problems.error(key.place, format!("`{}` is not known here", key.text));
                wrong.nearest(&key.text, known.iter().copied());
            }
        }
        Some(())
    }

    fn entries<'n>(&self, node: &'n Node) -> Option<&'n [(Key, Node)]> {
        if let Kind::Map(entries) = &node.kind {
            return Some(entries);
        }
        self.problems.error(node.place, format!("expected a map, found {}", node.what()));
        None
    }

    fn required<'n>(&self, node: &'n Node, key: &str) -> Option<&'n Node> {
        let found = node.get(key);
        if found.is_none() {
            self.problems.error(node.place, format!("`{key}` is missing"));
        }
        found
    }

    /// A value of one of our types.
    fn value<T: DeserializeOwned>(&self, node: &Node) -> Option<T> {
        match serde_json::from_value(to_json(node)) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems.error(node.place, error.to_string());
                None
            }
        }
    }

    /// When a schedule fires; the time of `once` may be written as people write times.
    fn trigger<T: DeserializeOwned>(&self, node: &Node) -> Option<T> {
        let mut trigger = to_json(node);
        if let Some(at) = node.get("once").and_then(|once| once.get("at")) {
            trigger["once"]["at"] = self.time(at)?.0.into();
        }
        match serde_json::from_value(trigger) {
            Ok(trigger) => Some(trigger),
            Err(error) => {
                let wrong = self.problems.error(node.place, error.to_string());
                wrong.hint(
                    "write cron: { expression: '0 3 * * *' }, interval: { seconds: 60 } or once: { at: … }",
                );
                None
            }
        }
    }

    /// A time: milliseconds since 1970, or a text such as 2027-01-01T00:00:00Z.
    fn time(&self, node: &Node) -> Option<Timestamp> {
        let time = match &node.kind {
            Kind::Int(ms, _) => i64::try_from(*ms).ok(),
            Kind::Str(text) => text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond),
            _ => None,
        };
        if time.is_none() {
            let wrong = self.problems.error(node.place, "not a time");
            wrong.hint("write it as 2027-01-01T00:00:00Z, or as milliseconds since 1970");
        }
        time.map(Timestamp)
    }

    /// The tasks of a tree, by name.
    fn tasks(&mut self, root: &Node) -> Option<Vec<TaskSpec>> {
        let tasks = self.required(root, "tasks")?;
        let mut specs = Vec::new();
        for (name, node) in self.entries(tasks)? {
            self.places.insert(name.text.to_string(), name.place);
            specs.extend(self.task(name, node));
        }
        if self.problems.any_error() {
            return None;
        }
        self.check_tree(tasks, &specs);
        Some(specs)
    }

    fn task(&self, name: &Key, node: &Node) -> Option<TaskSpec> {
        self.keys(node, &TASK_KEYS)?;
        let executor: String = self.value(self.required(node, "executor")?)?;
        let inputs = self.inputs(&executor, node)?;
        let mut spec = TaskSpec::new(&name.text, &executor, inputs);
        for (key, node) in self.entries(node)? {
            match &*key.text {
                "depends" | "depends_on" => spec.depends_on.extend(self.dependencies(node)?),
                "parent" => spec.parent = Some(self.value(node)?),
                "priority" => spec.priority = self.value(node)?,
                "run_at" => spec.run_at = Some(self.time(node)?),
                "placement" => spec.placement = self.value(node)?,
                "max_attempts" => spec.max_attempts = self.value(node)?,
                "timeout_seconds" => spec.timeout_seconds = Some(self.value(node)?),
                "backoff" => spec.backoff = self.value(node)?,
                _ => {}
            }
        }
        Some(spec)
    }

    /// The inputs of a task; the plan of a load test is read and embedded.
    fn inputs(&self, executor: &str, task: &Node) -> Option<Value> {
        let Some(node) = task.get("inputs") else { return Some(Value::Object(Map::new())) };
        let mut inputs = to_json(node);
        if executor == plans::EXECUTOR
            && let (Some(plan), Some(folder)) = (node.get("plan"), self.folder)
            && let Err(why) = plans::embed(&mut inputs, folder)
        {
            self.problems.error(plan.place, why);
            return None;
        }
        Some(inputs)
    }

    fn dependencies(&self, node: &Node) -> Option<Vec<DependencySpec>> {
        let one = |item: &Node| match &item.kind {
            Kind::Map(_) => self.value(item),
            _ => Some(DependencySpec { task: self.value(item)?, required: true }),
        };
        node.items().iter().map(one).collect()
    }

    /// Says what is wrong with the tree as a whole: references, cycles. What executors want is the server's to say.
    fn check_tree(&self, tasks: &Node, specs: &[TaskSpec]) {
        let executors = specs.iter().map(|spec| spec.executor.clone()).collect();
        let spec = TreeSpec { tasks: specs.to_vec(), idempotency_key: None };
        let Err(error) = NewTree::new(spec, &executors, |_, _| Ok(()), new_task_id) else { return };
        let (task, word) = match &error {
            TreeError::MissingReference { task, missing } => (Some(task), Some(missing)),
            TreeError::Cycle(names) => (names.first(), names.get(1)),
            TreeError::Invalid { task, .. } => (Some(task), None),
            _ => (None, None),
        };
        let node = task.and_then(|task| tasks.get(task));
        let exact = node.zip(word).and_then(|(node, word)| place_of(node, word));
        let of_task = task.and_then(|task| self.places.get(task).copied());
        let reported = self.problems.error(exact.or(of_task).unwrap_or(tasks.place), error.to_string());
        if let TreeError::MissingReference { missing, .. } = &error {
            reported.nearest(missing, self.places.keys().map(String::as_str));
        }
    }
}

/// Where a task refers to a name.
fn place_of(task: &Node, word: &str) -> Option<Place> {
    let named = |node: &Node| node.scalar() == Some(word);
    let lists = ["depends", "depends_on", "parent"].into_iter().filter_map(|key| task.get(key));
    for item in lists.flat_map(Node::items) {
        if named(item) || item.get("task").is_some_and(named) {
            return Some(item.place);
        }
    }
    None
}

/// A node as JSON.
fn to_json(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(truth) => (*truth).into(),
        Kind::Int(number, text) => i64::try_from(*number)
            .map_or_else(|_| text.parse::<f64>().unwrap_or(f64::NAN).into(), Value::from),
        Kind::Float(number, _) => (*number).into(),
        Kind::Str(text) => (**text).into(),
        Kind::Seq(items) => items.iter().map(to_json).collect(),
        Kind::Map(entries) => entries
            .iter()
            .map(|(key, node)| (key.text.to_string(), to_json(node)))
            .collect::<Map<_, _>>()
            .into(),
    }
}
