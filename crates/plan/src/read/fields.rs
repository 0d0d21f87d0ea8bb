//! The keys of a map: each is asked for by name, and what nobody asked for is a problem.

use std::cell::RefCell;
use std::collections::HashSet;

use hyperscale_types::Name;

use super::Reader;
use crate::document::{Key, Kind, Node, Place};

/// A map, possibly on top of maps with defaults. Keys of the first layer win.
#[derive(Debug)]
pub(super) struct Fields<'n> {
    layers: Vec<&'n [(Key, Node)]>,
    /// Where the map stands.
    pub(super) place: Place,
    asked: RefCell<Vec<&'static str>>,
}

impl<'n> Fields<'n> {
    /// The value under a key.
    pub(super) fn take(&self, key: &'static str) -> Option<&'n Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// The value under a key, with the key.
    pub(super) fn entry(&self, key: &'static str) -> Option<(&'n Key, &'n Node)> {
        self.each(key).next()
    }

    /// The values under a key in all layers, the winning one first.
    pub(super) fn each(&self, key: &'static str) -> impl Iterator<Item = (&'n Key, &'n Node)> {
        self.asked.borrow_mut().push(key);
        let found = |layer: &&'n [(Key, Node)]| layer.iter().find(|(k, _)| &*k.text == key);
        self.layers.iter().filter_map(found).map(|(key, node)| (key, node)).collect::<Vec<_>>().into_iter()
    }

    /// The keys of a group that excludes itself (`json`, `form`, `body`, …): of the first layer that has any.
    pub(super) fn group(&self, keys: &[&'static str]) -> Vec<(&'n Key, &'n Node)> {
        self.asked.borrow_mut().extend(keys);
        let of_layer = |layer: &&'n [(Key, Node)]| -> Vec<(&'n Key, &'n Node)> {
            layer
                .iter()
                .filter(|(key, _)| keys.contains(&&*key.text))
                .map(|(key, node)| (key, node))
                .collect()
        };
        self.layers.iter().map(of_layer).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Puts defaults under it.
    pub(super) fn on_top_of(mut self, defaults: Option<&'n Node>) -> Self {
        if let Some(Node { kind: Kind::Map(entries), .. }) = defaults {
            self.layers.push(entries);
        }
        self
    }

    /// Reports every key that nobody asked for.
    pub(super) fn finish(&self, reader: &Reader<'_>, what: &str) {
        let asked = self.asked.borrow();
        for (key, _) in self.layers.iter().copied().flatten() {
            if !asked.contains(&&*key.text) {
                let message = format!("unknown key `{}` in {what}", key.text);
                reader.problems.error(key.place, message).nearest(&key.text, asked.iter().copied());
            }
        }
    }
}

/// An entry of a map of things with names, or of a list whose items have a `name`.
#[derive(Debug)]
pub(super) struct Named<'n> {
    pub(super) name: Name,
    pub(super) place: Place,
    pub(super) fields: Fields<'n>,
}

impl Reader<'_> {
    /// A map's keys.
    pub(super) fn fields<'n>(&self, node: &'n Node, what: &str) -> Option<Fields<'n>> {
        let entries = self.entries(node, what)?;
        Some(Fields { layers: vec![entries], place: node.place, asked: RefCell::default() })
    }

    /// A map's entries.
    pub(super) fn entries<'n>(&self, node: &'n Node, what: &str) -> Option<&'n [(Key, Node)]> {
        if let Kind::Map(entries) = &node.kind {
            return Some(entries);
        }
        self.problems.error(node.place, format!("{what} must be a map, not {}", node.what()));
        None
    }

    /// Things with names: a map, or a list of maps with `name`. Names are not used twice.
    pub(super) fn named<'n>(&self, node: &'n Node, what: &str) -> Vec<Named<'n>> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut add = |named: Option<Named<'n>>| {
            let Some(named) = named else { return };
            if seen.insert(named.name.clone()) {
                found.push(named);
            } else {
                self.problems.error(named.place, format!("{what} `{}` is there twice", named.name));
            }
        };
        match &node.kind {
            Kind::Map(entries) => {
                for (key, value) in entries {
                    let name = self.name(&key.text, key.place);
                    let fields = self.fields(value, &format!("{what} `{}`", key.text));
                    add(name.zip(fields).map(|(name, fields)| Named { name, place: key.place, fields }));
                }
            }
            Kind::Seq(items) => items.iter().for_each(|item| add(self.item_with_name(item, what))),
            _ => {
                let message = format!("this must be a map of {what}s or a list of maps with `name`");
                self.problems.error(node.place, format!("{message}, not {}", node.what()));
            }
        }
        found
    }

    fn item_with_name<'n>(&self, item: &'n Node, what: &str) -> Option<Named<'n>> {
        let fields = self.fields(item, &format!("a {what}"))?;
        let Some(node) = fields.take("name") else {
            self.problems.error(item.place, format!("a {what} in a list needs a `name`"));
            return None;
        };
        let name = self.name(self.text(node, "a name")?, node.place)?;
        Some(Named { name, place: node.place, fields })
    }
}
