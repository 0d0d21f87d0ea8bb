//! `data`: files whose rows are handed to iterations.

use std::path::Path;

use hyperscale_types::Name;

use super::Reader;
use super::names::{DataNames, PlanNames};
use super::view::View;
use crate::document::{Kind, Node};
use crate::model::{DataEnd, DataFormat, DataOrder, DataSource};

/// Data files of one plan.
const DATA_MAX: usize = 100;
/// How far into a file its header line is looked for.
const HEADER_BYTES_MAX: usize = 64 << 10;

const ORDERS: [(&str, DataOrder); 3] =
    [("sequential", DataOrder::Sequential), ("random", DataOrder::Random), ("unique", DataOrder::Unique)];
const ENDS: [(&str, DataEnd); 2] = [("recycle", DataEnd::Recycle), ("stop", DataEnd::Stop)];
const FORMATS: [(&str, DataFormat); 3] = [
    ("csv", DataFormat::Csv { delimiter: b',' }),
    ("tsv", DataFormat::Csv { delimiter: b'\t' }),
    ("jsonl", DataFormat::JsonLines),
];

impl Reader<'_> {
    /// All data files, with the names of their columns.
    pub(super) fn data(
        &self,
        node: Option<&Node>,
        vars: &[(Name, minijinja::Value)],
    ) -> (Vec<DataSource>, Vec<DataNames>) {
        let entries = node.and_then(|node| self.entries(node, "`data`")).unwrap_or(&[]);
        if entries.len() > DATA_MAX {
            self.problems
                .error(entries[DATA_MAX].0.place, format!("a plan has at most {DATA_MAX} data files"));
        }
        let plan = PlanNames { vars, data: &[] };
        let view = View::of_vars(&plan);
        let mut found = (Vec::new(), Vec::new());
        for (key, node) in entries.iter().take(DATA_MAX) {
            let Some(name) = self.name(&key.text, key.place) else { continue };
            if vars.iter().any(|(var, _)| *var == name) {
                self.problems.error(key.place, format!("`{name}` is also a variable; choose another name"));
            }
            // A file that cannot be read keeps its name, so that references to it are not problems of their own.
            let columns = self.source(name.clone(), node, &view).map(|(source, columns)| {
                found.0.push(source);
                columns
            });
            found.1.push(DataNames { name, columns: columns.flatten() });
        }
        found
    }

    fn source(&self, name: Name, node: &Node, view: &View<'_>) -> Option<(DataSource, Option<Vec<String>>)> {
        if let Kind::Str(_) = node.kind {
            let (path, format) = self.data_file(node, None, None, view)?;
            let columns = self.columns(node, &path, format);
            let (order, on_end) = (DataOrder::default(), DataEnd::default());
            return Some((DataSource { name, path, format, order, on_end }, columns));
        }
        let fields = self.fields(node, &format!("data `{name}`"))?;
        let order = fields.take("order").and_then(|node| self.word(node, &ORDERS)).unwrap_or_default();
        let end = fields.take("on_end");
        let on_end = end.and_then(|node| self.word(node, &ENDS)).unwrap_or_default();
        if let (DataOrder::Random, Some(end)) = (order, end) {
            self.problems.warning(end.place, "rows in random order never run out; `on_end` has no effect");
        }
        let (format, delimiter) = (fields.take("format"), fields.take("delimiter"));
        let file = fields.take("file");
        fields.finish(self, &format!("data `{name}`"));
        let Some(file) = file else {
            self.problems.error(node.place, format!("data `{name}` needs a `file`"));
            return None;
        };
        let (path, format) = self.data_file(file, format, delimiter, view)?;
        let columns = self.columns(file, &path, format);
        let path = self.env.locate(&path);
        Some((DataSource { name, path, format, order, on_end }, columns))
    }

    fn data_file(
        &self,
        file: &Node,
        format: Option<&Node>,
        delimiter: Option<&Node>,
        view: &View<'_>,
    ) -> Option<(std::path::PathBuf, DataFormat)> {
        let path = self.folder.join(self.constant(file, view)?);
        let format = match format {
            Some(node) => self.word(node, &FORMATS)?,
            None => self.format_of(&path, file)?,
        };
        let format = match (delimiter, format) {
            (None, format) => format,
            (Some(node), DataFormat::Csv { .. }) => DataFormat::Csv { delimiter: self.delimiter(node)? },
            (Some(node), DataFormat::JsonLines) => {
                self.problems.error(node.place, "JSON lines have no `delimiter`");
                return None;
            }
        };
        Some((path, format))
    }

    fn format_of(&self, path: &Path, file: &Node) -> Option<DataFormat> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        let word = match extension.as_str() {
            "jsonl" | "ndjson" => "jsonl",
            "tsv" | "tab" => "tsv",
            "csv" => "csv",
            _ => {
                self.problems
                    .error(file.place, format!("`{}` does not say how the file is read", path.display()))
                    .hint("add `format: csv`, `tsv` or `jsonl`");
                return None;
            }
        };
        FORMATS.iter().find(|(name, _)| *name == word).map(|(_, format)| *format)
    }

    fn delimiter(&self, node: &Node) -> Option<u8> {
        match self.text(node, "a delimiter")?.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Some(*byte),
            _ => {
                self.problems.error(node.place, "a delimiter is one ASCII character and not a quote");
                None
            }
        }
    }

    /// The columns of a CSV file. JSON lines may have other keys in every row: `None`.
    ///
    /// A first look at the head of the file, for names that templates refer to and mistakes that are seen at once. All
    /// of the file is read by the engine alone, also for `validate`.
    fn columns(&self, file: &Node, path: &Path, format: DataFormat) -> Option<Vec<String>> {
        let head = self.head(path, file.place, HEADER_BYTES_MAX)?;
        let head = String::from_utf8_lossy(&head);
        let head = head.strip_prefix('\u{feff}').unwrap_or(&head);
        if head.trim().is_empty() {
            self.problems.error(file.place, format!("`{}` is empty", path.display()));
            return None;
        }
        match format {
            DataFormat::Csv { delimiter } => {
                let columns = header(head, char::from(delimiter));
                if lines(head).nth(1).is_none() {
                    self.problems
                        .error(file.place, format!("`{}` has a header line but no rows", path.display()));
                }
                if let Some(twice) =
                    columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name))
                {
                    let message = format!("`{}` has the column `{}` twice", path.display(), twice.1);
                    self.problems.error(file.place, message);
                }
                Some(columns)
            }
            DataFormat::JsonLines => {
                let line = lines(head).next().unwrap_or("");
                let whole = head.len() < HEADER_BYTES_MAX || head.contains(['\n', '\r']);
                if whole && serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_err()
                {
                    let message = format!("the first line of `{}` is not a JSON object", path.display());
                    self.problems.error(file.place, message);
                }
                None
            }
        }
    }
}

/// Lines with something in them; they end with LF, CR LF or CR.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r']).filter(|line| !line.trim().is_empty())
}

/// The fields of the first record (RFC 4180), white space around them left out.
fn header(text: &str, delimiter: char) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            '\n' | '\r' if !quoted && fields.is_empty() && field.is_empty() => {}
            '\n' | '\r' if !quoted => break,
            c if c == delimiter && !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields.into_iter().map(|field| field.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_the_engine_reads_it() {
        for (text, wanted) in [
            ("name, age\nann,7", vec!["name", "age"]),
            ("name , age\rann,7", vec!["name", "age"]),
            ("\r\n\"a,\n\"\"b\"\"\",c\r\n1,2", vec!["a,\n\"b\"", "c"]),
        ] {
            assert_eq!(header(text, ','), wanted, "{text}");
        }
    }
}
