//! Extractions: named values read from an answer.

use hyperscale_types::Name;

use super::Reader;
use super::names::RESERVED_FIELDS;
use crate::document::{Key, Kind, Node};
use crate::lookup::JsonQuery;
use crate::model::step::{Conversion, ExtractFrom, Extraction, Needs};

/// Extractions of one step.
const EXTRACTIONS_MAX: usize = 100;

/// The names of a step's extractions, right or wrong.
pub(super) fn extraction_names(node: Option<&Node>) -> Vec<String> {
    match node {
        Some(Node { kind: Kind::Map(entries), .. }) => {
            entries.iter().map(|(key, _)| key.text.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

/// What an extraction needs of the answer.
pub(super) fn needs(from: &ExtractFrom, needs: &mut Needs) {
    match from {
        ExtractFrom::Json(_) | ExtractFrom::Regex(..) => needs.body = true,
        ExtractFrom::Header(_) | ExtractFrom::Cookie(_) => needs.headers = true,
        ExtractFrom::Status => {}
    }
}

impl Reader<'_> {
    /// `extract: { token: { json: "$.token" } }`
    pub(super) fn extractions(&self, node: Option<&Node>, is_call: bool) -> Vec<Extraction> {
        let Some(node) = node else { return Vec::new() };
        if !is_call {
            self.problems.error(node.place, "there is nothing to extract from: the step calls nothing");
        }
        let entries = self.entries(node, "`extract`").unwrap_or(&[]);
        if entries.len() > EXTRACTIONS_MAX {
            self.problems.error(node.place, format!("a step has at most {EXTRACTIONS_MAX} extractions"));
        }
        entries.iter().take(EXTRACTIONS_MAX).filter_map(|(key, node)| self.extraction(key, node)).collect()
    }

    fn extraction(&self, key: &Key, node: &Node) -> Option<Extraction> {
        let name: Name = self.name(&key.text, key.place)?;
        if RESERVED_FIELDS.contains(&name.as_str()) {
            let message =
                format!("`{name}` is what every result has; choose another name for the extraction");
            self.problems.error(key.place, message);
        }
        if let Kind::Str(_) = node.kind {
            return Some(Extraction {
                name,
                from: ExtractFrom::Json(self.json_path(node)?),
                convert: None,
                default: None,
            });
        }
        let fields = self.fields(node, &format!("extraction `{name}`"))?;
        let default = fields.take("default").and_then(|node| self.value(node));
        let convert = fields.take("as").and_then(|node| self.word(node, &Conversion::WORDS));
        let group = fields.take("group");
        let ways = ["json", "regex", "header", "cookie", "status"];
        let given: Vec<_> = ways.iter().filter_map(|way| fields.entry(way)).collect();
        fields.finish(self, &format!("extraction `{name}`"));
        let [(way, from)] = *given else {
            let message = format!("extraction `{name}` needs exactly one of {}", ways.join(", "));
            self.problems.error(node.place, message);
            return None;
        };
        if let (Some(group), false) = (group, &*way.text == "regex") {
            self.problems.error(group.place, "`group` belongs to `regex`");
        }
        let from = match &*way.text {
            "json" => ExtractFrom::Json(self.json_path(from)?),
            "regex" => self.regex_group(from, group)?,
            "header" => ExtractFrom::Header(self.header_name(self.text(from, "a header name")?, from.place)?),
            "cookie" => ExtractFrom::Cookie(self.text(from, "a cookie's name")?.to_owned()),
            _ => {
                if !self.boolean(from)? {
                    self.problems.error(from.place, "write `status: true`");
                }
                ExtractFrom::Status
            }
        };
        Some(Extraction { name, from, convert, default })
    }

    fn json_path(&self, node: &Node) -> Option<JsonQuery> {
        let text = self.text(node, "a JSON path")?;
        match JsonQuery::parse(text) {
            Ok(path) => Some(path),
            Err(problem) => {
                let place = self.text.within(node.place, text, problem.position());
                self.problems
                    .error(place, format!("`{text}` is not a JSON path"))
                    .hint("RFC 9535, for example `$.items[0].id` or `$..id`");
                None
            }
        }
    }

    fn regex_group(&self, node: &Node, group: Option<&Node>) -> Option<ExtractFrom> {
        let regex = self.regex(node)?;
        let groups = regex.captures_len();
        let group = match group {
            None => usize::from(groups > 1),
            Some(node) => match &node.kind {
                Kind::Str(name) => {
                    let found = regex.capture_names().position(|group| group == Some(name));
                    if found.is_none() {
                        self.problems
                            .error(node.place, format!("the regular expression has no group `{name}`"));
                    }
                    found?
                }
                _ => self.integer(node, 0..=(groups - 1) as u64)? as usize,
            },
        };
        Some(ExtractFrom::Regex(regex, group))
    }
}
