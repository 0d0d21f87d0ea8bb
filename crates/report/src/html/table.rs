//! Tables of a page: readable without scripts, sorted by clicking where scripts run, scrolled where they are too wide.

use std::fmt::Write as _;

use crate::escape::markup;

/// One cell: what is read, and what is sorted by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    html: String,
    value: Option<f64>,
    class: &'static str,
}

impl Cell {
    /// A text, escaped here.
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self { html: markup(text.as_ref()), value: None, class: "" }
    }

    /// A number with the text that stands for it.
    pub(crate) fn number(value: f64, text: impl AsRef<str>) -> Self {
        Self { html: markup(text.as_ref()), value: Some(value), class: "n" }
    }

    /// Markup that was made here, with every text in it escaped.
    pub(crate) fn markup(html: String) -> Self {
        Self { html, value: None, class: "" }
    }

    /// The same with a class.
    pub(crate) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

/// A table under its caption.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    caption: &'static str,
    head: Vec<&'static str>,
    /// The column that says what a row is about.
    named_by: usize,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(caption: &'static str, head: &[&'static str]) -> Self {
        Self { caption, head: head.to_vec(), named_by: 0, rows: Vec::new() }
    }

    /// The same, with rows that are named by another column than the first.
    pub(crate) fn named_by(self, column: usize) -> Self {
        Self { named_by: column, ..self }
    }

    /// Adds a row, as wide as the head.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.head.len(), "{}", self.caption);
        self.rows.push(cells);
    }

    /// The table, or nothing if it has no rows.
    pub(crate) fn html(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let caption = markup(self.caption);
        let mut html = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table><caption>{caption}</caption><thead><tr>"
        );
        for (column, title) in self.head.iter().enumerate() {
            let numeric =
                self.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.value.is_some()));
            let class = match (numeric, column == self.named_by) {
                (_, true) => " class=\"name\"",
                (true, false) => " class=\"n\"",
                (false, false) => "",
            };
            let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", markup(title));
        }
        html.push_str("</tr></thead><tbody>\n");
        for row in &self.rows {
            html.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                cell_html(column == self.named_by, cell, &mut html);
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody></table></div>\n");
        html
    }
}

fn cell_html(names_row: bool, cell: &Cell, html: &mut String) {
    let (tag, scope) = if names_row { ("th", " scope=\"row\"") } else { ("td", "") };
    let class = if cell.class.is_empty() { String::new() } else { format!(" class=\"{}\"", cell.class) };
    let value = cell.value.map(|value| format!(" data-value=\"{value}\"")).unwrap_or_default();
    let _ = write!(html, "<{tag}{scope}{class}{value}>{}</{tag}>", cell.html);
}
