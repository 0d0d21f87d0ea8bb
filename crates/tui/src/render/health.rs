//! How the generator itself is doing, on one line.

use hyperscale_report::human;
use hyperscale_stats::event::Generator;
use hyperscale_stats::result::{AttemptCounts, Bottleneck, bottleneck};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::fit::first_that_fits;
use crate::state::State;
use crate::theme::Theme;

/// Waiting for a CPU is shown from this share of the time on.
const WAITED_MIN: f64 = 0.01;

/// Workers and attempts in a cluster, cores, lag, late and dropped starts, memory; and by what measure it is the bottleneck, if it is.
pub(super) fn health(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let generator = state.shown().map(|shown| shown.generator).unwrap_or_default();
    let width = usize::from(area.width);
    let line = if generator.saturated {
        bottleneck_line(state, width, theme)
    } else {
        let attempts = state.result().map(|result| result.provenance.segments.as_slice()).unwrap_or_default();
        let cluster = AttemptCounts::of(attempts);
        let style = if cluster.is_some_and(|counts| counts.lost > 0) { theme.bad() } else { theme.faint() };
        let parts: Vec<String> = cluster.iter().flat_map(cluster_parts).chain(parts(&generator)).collect();
        Line::styled(fitting(&parts, width), style)
    };
    frame.render_widget(Paragraph::new(line), area);
}

/// The measure first, what helps where there is room for it.
fn bottleneck_line(state: &State, width: usize, theme: Theme) -> Line<'static> {
    let Some(Bottleneck { measure, advice }) = state.result().map(bottleneck) else { return Line::default() };
    let measure = measure.unwrap_or_else(|| advice.to_owned());
    let forms = [
        format!(" generator is the bottleneck: {measure}: {advice}"),
        format!(" generator is the bottleneck: {measure}"),
        format!(" bottleneck: {measure}"),
    ];
    first_that_fits(forms.map(|text| Line::styled(text, theme.bad())), width)
}

/// As many whole parts as fit: half a number is worse than none.
fn fitting(parts: &[String], width: usize) -> String {
    let mut text = " generator:".to_owned();
    for (number, part) in parts.iter().enumerate() {
        let gap = if number == 0 { " " } else { "  " };
        if text.chars().count() + gap.len() + part.chars().count() > width {
            break;
        }
        text.push_str(gap);
        text.push_str(part);
    }
    text
}

/// Workers and attempts of a job in a cluster.
fn cluster_parts(counts: &AttemptCounts) -> Vec<String> {
    let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let lost = (counts.lost > 0).then(|| format!("{} lost", plural(counts.lost, "attempt")));
    let retries = (counts.retries > 0).then(|| format!("{} tried again", plural(counts.retries, "segment")));
    let workers = format!("{} ({} running)", plural(counts.workers, "worker"), counts.running);
    [workers].into_iter().chain(lost).chain(retries).collect()
}

/// The most telling first.
fn parts(generator: &Generator) -> Vec<String> {
    let cores = if generator.cores == 1 { "core" } else { "cores" };
    let busy = generator.busiest_core.map(|busy| format!("busiest {:.0}%", busy * 100.0));
    let waited = generator.run_queue.filter(|waited| *waited >= WAITED_MIN);
    let waited = waited.map(|waited| format!("without CPU {:.0}%", waited * 100.0));
    let lag = generator.lag_p99_us.map(|lag| format!("lag p99 {}", human::micros(lag)));
    let memory = generator.memory_bytes.map(|memory| format!("memory {}", human::bytes(memory)));
    let counts = [
        format!("late {}", human::count(generator.late)),
        format!("dropped {}", human::count(generator.dropped)),
    ];
    let first = [format!("{} {cores}", generator.cores)];
    first.into_iter().chain(busy).chain(waited).chain(lag).chain(counts).chain(memory).collect()
}
