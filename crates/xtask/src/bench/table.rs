//! Tables in Markdown that can be read as plain text too. Pure.

use std::collections::BTreeSet;

/// A table; the first column is aligned to the left, `numbers` makes the others right-aligned.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>], numbers: bool) -> String {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row.get(at).map_or(0, |cell| cell.chars().count()));
        cells.chain([head[at].chars().count(), 3]).max().unwrap_or(3)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let is_right = |at: usize| numbers && at > 0;
    let line = |cells: &[String]| {
        let padded = widths.iter().enumerate().map(|(at, width)| {
            let cell = cells.get(at).map_or("", String::as_str);
            if is_right(at) { format!(" {cell:>width$} |") } else { format!(" {cell:<width$} |") }
        });
        format!("|{}\n", padded.collect::<String>())
    };
    let rule = widths.iter().enumerate().map(|(at, width)| {
        if is_right(at) {
            format!(" {}: |", "-".repeat(width - 1))
        } else {
            format!(" {} |", "-".repeat(*width))
        }
    });
    let names: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let body = rows.iter().map(|row| line(row)).collect::<String>();
    format!("{}|{}\n{body}", line(&names), rule.collect::<String>())
}

/// The cells of the rows of a table that was written by [`table`], without its head. Other lines are passed over.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    lines.skip(2).map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The rows of a document, with those of the measured topics in the place of the old ones, or at the end. The last cell of a row is
/// its topic.
pub(crate) fn with_measured(before: Vec<Vec<String>>, measured: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let (mut rows, mut placed) = (Vec::new(), BTreeSet::new());
    for old in before {
        let topic = old.last().cloned();
        let new: Vec<&Vec<String>> = measured.iter().filter(|row| row.last() == topic.as_ref()).collect();
        if new.is_empty() {
            rows.push(old);
        } else if placed.insert(topic) {
            rows.extend(new.into_iter().cloned());
        }
    }
    let is_left = |row: &Vec<String>| !placed.contains(&row.last().cloned());
    rows.extend(measured.into_iter().filter(is_left));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows =
            [vec!["wrk".to_owned(), "93 479".to_owned()], vec!["hyperscale".to_owned(), "µ".to_owned()]];
        let expected = "\
| client     |  req/s |
| ---------- | -----: |
| wrk        | 93 479 |
| hyperscale |      µ |
";
        assert_eq!(table(&["client", "req/s"], &rows, true), expected);
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let written = [vec!["a b".to_owned(), String::new()], vec!["c".to_owned(), "≤ 1".to_owned()]];
        assert_eq!(rows(&format!("text\n\n{}", table(&["x", "y"], &written, false))), written);
    }

    #[test]
    fn missing_cells_stay_empty() {
        assert_eq!(
            table(&["a", "b"], &[vec!["x".into()]], false),
            "| a   | b   |\n| --- | --- |\n| x   |     |\n"
        );
    }

    #[test]
    fn measured_topics_replace_their_rows_and_no_others() {
        let row = |goal: &str, topic: &str| vec![goal.to_owned(), topic.to_owned()];
        let before = vec![row("a", "one"), row("b", "two"), row("c", "two"), row("d", "three")];
        let measured = vec![row("B", "two"), row("e", "four")];
        let expected = [row("a", "one"), row("B", "two"), row("d", "three"), row("e", "four")];
        assert_eq!(with_measured(before, measured), expected);
    }
}
