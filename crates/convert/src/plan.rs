//! The plan that is being put together: variables, secrets, steps, notes. Everything the decoders share.

mod request;
mod secrets;
mod shape;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::Path;

use hyperscale_plan::document::Format;
use hyperscale_plan::{Environment, RESERVED_WORDS, Source, load};
use hyperscale_types::limits::PLAN_BYTES_MAX;
use hyperscale_types::rule::RESERVED_STEP_NAMES;
pub(crate) use request::{Body, Part, PartContent, Request};
use serde_json::{Map, Value, json};
pub(crate) use shape::without_null;

use crate::text::{hole, slug};
use crate::{ConvertError, Converted, NOTES_MAX, Note, Options, Origin, REQUESTS_MAX};

/// The one workflow of an import.
const WORKFLOW: &str = "Main";

/// Variables of the environment that every system sets to something else than what is meant.
const SET_BY_SYSTEMS: &[&str] = &[
    "PATH", "HOME", "USER", "USERNAME", "LOGNAME", "HOST", "HOSTNAME", "LANG", "PWD", "SHELL", "TERM",
    "EDITOR", "TMPDIR", "DISPLAY", "UID", "PORT",
];
/// Variables that are defined by variables.
const CHAIN_MAX: usize = 8;

/// A plan in the making.
pub(crate) struct Draft {
    options: Options,
    /// In the order of their first use.
    vars: Map<String, Value>,
    /// Origins of URLs and the variable that stands for each.
    bases: Vec<(String, String)>,
    /// Secret values and the variable that stands for each.
    secrets: BTreeMap<String, String>,
    /// Variables by what they were asked for as.
    shared: BTreeMap<String, String>,
    /// Names of variables and steps.
    names: HashSet<String>,
    steps: Vec<(String, Map<String, Value>)>,
    notes: Vec<Note>,
    more_notes: usize,
    plan_name: Option<String>,
    /// Variables of the environment that URLs begin with.
    url_variables: BTreeSet<String>,
}

impl Draft {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            vars: Map::new(),
            bases: Vec::new(),
            secrets: BTreeMap::new(),
            shared: BTreeMap::new(),
            names: RESERVED_WORDS.iter().chain(&RESERVED_STEP_NAMES).map(|word| (*word).to_owned()).collect(),
            steps: Vec::new(),
            notes: Vec::new(),
            more_notes: 0,
            plan_name: None,
            url_variables: BTreeSet::new(),
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// What the plan is called.
    pub(crate) fn name(&mut self, name: &str) {
        let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        self.plan_name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    }

    /// Says what could not be translated.
    pub(crate) fn note(&mut self, place: &str, message: impl Into<String>) {
        if self.notes.len() < NOTES_MAX {
            let short = |text: &str| text.chars().map(hyperscale_types::shown).take(300).collect();
            self.notes.push(Note { place: short(place), message: short(&message.into()) });
        } else {
            self.more_notes += 1;
        }
    }

    /// A variable with this value; its name may differ from the one wished for.
    pub(crate) fn var(&mut self, wish: &str, value: Value) -> String {
        let name = self.unique(&slug(wish));
        self.vars.insert(name.clone(), value);
        name
    }

    /// A variable that is read from the environment; its name, and that of the variable of the environment.
    pub(crate) fn env_var(&mut self, wish: &str) -> (String, String) {
        let name = self.unique(&slug(wish));
        let mut variable = name.to_ascii_uppercase();
        if SET_BY_SYSTEMS.contains(&variable.as_str()) {
            variable = format!("PLAN_{variable}");
        }
        self.vars.insert(name.clone(), format!("${{env:{variable}}}").into());
        (name, variable)
    }

    /// Whether a variable was asked for before.
    pub(crate) fn has_shared(&self, wish: &str) -> bool {
        self.shared.contains_key(wish)
    }

    /// A variable that is made once, however often it is asked for.
    pub(crate) fn shared_var(&mut self, wish: &str, value: Value) -> String {
        if let Some(name) = self.shared.get(wish) {
            return name.clone();
        }
        let name = self.var(wish, value);
        self.shared.insert(wish.to_owned(), name.clone());
        name
    }

    /// The same for one that is read from the environment; who has to set it is told.
    pub(crate) fn shared_env_var(&mut self, wish: &str) -> String {
        if let Some(name) = self.shared.get(wish) {
            return name.clone();
        }
        let (name, variable) = self.env_var(wish);
        self.note("vars", format!("set {variable}, or give --var {name}=…"));
        self.shared.insert(wish.to_owned(), name.clone());
        name
    }

    /// A variable for the output of a command, and the variable of the environment it is read from.
    pub(crate) fn command_var(&mut self, command: &str) -> (String, String) {
        if let Some(name) = self.shared.get(command) {
            return (name.clone(), name.to_ascii_uppercase());
        }
        let (name, variable) = self.env_var(command);
        self.shared.insert(command.to_owned(), name.clone());
        (name, variable)
    }

    /// The raw text that stands for a URL's origin: a hole with a variable.
    pub(crate) fn base(&mut self, origin: &str) -> String {
        if let Some((_, name)) = self.bases.iter().find(|(known, _)| known == origin) {
            return hole(name);
        }
        let name = self.var("base", crate::text::template(origin).into());
        self.bases.push((origin.to_owned(), name.clone()));
        hole(&name)
    }

    /// Takes a request as the next step and says what it is called. One that no plan could express is left out, with a
    /// note.
    pub(crate) fn push(&mut self, place: &str, request: Request) -> Result<Option<String>, ConvertError> {
        if self.steps.len() >= REQUESTS_MAX {
            return Err(ConvertError::TooMany);
        }
        let wish = slug(&request.name);
        self.url_variables.extend(self.begins_with(&request.url));
        let step = self.step(place, request);
        if let Err(problem) = self.check(&step) {
            self.note(place, format!("left out: {problem}"));
            return Ok(None);
        }
        let name = self.unique(&wish);
        self.steps.push((name.clone(), step));
        Ok(Some(name))
    }

    /// The step before the next one, for what is only known later.
    pub(crate) fn last_step(&mut self) -> Option<&mut Map<String, Value>> {
        self.steps.last_mut().map(|(_, step)| step)
    }

    /// A name that nothing has yet.
    fn unique(&mut self, wish: &str) -> String {
        let numbered = (2..).map(|n| format!("{wish}_{n}"));
        let mut candidates = std::iter::once(wish.to_owned()).chain(numbered);
        let name = candidates.find(|name| !self.names.contains(name)).expect("numbers do not end");
        self.names.insert(name.clone());
        name
    }

    /// The variable of the environment that a URL begins with, maybe by way of other variables.
    fn begins_with(&self, url: &str) -> Option<String> {
        let mut text = crate::text::template(url);
        for _ in 0..CHAIN_MAX {
            if let Some(rest) = text.strip_prefix("${env:") {
                return rest.split('}').next().map(str::to_owned);
            }
            let name = text.strip_prefix("{{ ")?.split(" }}").next()?;
            text = self.vars.get(name)?.as_str()?.to_owned();
        }
        None
    }

    /// Whether a step is valid, by the only authority on that.
    fn check(&self, step: &Map<String, Value>) -> Result<(), String> {
        // Those that others can refer to.
        let before = self.steps.iter().filter(|(_, step)| step.contains_key("extract"));
        let mut steps: Map<String, Value> =
            before.map(|(name, step)| (name.clone(), step.clone().into())).collect();
        steps.insert(self.candidate(), step.clone().into());
        let plan = json!({
            "vars": self.vars,
            "workflows": { "W": { "vus": 1, "iterations": 1, "steps": steps } },
        });
        validate(&plan, &self.url_variables)
    }

    /// A name for a step that is only looked at.
    fn candidate(&self) -> String {
        let mut names = (0..).map(|n| format!("candidate_{n}"));
        names.find(|name| !self.names.contains(name)).expect("numbers do not end")
    }

    /// Variables that only steps would have used that were left out: the environment would be asked for them in vain.
    fn forget_unused(&mut self) {
        let steps: Value = self.steps.iter().map(|(_, step)| Value::from(step.clone())).collect();
        let steps = steps.to_string();
        loop {
            let values: String = self.vars.values().map(Value::to_string).collect();
            let used = |name: &str| mentions(&steps, name) || mentions(&values, name);
            let unused: Vec<String> = self.vars.keys().filter(|name| !used(name)).cloned().collect();
            if unused.is_empty() {
                return;
            }
            for name in unused {
                self.vars.shift_remove(&name);
            }
        }
    }

    /// The whole plan.
    pub(crate) fn finish(mut self, origin: Origin) -> Result<Converted, ConvertError> {
        if self.steps.is_empty() {
            let reason = self.notes.first().map(|note| format!("; {}: {}", note.place, note.message));
            return Err(ConvertError::Empty(reason.unwrap_or_default()));
        }
        let requests = self.steps.len();
        self.forget_unused();
        let plan = shape::plan(self.plan_name.take(), &self.vars, std::mem::take(&mut self.steps));
        let bytes = plan.to_string().len() as u64;
        if bytes > PLAN_BYTES_MAX / 2 {
            return Err(ConvertError::PlanTooLarge(bytes));
        }
        validate(&plan, &self.url_variables)
            .map_err(|problem| ConvertError::Empty(format!("; {problem}")))?;
        let url_variables = self.url_variables.into_iter().collect();
        Ok(Converted {
            origin,
            plan,
            notes: self.notes,
            more_notes: self.more_notes,
            requests,
            url_variables,
        })
    }
}

/// Whether a hole of a text has this name in it.
fn mentions(text: &str, name: &str) -> bool {
    let holes = text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    holes.flat_map(|hole| hole.split(|c| !is_letter(c))).any(|word| word == name)
}

fn validate(plan: &Value, urls: &BTreeSet<String>) -> Result<(), String> {
    let bytes = plan.to_string().into_bytes();
    let source = Source { name: "plan", bytes: &bytes, format: Some(Format::Json), folder: Path::new("") };
    match load(&source, &Anywhere { urls }) {
        Ok(_) => Ok(()),
        Err(problems) => Err(problems.into_iter().next().map(|problem| problem.message).unwrap_or_default()),
    }
}

/// A world in which every variable is set and every file is there: those of the person are not known here.
struct Anywhere<'u> {
    urls: &'u BTreeSet<String>,
}

impl Environment for Anywhere<'_> {
    fn var(&self, name: &str) -> Option<String> {
        Some(if self.urls.contains(name) { "http://x" } else { "x" }.to_owned())
    }

    fn overrides(&self) -> &[(String, String)] {
        &[]
    }

    fn head(&self, _path: &Path, _bytes_max: usize) -> io::Result<Vec<u8>> {
        Ok(b"x".to_vec())
    }
}
