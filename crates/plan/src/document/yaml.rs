//! YAML into the tree: events of the parser, a stack instead of recursion, aliases and merge keys (`<<`) expanded
//! within limits.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::{DEPTH_MAX, Key, Kind, Node, Place, Seen, Text, push_entry, schema, too_deep};
use crate::problem::Problems;

/// Nodes that all aliases of a file may add up to: a small file must not become a large tree.
pub(super) const EXPANDED_NODES_MAX: usize = 50_000;
/// Bytes of text that all aliases of a file may add up to.
const EXPANDED_BYTES_MAX: usize = 4 << 20;

pub(super) fn parse(text: &Text, problems: &Problems) -> Option<Node> {
    let bytes = ByteIndex::new(text.as_str());
    let mut builder = Builder::new(problems);
    for event in Parser::new_from_str(text.as_str()) {
        match event {
            Ok((event, span)) => {
                let (start, end) = (bytes.at(span.start.index()), bytes.at(span.end.index()));
                // The parser counts white space behind a value as part of it.
                let written = text.as_str().get(start..end).unwrap_or("").trim_end();
                builder.event(event, Place { start, end: start + written.len() })?;
            }
            Err(error) => {
                let start = bytes.at(error.marker().index());
                let (line, _) = text.position(start);
                let problem =
                    problems.error(Place { start, end: start }, format!("not YAML: {}", error.info()));
                if text.line(line).trim_start_matches(' ').starts_with('\t') {
                    problem.hint("YAML is indented with spaces, never with tabs");
                }
                return None;
            }
        }
    }
    builder.root
}

/// Characters to bytes: the parser counts characters.
struct ByteIndex(Option<Vec<usize>>, usize);

impl ByteIndex {
    fn new(text: &str) -> Self {
        let table = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        ByteIndex(table, text.len())
    }

    fn at(&self, char: usize) -> usize {
        match &self.0 {
            None => char.min(self.1),
            Some(table) => table.get(char).copied().unwrap_or(self.1),
        }
    }
}

/// A list or map that is not closed yet.
struct Open {
    place: Place,
    anchor: usize,
    content: Content,
}

enum Content {
    Seq(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, seen: Seen, key: Option<Key>, merged: Vec<(usize, Node)> },
}

/// A finished node that has a name, and what a copy of it costs.
struct Anchored {
    node: Node,
    nodes: usize,
    bytes: usize,
}

struct Builder<'p> {
    problems: &'p Problems<'p>,
    stack: Vec<Open>,
    anchors: BTreeMap<usize, Anchored>,
    root: Option<Node>,
    documents: usize,
    nodes_left: usize,
    bytes_left: usize,
}

impl<'p> Builder<'p> {
    fn new(problems: &'p Problems<'p>) -> Self {
        Builder {
            problems,
            stack: Vec::new(),
            anchors: BTreeMap::new(),
            root: None,
            documents: 0,
            nodes_left: EXPANDED_NODES_MAX,
            bytes_left: EXPANDED_BYTES_MAX,
        }
    }

    /// `None` ends the reading; a problem says why.
    fn event(&mut self, event: Event<'_>, place: Place) -> Option<()> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Some(()),
            Event::DocumentStart(_) => self.document(place),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::Scalar(text, style, anchor, tag) => {
                let kind = self.scalar(&text, style, tag.as_deref(), place)?;
                self.finished(Node { place, kind }, anchor, style == ScalarStyle::Plain)
            }
            Event::SequenceStart(anchor, tag) => {
                self.no_tag(tag.as_deref(), place)?;
                self.open(place, anchor, Content::Seq(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.no_tag(tag.as_deref(), place)?;
                let (entries, merged) = (Vec::new(), Vec::new());
                self.open(place, anchor, Content::Map { entries, seen: Seen::default(), key: None, merged })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(place),
        }
    }

    fn document(&mut self, place: Place) -> Option<()> {
        self.documents += 1;
        if self.documents > 1 {
            self.problems.error(place, "the file has more than one YAML document; a plan is one");
            return None;
        }
        Some(())
    }

    fn open(&mut self, place: Place, anchor: usize, content: Content) -> Option<()> {
        if self.stack.len() >= DEPTH_MAX {
            too_deep(place, self.problems);
            return None;
        }
        if matches!(self.stack.last(), Some(Open { content: Content::Map { key: None, .. }, .. })) {
            self.problems.error(place, "a key must be a text, not a list or map");
            return None;
        }
        self.stack.push(Open { place, anchor, content });
        Some(())
    }

    fn close(&mut self, end: Place) -> Option<()> {
        let open = self.stack.pop()?;
        let place = Place { start: open.place.start, end: end.end.max(open.place.end) };
        let kind = match open.content {
            Content::Seq(items) => Kind::Seq(items),
            Content::Map { entries, seen, merged, .. } => Kind::Map(self.merge(entries, seen, merged)?),
        };
        self.finished(Node { place, kind }, open.anchor, false)
    }

    /// A node is complete: it is a key, a value, an item or the root.
    fn finished(&mut self, node: Node, anchor: usize, plain: bool) -> Option<()> {
        if anchor > 0 {
            let (nodes, bytes) = weigh(&node);
            self.anchors.insert(anchor, Anchored { node: node.clone(), nodes, bytes });
            self.spend(nodes, bytes, node.place)?;
        }
        let problems = self.problems;
        match self.stack.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(Content::Seq(items)) => items.push(node),
            Some(Content::Map { key: key @ None, .. }) => {
                let text = match &node.kind {
                    Kind::Null => "null",
                    _ => node.scalar().expect("lists and maps as keys are refused when they open"),
                };
                // A quoted "<<" is a key like any other; it gets a name that no plain key has.
                let merges = plain && text == "<<";
                *key = Some(Key { text: if merges { MERGE.into() } else { text.into() }, place: node.place });
            }
            Some(Content::Map { entries, seen, key, merged }) => {
                let key = key.take().expect("the arm above takes maps that wait for a key");
                if &*key.text == MERGE {
                    merged.push((entries.len(), node));
                } else {
                    push_entry(entries, key, node, seen, problems);
                }
            }
        }
        Some(())
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Option<()> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            self.problems.error(place, "an alias cannot stand inside of what it refers to");
            return None;
        };
        let (node, nodes, bytes) = (anchored.node.clone(), anchored.nodes, anchored.bytes);
        self.spend(nodes, bytes, place)?;
        if matches!(node.kind, Kind::Seq(_) | Kind::Map(_)) && self.stack.len() + depth(&node) > DEPTH_MAX {
            too_deep(place, self.problems);
            return None;
        }
        if matches!(node.kind, Kind::Seq(_) | Kind::Map(_))
            && matches!(self.stack.last(), Some(Open { content: Content::Map { key: None, .. }, .. }))
        {
            self.problems.error(place, "a key must be a text, not a list or map");
            return None;
        }
        self.finished(node, 0, false)
    }

    fn spend(&mut self, nodes: usize, bytes: usize, place: Place) -> Option<()> {
        let left = (self.nodes_left.checked_sub(nodes), self.bytes_left.checked_sub(bytes));
        let (Some(nodes_left), Some(bytes_left)) = left else {
            self.problems.error(place, "the aliases of this file expand to too much");
            return None;
        };
        (self.nodes_left, self.bytes_left) = (nodes_left, bytes_left);
        Some(())
    }

    /// Puts the entries of `<<` where it stood; keys that are written out win.
    fn merge(
        &self,
        mut entries: Vec<(Key, Node)>,
        mut seen: Seen,
        merged: Vec<(usize, Node)>,
    ) -> Option<Vec<(Key, Node)>> {
        for (at, node) in merged.into_iter().rev() {
            let place = node.place;
            let maps = match node.kind {
                Kind::Seq(items) => items,
                _ => vec![node],
            };
            let mut added = Vec::new();
            for map in maps {
                let Kind::Map(from) = map.kind else {
                    self.problems.error(place, "`<<` merges a map or a list of maps, nothing else");
                    return None;
                };
                added.extend(from.into_iter().filter(|(key, _)| seen.insert(&key.text)));
            }
            entries.splice(at..at, added);
        }
        Some(entries)
    }

    fn no_tag(&self, tag: Option<&Tag>, place: Place) -> Option<()> {
        if let Some(tag) =
            tag.filter(|tag| !(tag.is_yaml_core_schema() && matches!(&*tag.suffix, "map" | "seq")))
        {
            self.problems.error(place, format!("the tag `{tag}` is not supported"));
            return None;
        }
        Some(())
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>, place: Place) -> Option<Kind> {
        match tag {
            Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Some(Kind::Str(text.into())),
            Some(tag) => {
                self.problems.error(place, format!("the tag `{tag}` is not supported"));
                None
            }
            None if style == ScalarStyle::Plain => Some(schema::plain(text)),
            None => Some(Kind::Str(text.into())),
        }
    }
}

/// Stands for a merge key while a map is read. No plain or quoted key can be this: the text has no NUL.
const MERGE: &str = "\0<<";

/// Nodes and bytes of a tree.
fn weigh(node: &Node) -> (usize, usize) {
    let add = |(nodes, bytes): (usize, usize), (n, b): (usize, usize)| (nodes + n, bytes + b);
    match &node.kind {
        Kind::Seq(items) => items.iter().map(weigh).fold((1, 0), add),
        Kind::Map(entries) => {
            entries.iter().map(|(key, value)| add(weigh(value), (1, key.text.len()))).fold((1, 0), add)
        }
        _ => (1, node.scalar().map_or(0, str::len)),
    }
}

fn depth(node: &Node) -> usize {
    match &node.kind {
        Kind::Seq(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Kind::Map(entries) => 1 + entries.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        _ => 0,
    }
}
