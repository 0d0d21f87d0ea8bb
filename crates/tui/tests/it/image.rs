//! The picture of the screen in the README is a frame of a recorded run. It is drawn here, so that it stays true.
//!
//! `UPDATE_IMAGES=1 cargo nextest run -p hyperscale-tui image` draws it anew. `data/shop.jsonl` was recorded with
//! `hyperscale run data/shop.yaml --record …`; of its snapshots every ninth is kept, which a chart does not notice.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use hyperscale_stats::event::Event;
use hyperscale_tui::{Mode, State, Theme};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use crate::frames::frame;

const RECORDING: &str = include_str!("../data/shop.jsonl");
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images/screen.svg");
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 12.0;
const INK: &str = "#d8dee9";
const PAPER: &str = "#1b1f27";

#[test]
fn picture_of_the_readme_is_what_the_screen_draws() {
    let mut state = State::new(Mode::Live);
    for event in recorded() {
        state.event(&event);
    }
    let drawn = svg(&frame(&state, Theme::new(true), 120, 36));
    if std::env::var_os("UPDATE_IMAGES").is_some() {
        fs::create_dir_all(Path::new(FILE).parent().unwrap()).unwrap();
        fs::write(FILE, &drawn).unwrap();
    }
    let kept = fs::read_to_string(FILE).unwrap_or_default();
    assert!(kept == drawn, "docs/images/screen.svg shows another screen; see the top of this file");
}

/// The events of the recording, without its header.
fn recorded() -> impl Iterator<Item = Event> {
    RECORDING.lines().skip(1).map(|line| {
        let mut timed: serde_json::Value = serde_json::from_str(line).unwrap();
        serde_json::from_value(timed["event"].take()).unwrap()
    })
}

fn svg(buffer: &Buffer) -> String {
    let (columns, rows) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    let (width, height) = (columns as f64 * CELL.0 + 2.0 * MARGIN, rows as f64 * CELL.1 + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\" \
         aria-label=\"The live screen of a run\">\n\
         <style>text {{ white-space: pre }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n"
    );
    for (row, cells) in buffer.content.chunks(columns).enumerate() {
        let mut column = 0;
        while column < cells.len() {
            let length = cells[column..].iter().take_while(|cell| look(cell) == look(&cells[column])).count();
            draw(&mut out, &cells[column..column + length], column, row);
            column += length;
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn look(cell: &Cell) -> (Color, Modifier) {
    (cell.fg, cell.modifier)
}

/// Neighbours that look the same, as one text that is exactly as wide as its cells.
fn draw(out: &mut String, cells: &[Cell], column: usize, row: usize) {
    let text: String = cells.iter().map(Cell::symbol).collect();
    let (color, modifier) = look(&cells[0]);
    let reversed = modifier.contains(Modifier::REVERSED);
    let (x, y) = (MARGIN + column as f64 * CELL.0, MARGIN + row as f64 * CELL.1);
    let width = cells.len() as f64 * CELL.0;
    let ink = hex(color);
    if reversed {
        writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{ink}\"/>",
            CELL.1
        )
        .unwrap();
    } else if text.trim().is_empty() {
        return;
    }
    let weight = if modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let faint = if modifier.contains(Modifier::DIM) { " opacity=\"0.6\"" } else { "" };
    let fill = if reversed { PAPER } else { ink };
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         fill=\"{fill}\"{weight}{faint}>{escaped}</text>",
        y + 13.5
    )
    .unwrap();
}

fn hex(color: Color) -> &'static str {
    match color {
        Color::Red => "#ef6b73",
        Color::Green => "#8fc77c",
        Color::Blue => "#6cb0f2",
        Color::Magenta => "#d98fdb",
        _ => INK,
    }
}
