//! Colours that can be read on light and on dark backgrounds: the terminal's own, and six of its sixteen.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;

/// How things look. Text is always in the terminal's own colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    color: bool,
}

#[expect(
    clippy::unused_self,
    reason = "how something looks is asked of the theme, whether or not it has a colour"
)]
impl Theme {
    /// With the terminal's colours, or with none at all (`NO_COLOR`): then weight and reversal tell things apart.
    pub fn new(color: bool) -> Self {
        Self { color }
    }

    /// Never faint, whatever it stands on: faint colours cannot be read on light backgrounds.
    pub(crate) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD).remove_modifier(Modifier::DIM)
    }

    pub(crate) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn good(self) -> Style {
        self.colored(Color::Green, Modifier::empty())
    }

    pub(crate) fn bad(self) -> Style {
        self.colored(Color::Red, Modifier::BOLD)
    }

    pub(crate) fn warning(self) -> Style {
        self.colored(Color::Magenta, Modifier::BOLD)
    }

    pub(crate) fn accent(self) -> Style {
        self.colored(Color::Blue, Modifier::empty())
    }

    /// The lines of a chart, by position.
    pub(crate) fn line(self, number: usize) -> Style {
        const COLORS: [Color; 3] = [Color::Green, Color::Blue, Color::Magenta];
        self.colored(COLORS[number % COLORS.len()], Modifier::empty())
    }

    /// What a line of a chart is drawn with: where colours do not tell lines apart, their points do.
    pub(crate) fn marker(self, number: usize) -> Marker {
        const POINTS: [Marker; 3] = [Marker::Custom('·'), Marker::Custom('+'), Marker::Braille];
        if self.color { Marker::Braille } else { POINTS[number % POINTS.len()] }
    }

    /// The same as a sign in front of the line's name.
    pub(crate) fn sign(self, number: usize) -> &'static str {
        const SIGNS: [&str; 3] = ["·", "+", "⠤"];
        if self.color { "" } else { SIGNS[number % SIGNS.len()] }
    }

    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn colored(self, color: Color, weight: Modifier) -> Style {
        let style = Style::new().add_modifier(weight);
        if self.color { style.fg(color) } else { style }
    }
}
