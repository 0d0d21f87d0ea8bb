//! Aligned columns that fit a width: less important columns are left out first, then the first one is shortened.

use crate::style::{Role, Style};

const GAP: &str = "  ";
/// The first column is never shortened below this.
const FIRST_MIN: usize = 8;

pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// The larger, the earlier it is left out; 0 is never.
    pub(crate) rank: u8,
    pub(crate) left: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) role: Role,
}

impl Cell {
    pub(crate) fn new(role: Role, text: impl Into<String>) -> Self {
        Self { text: text.into(), role }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::new(Role::Normal, text)
    }
}

pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        let titles = columns.iter().map(|column| Cell::new(Role::Dim, column.title)).collect();
        Self { columns, rows: vec![titles] }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Lines of at most `width` characters, indented by `indent`.
    pub(crate) fn render(&self, indent: usize, width: usize, style: Style) -> String {
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width_of(column)).collect();
        let mut shown: Vec<usize> =
            (0..self.columns.len()).filter(|column| self.says_something(*column)).collect();
        let total = |shown: &[usize], widths: &[usize]| {
            let with_gaps: usize = shown.iter().map(|column| widths[*column] + GAP.len()).sum();
            indent + with_gaps.saturating_sub(GAP.len())
        };
        while total(&shown, &widths) > width {
            let Some(least) = shown
                .iter()
                .copied()
                .filter(|c| self.columns[*c].rank > 0)
                .max_by_key(|c| self.columns[*c].rank)
            else {
                break;
            };
            shown.retain(|column| *column != least);
        }
        let over = total(&shown, &widths).saturating_sub(width);
        widths[0] = widths[0].saturating_sub(over).max(FIRST_MIN.min(widths[0]));
        self.rows.iter().map(|row| self.line(row, indent, &shown, &widths, style)).collect()
    }

    /// Whether any row has something in the column.
    fn says_something(&self, column: usize) -> bool {
        self.rows.iter().skip(1).any(|row| !row[column].text.is_empty())
    }

    fn width_of(&self, column: usize) -> usize {
        self.rows.iter().map(|row| chars(&row[column].text)).max().unwrap_or(0)
    }

    fn line(&self, row: &[Cell], indent: usize, shown: &[usize], widths: &[usize], style: Style) -> String {
        let mut line = " ".repeat(indent);
        for (position, column) in shown.iter().copied().enumerate() {
            let text = shorten(&row[column].text, widths[column]);
            let fill = " ".repeat(widths[column] - chars(&text));
            let painted = style.paint(row[column].role, &text);
            if position > 0 {
                line.push_str(GAP);
            }
            let parts = if self.columns[column].left { [painted, fill] } else { [fill, painted] };
            line.extend(parts);
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

/// At most `width` characters, with an ellipsis where something was cut off.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if chars(text) <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Breaks a text between its parts so that lines after the first are indented by `indent` and none is longer than
/// `width`. A part that is too long alone is broken anywhere, unless it is painted.
pub(crate) fn wrap(text: &str, between: &str, indent: usize, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    let mut at = indent;
    for (position, part) in text.split(between).enumerate() {
        let length = visible(part);
        if position > 0 && at + between.len() + length > width {
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', indent));
            at = indent;
        } else if position > 0 {
            wrapped.push_str(between);
            at += between.len();
        }
        let room = width.saturating_sub(at);
        if length <= room || room == 0 || part.contains('\x1b') {
            wrapped.push_str(part);
            at += length;
            continue;
        }
        for (place, c) in part.chars().enumerate() {
            if at == width && place > 0 {
                wrapped.push('\n');
                wrapped.extend(std::iter::repeat_n(' ', indent));
                at = indent;
            }
            wrapped.push(c);
            at += 1;
        }
    }
    wrapped
}

/// Characters without the escape sequences of [`Style`].
fn visible(text: &str) -> usize {
    let mut pieces = text.split('\x1b');
    let plain = pieces.next().map_or(0, chars);
    plain + pieces.map(|piece| piece.split_once('m').map_or(0, |(_, rest)| chars(rest))).sum::<usize>()
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |title, rank, left| Column { title, rank, left };
        let mut table =
            Table::new(vec![column("step", 0, true), column("count", 0, false), column("max", 1, false)]);
        table.row(vec!["a-rather-long-name".into(), "1,000".into(), "1.23ms".into()]);
        table.row(vec!["b".into(), "5".into(), "900µs".into()]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        assert_eq!(
            table().render(2, 80, Style::Plain),
            "  step                count     max\n  a-rather-long-name  1,000  1.23ms\n  b                       5   900µs\n"
        );
    }

    #[test]
    fn a_narrow_table_leaves_out_columns_and_shortens_the_first() {
        assert_eq!(
            table().render(0, 26, Style::Plain),
            "step                count\na-rather-long-name  1,000\nb                       5\n"
        );
        assert_eq!(
            table().render(0, 16, Style::Plain),
            "step       count\na-rather…  1,000\nb              5\n"
        );
    }

    #[test]
    fn long_texts_break_between_their_parts() {
        assert_eq!(wrap("aa bb cc dd", " ", 3, 9), "aa bb\n   cc dd");
        assert_eq!(wrap("\x1b[31maa\x1b[0m bb cc", " ", 3, 9), "\x1b[31maa\x1b[0m bb\n   cc");
        assert_eq!(wrap("much-too-long a", " ", 0, 5), "much-\ntoo-l\nong a", "none is longer");
    }

    #[test]
    fn table_whose_cells_say_nothing_is_blank() {
        let mut table = Table::new(vec![Column { title: "step", rank: 0, left: true }]);
        table.row(vec!["".into()]);
        assert_eq!(table.render(2, 80, Style::Plain), "\n\n");
    }

    #[test]
    fn colour_does_not_move_columns() {
        let mut table = table();
        table.row(vec![Cell::new(Role::Bad, "c"), "7".into(), "1ms".into()]);
        let plain = table.render(0, 80, Style::Plain);
        let bare = table.render(0, 80, Style::Ansi);
        let stripped =
            ["\x1b[31m", "\x1b[2m", "\x1b[0m"].iter().fold(bare, |text, code| text.replace(code, ""));
        assert_eq!(stripped, plain);
    }
}
