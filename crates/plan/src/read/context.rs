//! What workflows have to do with each other: `depends`, `use`, `provide`; and `keep`, what a VU keeps for itself.

use hyperscale_types::Name;
use minijinja::Value;

use super::Reader;
use super::fields::Named;
use super::graph;
use super::view::View;
use crate::document::{Kind, Node, Place};
use crate::model::workflow::{Keep, Pick, Provide, Use};
use crate::template::{Resolver, Root, Template};

/// Values that one workflow uses, provides or keeps.
const VALUES_MAX: usize = 1_000;

const PICKS: [(&str, Pick); 3] = [("last", Pick::Last), ("first", Pick::First), ("all", Pick::All)];

/// The links of one workflow to others, as written on its side.
#[derive(Default)]
pub(super) struct Links<'n> {
    pub(super) depends: Vec<(usize, Place)>,
    pub(super) uses: Vec<Used>,
    pub(super) provides: Vec<Provided<'n>>,
}

/// A value that a workflow says it uses.
pub(super) struct Used {
    pub(super) from: usize,
    pub(super) key: Name,
    pub(super) place: Place,
    default: Option<Value>,
}

impl Used {
    pub(super) fn to_model(&self) -> Use {
        Use { from: self.from, key: self.key.clone(), default: self.default.clone() }
    }
}

/// A value that a workflow says it provides.
pub(super) struct Provided<'n> {
    key: Name,
    place: Place,
    to: Vec<usize>,
    value: Option<&'n Node>,
    pick: Pick,
}

impl Reader<'_> {
    /// The links of all workflows.
    pub(super) fn links<'n>(&self, named: &[Named<'n>]) -> Vec<Links<'n>> {
        let links = named.iter().map(|workflow| {
            let fields = &workflow.fields;
            Links {
                depends: self.depends(fields.take("depends"), Some(workflow), named),
                uses: self.uses(fields.take("use"), named),
                provides: self.provided(fields.take("provide"), named),
            }
        });
        links.collect()
    }

    fn workflow_index(&self, text: &str, place: Place, named: &[Named<'_>]) -> Option<usize> {
        let found = named.iter().position(|workflow| workflow.name == *text);
        if found.is_none() {
            self.problems
                .error(place, format!("there is no workflow `{text}`"))
                .nearest(text, named.iter().map(|workflow| workflow.name.as_str()));
        }
        found
    }

    /// The workflows that somebody waits for; `me`, if that is a workflow, is not among them.
    pub(super) fn depends(
        &self,
        node: Option<&Node>,
        me: Option<&Named<'_>>,
        named: &[Named<'_>],
    ) -> Vec<(usize, Place)> {
        let mut depends: Vec<(usize, Place)> = Vec::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(text) = self.text(item, "the name of a workflow") else { continue };
            let Some(at) = self.workflow_index(text, item.place, named) else { continue };
            if me.is_some_and(|me| named[at].name == me.name) {
                self.problems.error(item.place, format!("`{text}` cannot depend on itself"));
            } else if depends.iter().any(|(seen, _)| *seen == at) {
                self.problems.error(item.place, format!("`{text}` is named twice"));
            } else {
                depends.push((at, item.place));
            }
        }
        depends
    }

    /// `use: { Auth: [auth_token] }` or `use: { Auth: { auth_token: { default: … } } }`.
    fn uses(&self, node: Option<&Node>, named: &[Named<'_>]) -> Vec<Used> {
        let mut uses = Vec::new();
        let entries = node.and_then(|node| self.entries(node, "`use`")).unwrap_or(&[]);
        for (workflow, node) in entries {
            let Some(from) = self.workflow_index(&workflow.text, workflow.place, named) else { continue };
            let mut add = |text: &str, place, default: Option<&Node>| {
                let Some(key) = self.name(text, place) else { return };
                self.not_reserved(&key, place, "context value");
                uses.push(Used { from, key, place, default: default.and_then(|node| self.value(node)) });
            };
            match &node.kind {
                Kind::Map(entries) => {
                    for (key, node) in entries {
                        add(&key.text, key.place, self.use_default(node));
                    }
                }
                _ => {
                    for item in node.items() {
                        if let Some(text) = self.text(item, "the name of a value") {
                            add(text, item.place, None);
                        }
                    }
                }
            }
        }
        if uses.len() > VALUES_MAX {
            let message = format!("a workflow uses at most {VALUES_MAX} values");
            self.problems.error(uses[VALUES_MAX].place, message);
        }
        uses
    }

    fn use_default<'n>(&self, node: &'n Node) -> Option<&'n Node> {
        if let Kind::Null = node.kind {
            return None;
        }
        let fields = self.fields(node, "a used value")?;
        let default = fields.take("default");
        fields.finish(self, "a used value");
        default
    }

    fn provided<'n>(&self, node: Option<&'n Node>, named: &[Named<'_>]) -> Vec<Provided<'n>> {
        let entries = node.and_then(|node| self.entries(node, "`provide`")).unwrap_or(&[]);
        if entries.len() > VALUES_MAX {
            let message = format!("a workflow provides at most {VALUES_MAX} values");
            self.problems.error(entries[VALUES_MAX].0.place, message);
        }
        let mut provides = Vec::new();
        for (key, node) in entries.iter().take(VALUES_MAX) {
            let Some(name) = self.name(&key.text, key.place) else { continue };
            let what = format!("provided value `{name}`");
            let Some(fields) = self.fields(node, &what) else { continue };
            let (to, value) = (fields.take("to"), fields.take("value"));
            let pick = fields.take("pick").and_then(|node| self.word(node, &PICKS)).unwrap_or_default();
            fields.finish(self, &what);
            for (key, found) in [("to", to), ("value", value)] {
                if found.is_none() {
                    self.problems.error(node.place, format!("{what} needs `{key}`"));
                }
            }
            let receiver = |item: &Node| {
                let text = self.text(item, "the name of a workflow")?;
                self.workflow_index(text, item.place, named)
            };
            if let Some(node) = to.filter(|node| node.items().is_empty()) {
                self.problems
                    .error(node.place, format!("{what} is given to nobody"))
                    .hint("name the workflows that use it, or remove it");
            }
            let to = to.map(Node::items).unwrap_or_default().iter().filter_map(receiver).collect();
            provides.push(Provided { key: name, place: key.place, to, value, pick });
        }
        provides
    }

    /// Both sides must name each other and the key; no workflow waits for itself.
    pub(super) fn check_links(&self, named: &[Named<'_>], links: &[Links<'_>]) {
        for (me, mine) in links.iter().enumerate() {
            let my_name = &named[me].name;
            for used in &mine.uses {
                let (other, key) = (&named[used.from].name, &used.key);
                let provided = links[used.from].provides.iter().find(|provided| provided.key == *key);
                match provided {
                    None => self
                        .problems
                        .error(
                            used.place,
                            format!("`{my_name}` uses `{key}` of `{other}`, which does not provide it"),
                        )
                        .nearest(key.as_str(), links[used.from].provides.iter().map(|p| p.key.as_str())),
                    Some(provided) if !provided.to.contains(&me) => self
                        .problems
                        .error(used.place, format!("`{other}` does not provide `{key}` to `{my_name}`"))
                        .hint(format!("add `{my_name}` to its `provide.{key}.to`")),
                    Some(_) => {}
                }
                if !mine.depends.iter().any(|(at, _)| *at == used.from) {
                    self.problems
                        .error(
                            used.place,
                            format!("`{my_name}` uses a value of `{other}` but does not depend on it"),
                        )
                        .hint(format!("add `depends: [{other}]`"));
                }
            }
            for provided in &mine.provides {
                for to in &provided.to {
                    let key = &provided.key;
                    if !links[*to].uses.iter().any(|used| used.from == me && used.key == *key) {
                        let other = &named[*to].name;
                        self.problems
                            .error(
                                provided.place,
                                format!("`{my_name}` provides `{key}` to `{other}`, which does not use it"),
                            )
                            .hint(format!("add `use: {{ {my_name}: [{key}] }}` to `{other}`"));
                    }
                }
            }
        }
        let depends = links.iter().map(|links| links.depends.iter().map(|(at, _)| *at).collect()).collect();
        if let Err(cycle) = graph::order(depends) {
            let shown = graph::show_cycle(&cycle, |at| named[at].name.to_string());
            let place = cycle.first().map_or(Place::START, |at| named[*at].place);
            self.problems
                .error(place, format!("workflows depend on each other in a circle: {shown}"))
                .hint("an arrow reads `depends on`");
        }
    }

    /// The values that a workflow provides.
    pub(super) fn provides(&self, links: &Links<'_>, view: View<'_>) -> Vec<Provide> {
        let provide = |provided: &Provided<'_>| {
            let node = provided.value?;
            let value = self.typed_template(node, &view.with_stats())?;
            let from_stats = refers_to(&value, |root| root == Root::Stats);
            if from_stats && refers_to(&value, |root| matches!(root, Root::Step(_) | Root::Data(_))) {
                let message = "statistics are known after the load, when no iteration's results are left";
                self.problems.error(node.place, message).hint("provide two values");
            }
            let (key, to, pick) = (provided.key.clone(), provided.to.clone(), provided.pick);
            Some(Provide { key, to, value, from_stats, pick })
        };
        links.provides.iter().filter_map(provide).collect()
    }

    /// The names of kept values, right or wrong.
    pub(super) fn keep_names(&self, node: Option<&Node>) -> Vec<Name> {
        let entries = node.and_then(|node| self.entries(node, "`keep`")).unwrap_or(&[]);
        entries.iter().filter_map(|(key, _)| self.name(&key.text, key.place)).collect()
    }

    /// `keep: { cart: "{{ add.json.id }}" }` or `keep: { n: { initial: 0, value: "{{ vu.n + 1 }}" } }`.
    pub(super) fn keep(&self, node: Option<&Node>, view: View<'_>) -> Vec<Keep> {
        let entries = node.and_then(|node| self.entries(node, "`keep`")).unwrap_or(&[]);
        if entries.len() > VALUES_MAX {
            self.problems
                .error(entries[VALUES_MAX].0.place, format!("a VU keeps at most {VALUES_MAX} values"));
        }
        let mut kept = Vec::new();
        for (key, node) in entries.iter().take(VALUES_MAX) {
            let Some(name) = self.name(&key.text, key.place) else { continue };
            if matches!(name.as_str(), "id" | "iteration") {
                self.problems.error(key.place, format!("`vu.{name}` is always there; choose another name"));
            }
            kept.extend(self.kept(name, node, &view));
        }
        kept
    }

    fn kept(&self, name: Name, node: &Node, view: &dyn Resolver) -> Option<Keep> {
        if !matches!(node.kind, Kind::Map(_)) {
            return Some(Keep { name, initial: Value::from(()), value: self.typed_template(node, view)? });
        }
        let what = format!("kept value `{name}`");
        let fields = self.fields(node, &what)?;
        let initial = fields.take("initial").map_or(Some(Value::from(())), |node| self.value(node));
        let value = fields.take("value");
        fields.finish(self, &what);
        if value.is_none() {
            self.problems.error(node.place, format!("{what} needs `value`"));
        }
        Some(Keep { name, initial: initial?, value: self.typed_template(value?, view)? })
    }
}

fn refers_to(template: &Template, wanted: impl Fn(Root) -> bool) -> bool {
    template.holes().any(|hole| hole.roots().any(&wanted))
}
